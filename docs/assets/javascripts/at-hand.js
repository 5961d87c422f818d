/* Shows the receipt of a number or a verdict beside it: on hover, on focus, or at a tap, of which a second one follows.
 *
 * Receipts come in small scripts beside their page, made by hooks/at_hand.py, each loaded when it is first asked for.
 * Without them, or in a browser that has no popovers, links are links.
 */
(() => {
  "use strict";

  if (!("popover" in HTMLElement.prototype)) return;

  // In the copy of the site for the disk an address names the file.
  const LINKS = "article a:is(.fact, .claim):is([href*='receipts/#'], [href*='receipts/index.html#'])";
  const CHUNKS = 32; // as in hooks/at_hand.py, and so is DEPTH
  const DEPTH = 3;
  const DELAY_MS = { open: 300, next: 120, close: 250 };
  const EDGE = 8; // px that stay free beside the card
  const GAP = 6; // px between a number and its card
  const ALL = {
    ko: { name: "근거", open: "근거 페이지에서 보기" },
    en: { name: "Receipt", open: "See it among the receipts" },
    zh: { name: "依据", open: "在依据页中查看" },
  };
  const WORDS = ALL[document.documentElement.lang.slice(0, 2)] ?? ALL.en;

  /* Receipts */

  const scripts = new Map(); // address -> the promise of its receipts by name

  window.receiptsAtHand = (receipts) => {
    document.currentScript.receipts = receipts;
  };

  function load(address) {
    if (!scripts.has(address)) scripts.set(address, new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement("script"), { src: address });
      script.onload = () => resolve(script.receipts);
      script.onerror = () => {
        scripts.delete(address);
        reject(new Error(`${address} did not load`));
      };
      document.head.append(script);
    }));
    return scripts.get(address);
  }

  function split({ href }) {
    const at = href.indexOf("#");
    return [href.slice(0, at), decodeURIComponent(href.slice(at + 1))];
  }

  function receiptOf(link) {
    const [page, name] = split(link);
    let number = 0;
    for (const letter of name.split(".").slice(0, DEPTH).join(".")) {
      number = (Math.imul(number, 31) + letter.codePointAt(0)) >>> 0;
    }
    return load(new URL(`at-hand/${number % CHUNKS}.js`, page).href).then((receipts) => receipts[name]);
  }

  /* The card */

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  const body = element("div", { id: "at-hand-receipt", className: "receipt" });
  const way = element("a", { className: "at-hand-way" }, WORDS.open);
  const card = element("div", { className: "at-hand", popover: "manual", role: "dialog", ariaLabel: WORDS.name }, body, way);
  card.setAttribute("aria-live", "off");

  let [of, by] = [null, ""]; // the link whose receipt is shown, and what opened it: "hover", "focus" or "tap"

  function fill(link, receipt) {
    if (receipt) body.innerHTML = receipt;
    else body.textContent = link.ariaDescription;
    const [page] = split(link);
    for (const one of body.querySelectorAll("a")) one.href = new URL(one.getAttribute("href"), page).href;
    way.href = link.href;
    place(link);
  }

  /* Below the number, or above it where there is more room; never beyond the edge. */
  function place(link) {
    const [rects, { clientWidth, clientHeight }] = [link.getClientRects(), document.documentElement];
    if (!rects.length) return close();
    const [first, last] = [rects[0], rects[rects.length - 1]];
    const header = document.querySelector(".md-header")?.getBoundingClientRect().bottom ?? 0;
    const room = { above: first.top - Math.max(header, 0) - GAP - EDGE, below: clientHeight - last.bottom - GAP - EDGE };
    card.style.maxHeight = "";
    const below = card.offsetHeight <= room.below || room.below >= room.above;
    card.style.maxHeight = `${Math.max(below ? room.below : room.above, 0)}px`;
    const left = Math.max(EDGE, Math.min(last.left, clientWidth - card.offsetWidth - EDGE));
    const top = below ? last.bottom + GAP : first.top - GAP - card.offsetHeight;
    card.style.left = `${left + scrollX}px`;
    card.style.top = `${top + scrollY}px`;
  }

  async function open(link, how) {
    if (of === link) return;
    close();
    [of, by] = [link, how];
    describe(link);
    link.after(card);
    card.showPopover();
    link.setAttribute("aria-describedby", body.id);
    fill(link);
    body.scrollTop = 0;
    const receipt = await receiptOf(link).catch(console.info);
    if (of === link) fill(link, receipt);
  }

  function close() {
    clearTimeout(waiting);
    if (!of) return;
    of.removeAttribute("aria-describedby");
    if (card.contains(document.activeElement)) of.focus();
    of = null;
    card.remove();
  }

  /* What the link's title says, said otherwise: a tooltip would lie over the card. */
  function describe(link) {
    if (!link.title) return;
    link.ariaDescription = link.title;
    link.removeAttribute("title");
  }

  /* What opens and closes it */

  let waiting = 0;

  function later(pause, act) {
    clearTimeout(waiting);
    waiting = setTimeout(act, pause);
  }

  function linkAt(target) {
    return target instanceof Element && !card.contains(target) ? target.closest(LINKS) : null;
  }

  function hover({ target, pointerType }) {
    if (pointerType === "touch") return;
    const link = linkAt(target);
    if (card.contains(target) || (link && link === of)) return clearTimeout(waiting);
    if (!link) return by === "hover" || !of ? later(DELAY_MS.close, close) : undefined;
    describe(link);
    receiptOf(link).catch(() => {}); // on its way while the pointer rests
    later(of ? DELAY_MS.next : DELAY_MS.open, () => open(link, "hover"));
  }

  function focus({ target }) {
    const link = linkAt(target);
    if (card.contains(target) || (link && link === of)) clearTimeout(waiting);
    else if (link?.matches(":focus-visible")) later(of ? DELAY_MS.next : DELAY_MS.open, () => open(link, "focus"));
    else close();
  }

  let touched = false;

  function press({ target, pointerType }) {
    touched = pointerType === "touch";
    if (of && !card.contains(target) && linkAt(target) !== of) close();
  }

  function click(event) {
    const link = linkAt(event.target);
    if (!link || !touched || !event.detail || link === of) return;
    event.preventDefault();
    open(link, "tap");
  }

  function key(event) {
    if (event.key !== "Escape" || !of) return;
    event.stopPropagation();
    close();
  }

  document.querySelectorAll(LINKS).forEach(describe);
  document.addEventListener("pointerover", hover);
  document.addEventListener("pointerdown", press);
  document.addEventListener("focusin", focus);
  document.addEventListener("click", click);
  document.addEventListener("keydown", key, true);
  document.documentElement.addEventListener("pointerleave", () => by === "hover" && later(DELAY_MS.close, close));
  window.addEventListener("resize", () => of && place(of));
})();
