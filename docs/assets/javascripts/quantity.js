/* Evaluates formulas that rendering wrote down as data, and says the results as the pages do.
 *
 * The rules are those of templates/quantity.py and templates/printed.py: what is made of a missing input is missing with
 * its reason, both ends of a spread go through the formula, a kind follows from the kinds underneath. The tests hold the
 * two against each other. A quantity here is { value, low, high, kind, doubted, absent }: value is null where there is
 * none, and absent are the reasons.
 */
const Quantities = (() => {
  "use strict";

  const TRUSTED_DIGITS = 14;

  function missing(...reasons) {
    return { value: null, low: NaN, high: NaN, kind: "unmeasured", doubted: false, absent: reasons };
  }

  function given(value, kind = "given") {
    return { value, low: value, high: value, kind, doubted: false, absent: [] };
  }

  const APPLY = {
    "+": (a, b) => a + b,
    "-": (a, b) => a - b,
    "*": (a, b) => a * b,
    "/": (a, b) => (b ? a / b : a < 0 ? -Infinity : Infinity),
  };

  function combine(symbol, left, right) {
    const doubted = left.doubted || right.doubted;
    if (left.value === null || right.value === null) {
      return { ...missing(...new Set([...left.absent, ...right.absent])), doubted };
    }
    const apply = APPLY[symbol];
    const value = apply(left.value, right.value);
    if (!Number.isFinite(value)) return missing("divided_by_zero");
    const corners = [left.low, left.high].flatMap((a) => [right.low, right.high].map((b) => apply(a, b)));
    const open = symbol === "/" && right.low <= 0 && right.high >= 0;
    const [low, high] = open ? [-Infinity, Infinity] : [Math.min(...corners), Math.max(...corners)];
    const estimated = left.kind === "estimated" || right.kind === "estimated";
    return { value, low, high, kind: estimated ? "estimated" : "calculated", doubted, absent: [] };
  }

  /* A division by a margin: see `crossing` in templates/quantity.py. */
  function cross(start, margin) {
    if (margin.value === null || margin.low > 0) return combine("/", start, margin);
    return missing(margin.high <= 0 ? "never_crosses" : "straddles");
  }

  /* What is bounded must exist, its limits need not. */
  function bound(first, ...limits) {
    if (first.value === null) return { ...missing(...first.absent), doubted: first.doubted };
    return extreme("min", [first, ...limits]);
  }

  /* Goes on with the members that exist. Choosing is no calculation: the chosen one keeps its kind. */
  function extreme(symbol, members) {
    const present = members.filter((member) => member.value !== null);
    if (!present.length) return missing("no_member");
    const choose = symbol === "max" ? Math.max : Math.min;
    const value = choose(...present.map((member) => member.value));
    const ends = { low: choose(...present.map((m) => m.low)), high: choose(...present.map((m) => m.high)) };
    return { ...present.find((member) => member.value === value), ...ends };
  }

  const RULES = { crossing: cross, bounded: bound };

  function made(node, inputs, before) {
    if ("input" in node) return inputs[node.input] ?? missing("not_given");
    if ("value" in node) return given(node.value);
    const operands = node.of.map((number) => before[number]);
    if (node.rule) return RULES[node.rule](...operands);
    return node.op === "max" || node.op === "min" ? extreme(node.op, operands) : combine(node.op, ...operands);
  }

  /* All nodes as quantities; inputs are quantities by name. A node stands after those it is made of. */
  function evaluate(nodes, inputs) {
    const quantities = [];
    for (const node of nodes) {
      const quantity = made(node, inputs, quantities);
      const estimated = node.estimated && quantity.value !== null;
      quantities.push(estimated ? { ...quantity, kind: "estimated" } : quantity);
    }
    return quantities;
  }

  /* Numbers: half up on the decimal digits that a reader sees, which are TRUSTED_DIGITS at most. */

  const formats = new Map();

  function format(locale, options) {
    const key = `${locale} ${JSON.stringify(options)}`;
    if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(locale, options));
    return formats.get(key);
  }

  function number(value, locale, { decimals, significant } = {}) {
    const meant = (value || 0).toPrecision(TRUSTED_DIGITS);
    const [least, most] = significant && value ? [significant, significant] : [1, TRUSTED_DIGITS];
    const places = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    const figures = { minimumSignificantDigits: least, maximumSignificantDigits: most };
    const options = decimals === undefined ? figures : places;
    return format(locale, { ...options, signDisplay: "negative" }).format(meant);
  }

  /* A count that is said with a word of scale: 4.02 billion. */
  function scaled(value, { locale, scales }, { significant = 3 }) {
    const figures = { maximumSignificantDigits: significant, useGrouping: false };
    const rounded = Number(format("en", figures).format(value.toPrecision(TRUSTED_DIGITS)));
    const [power, word] = scales.find(([power]) => Math.abs(rounded) >= 10 ** power) ?? [0, ""];
    return number(rounded / 10 ** power, locale) + word;
  }

  function withUnit(value, unit, language, digits) {
    if (unit === language.scaled) return scaled(value, language, digits);
    const figure = number(value, language.locale, digits);
    const { one, many } = language.units[unit];
    return figure + (figure === "1" || figure === "-1" ? one : many);
  }

  /* Digits that do not print a zero, and the unit in which neither thousands nor hundredths are said. */
  function chosen(value, unit, { decimals, significant }, { said }) {
    if (decimals !== undefined && value && Math.abs(value) < 10 ** -decimals) [decimals, significant] = [undefined, 1];
    if (unit === "ms" && value >= said.long) return ["s", { significant: 3 }];
    const small = decimals === undefined && value > 0 && value < said.short;
    return [(small && said.smaller[unit]) || unit, { decimals, significant }];
  }

  function shownIn(value, unit, language) {
    return value / language.units[unit].base;
  }

  /* A value as a fact: in its unit, with its digits. */
  function say(value, { unit, decimals, significant }, language) {
    const [as, digits] = chosen(shownIn(value, unit, language), unit, { decimals, significant }, language);
    return withUnit(shownIn(value, as, language), as, language, digits);
  }

  /* Both ends of a fact's spread, with four figures, in the unit in which its value is said. */
  function spread({ value, low, high }, node, language) {
    const [as, digits] = chosen(shownIn(value, node.unit, language), node.unit, node, language);
    const figures = (end, shown) => number(shownIn(end, as, language), language.locale, shown);
    const after = withUnit(shownIn(value, as, language), as, language, digits).slice(figures(value, digits).length);
    return `${figures(low, { significant: 4 })} … ${figures(high, { significant: 4 })}${after}`;
  }

  /* A value with all its digits. */
  function exact(value, unit, language) {
    return withUnit(shownIn(value, unit, language), unit, language, {});
  }

  return { evaluate, exact, given, missing, number, say, spread };
})();
