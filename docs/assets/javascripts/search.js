/* The worker of the search: the theme's own, named after the "#" of this one's address, told the words of a query as the index
 * has them.
 *
 * In a sentence a Korean noun bears a particle, and an English one an s. Each word is looked up as the beginning of words, so
 * what follows the noun is left out and every form is found. Chinese is written without spaces: the index holds the words that
 * the build cut it into, so a query is cut into words of the index.
 */
"use strict";

const SETUP = 0; // the theme's numbers of the messages with the index
const QUERY = 2; // and with a query

/* After two syllables or letters at least: 속도 and 결과 end in no particle. */
const PARTICLE = new RegExp(
  "(?<=[가-힣]{2}|\\w{2})(?:은|는|이|가|을|를|의|도|만|과|와|로|으로|에|에서|에게|까지|부터|보다|처럼|마다|이나|이란|란|" +
    "(?:에|에서|으로|로|까지|부터|보다)(?:는|도|만|의))$",
);
const PLURAL = /(?<=^[a-z]{3,}[^isu\W])s$/i;
const CHINESE = /\p{sc=Han}+/gu;
const MOST = 8; // words of the index that a part of one stands for

let words = []; // the Chinese words of the index

const noun = (word) => word.replace(PARTICLE, "").replace(PLURAL, "");

/* Chinese as words of the index that contain it, or else as the fewest words that it begins with and goes on with. */
function cut(text) {
  const whole = words.includes(text) ? [text] : words.filter((word) => word.includes(text)).slice(0, MOST);
  return (whole.length ? whole : pieces(text)).map(exactly).join(" ") || text;
}

function pieces(text) {
  const found = [];
  for (let at = 0; at < text.length; at += found.at(-1)?.length || 1) {
    const starts = words.filter((word) => text.startsWith(word, at));
    if (starts.length) found.push(starts.reduce((a, b) => (b.length > a.length ? b : a)));
    else found.push("");
  }
  return found.filter(Boolean);
}

/* The theme cuts Chinese too, and loses the last word of any: one that is no word is put there. A character alone begins too
 * many words, so it is looked up as a whole one.
 */
function exactly(word) {
  return word.length > 1 ? `${word}〇` : `${word}^1`;
}

addEventListener("message", ({ data }) => {
  if (data.type === SETUP) {
    words = [...new Set(data.data.docs.flatMap(({ title, text }) => `${title} ${text}`.match(CHINESE) ?? []))];
  }
  if (data.type === QUERY) data.data = data.data.replace(/[^\s"]+/g, noun).replace(CHINESE, cut);
});
importScripts(new URL(location.hash.slice(1), location.href));
