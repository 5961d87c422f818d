/* The calculator: reads what is chosen and typed, lets quantity.js evaluate the formulas, and shows each with its inputs.
 *
 * It knows no formula, no unit and no word: rendering wrote them into the page as data. What is chosen stands in the
 * address, so that it can be shared. Text is only ever set as text.
 */
(() => {
  "use strict";

  const OWN = "own";
  const PAUSE_MS = 150;
  const LONGEST = 60; // characters of an unknown choice that are said
  const NUMBER = /^[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[-+]?\d+)?$/i;

  function start(root, data) {
    const { evaluate, exact, given, missing, number, say, spread } = Quantities;
    const { fields, language, nodes, words } = data;
    const form = root.querySelector("form");
    const answers = root.querySelector(".calculator-answers");
    const steps = root.querySelector(".calculator-steps");

    const control = (name) => form.elements[name];
    const choice = (name) => control(name).value;

    /* Fields */

    function read({ low, high, whole, optional }, text) {
      const plain = text.normalize("NFKC").trim().replaceAll("\u2212", "-");
      if (!plain) return optional ? { value: null } : { fault: "empty" };
      const value = NUMBER.test(plain) && /^[^e]*\d/i.test(plain) ? Number(plain.replaceAll(",", "")) : NaN;
      if (!Number.isFinite(value)) return { fault: "no_number" };
      if (value < 0) return { fault: "negative" };
      if (whole && !Number.isInteger(value)) return { fault: "whole" };
      if (value < low) return { fault: "too_low", limit: low };
      return value > high ? { fault: "too_high", limit: high } : { value };
    }

    function filled(word, values) {
      return words.calculator[word].replace(/{(\w+)}/g, (_, name) => values[name]);
    }

    function complain(name, { fault, limit }) {
      const said = fault ? filled(fault, { limit: number(limit ?? 0, language.locale) }) : "";
      const place = document.getElementById(`calculator-${name}-error`);
      if (place.textContent !== said) place.textContent = said;
      if (fault) control(name).setAttribute("aria-invalid", "true");
      else control(name).removeAttribute("aria-invalid");
    }

    function typed(name) {
      const found = read(fields[name], choice(name));
      complain(name, found);
      if (found.fault) return { ...missing("invalid"), field: name };
      if (found.value === null) return { ...missing("not_given"), field: name };
      return { ...given(found.value * fields[name].base), field: name };
    }

    function typedIn(part) {
      const names = [...part.querySelectorAll("input")].map((input) => input.name);
      if (!part.hidden) return Object.fromEntries(names.map((name) => [fields[name].gives, typed(name)]));
      names.forEach((name) => complain(name, {}));
      return {};
    }

    /* Inputs */

    function stored({ value, low = value, high = value, kind, doubted = false, absent, ...more }) {
      return absent ? { ...missing(...absent), ...more } : { ...given(value, kind), low, high, doubted, ...more };
    }

    function ofMachine(width) {
      const machine = data.machines[choice("machine")];
      if (!machine) return {};
      const inputs = Object.entries(machine.inputs).map(([name, input]) => [name, stored(input)]);
      const [, compute] = machine.compute.find(([at]) => at >= width) ?? machine.compute.at(-1);
      return { ...Object.fromEntries(inputs), compute: stored(compute) };
    }

    function ofModel() {
      const model = data.models[choice("model")];
      if (!model) return {};
      const format = choice("format");
      const counted = { ...model.inputs, ...model.formats[format], ...data.formats[format].inputs };
      return Object.fromEntries(Object.entries(counted).map(([name, value]) => [name, given(value, "cited")]));
    }

    /* Bits that a parameter's arithmetic has to have at least. */
    function width() {
      if (choice("model") !== OWN) return data.formats[choice("format")].width;
      return read(fields.bits, choice("bits")).value ?? fields.bits.high;
    }

    function inputs() {
      const own = [...root.querySelectorAll(".calculator-own, fieldset:last-of-type")].map(typedIn);
      return Object.assign({}, ofMachine(width()), ofModel(), ...own);
    }

    /* What is shown of a choice: fields for values of one's own begin with those of the choice before. */

    const before = {};

    function begin(name, value) {
      if (!choice(name) && value !== undefined) control(name).value = String(Number(value.toPrecision(4)));
    }

    function beginOwnMachine() {
      const { inputs = {}, compute = [] } = data.machines[before.machine] ?? {};
      const known = { ...inputs, compute: compute.find(([at]) => at >= width())?.[1] };
      for (const { name } of root.querySelectorAll('.calculator-own[data-part="machine"] input')) {
        const value = known[fields[name].gives]?.value;
        if (value !== undefined) begin(name, value / fields[name].base);
      }
    }

    function beginOwnModel() {
      const model = data.models[before.model];
      const { parameters, head_parameters } = model.inputs;
      const { bytes_per_parameter, bytes_per_head_parameter } = data.formats[choice("format")].inputs;
      const wider = (bytes_per_head_parameter - bytes_per_parameter) * head_parameters;
      begin("parameters", parameters / fields.parameters.base);
      begin("bits", (bytes_per_parameter + wider / parameters) / fields.bits.base);
      begin("kv", model.formats[choice("format")].kv_per_token / fields.kv.base);
    }

    const BEGIN = { machine: beginOwnMachine, model: beginOwnModel };

    function arrange() {
      for (const part of root.querySelectorAll(".calculator-own")) {
        const chosen = choice(part.dataset.part);
        part.hidden = chosen !== OWN;
        if (chosen !== OWN) before[part.dataset.part] = chosen;
      }
      root.querySelector(".calculator-published").hidden = choice("model") === OWN;
    }

    function choose({ target }) {
      arrange();
      strange.delete(target);
      tellStrange();
      if (target.value === OWN) BEGIN[target.name]?.();
    }

    /* Answers */

    function element(tag, properties, ...children) {
      const made = Object.assign(document.createElement(tag), properties);
      made.append(...children);
      return made;
    }

    function key(node) {
      return node.name ?? node.label ?? `constant.${node.input}`;
    }

    function absence(reasons) {
      if (reasons.includes("never_crosses")) return data.never;
      const open = reasons.some((reason) => reason in words.calculator);
      return open ? words.calculator.open : words.kind.unmeasured;
    }

    function worth(node, quantity) {
      if (quantity.value === null) return absence(quantity.absent);
      if ("input" in node && quantity.said) return quantity.said;
      const whole = "value" in node || ("input" in node && (quantity.field || !node.name));
      return whole ? exact(quantity.value, node.unit, language) : say(quantity.value, node, language);
    }

    function classes(quantity) {
      return `fact ${quantity.kind}${quantity.doubted ? " doubted" : ""}`;
    }

    /* Where an operand leads: to the receipt of what was measured, to the field it was typed into, to its own formula. */
    function address(node, quantity) {
      if ("input" in node && quantity.at) return quantity.at;
      if ("input" in node && quantity.field) return `#calculator-${quantity.field}`;
      return node.name && `#${node.name}`;
    }

    function linked(node, quantity, text, properties) {
      const href = address(node, quantity);
      return element(href ? "a" : "span", { ...properties, ...(href && { href }) }, text);
    }

    function called(at) {
      const node = nodes[at];
      const label = data.labels[key(node)];
      return node.name ? element("a", { href: `#${node.name}` }, label) : label;
    }

    function valued(at, quantities) {
      const [node, quantity] = [nodes[at], quantities[at]];
      if ("value" in node) return worth(node, quantity);
      const title = ("input" in node && quantity.title) || words.kind[quantity.kind];
      return linked(node, quantity, worth(node, quantity), { className: classes(quantity), title });
    }

    function row(name, ...said) {
      return [element("dt", {}, words.receipt[name]), element("dd", {}, ...said)];
    }

    function rows(node, at, quantities) {
      const quantity = quantities[at];
      if (!node.formula) return [];
      const names = node.formula.map((piece) => (typeof piece === "number" ? called(piece) : piece));
      const values = node.formula.map((piece) => (typeof piece === "number" ? valued(piece, quantities) : piece));
      return [...row("formula", ...names), ...row("values", ...values), ...range(node, quantity)];
    }

    function range(node, quantity) {
      const { value, low, high } = quantity;
      if (value === null || low === high || !Number.isFinite(low + high)) return [];
      return row("range", spread(quantity, node, language));
    }

    function reasons(quantity) {
      return [...new Set(quantity.absent.map((reason) => words.calculator[reason] ?? words.reason[reason]))];
    }

    /* The kind, or why there is nothing. */
    function remark(quantity) {
      return quantity.value === null ? reasons(quantity).join(language.semicolon) : words.kind[quantity.kind];
    }

    const cards = new Map(); // name -> section

    function card(name, level) {
      if (!cards.has(name)) {
        const told = element("dl", {});
        told.setAttribute("aria-live", "off");
        cards.set(name, element("section", { className: "receipt", id: name }, element(level, {}), told));
      }
      return cards.get(name);
    }

    function update(at, quantities, level) {
      const [node, quantity] = [nodes[at], quantities[at]];
      const section = card(node.name, level);
      const text = worth(node, quantity);
      const value =
        "input" in node
          ? linked(node, quantity, text, { className: classes(quantity), title: quantity.title ?? "" })
          : element("span", { className: classes(quantity) }, text);
      const head = [data.labels[node.name], " ", value, " ", element("small", {}, remark(quantity))];
      // What stays the same is left alone, so that only what changed is read out.
      const made = element(level, {}, ...head);
      if (made.innerHTML !== section.firstChild.innerHTML) section.firstChild.replaceChildren(...head);
      section.lastChild.replaceChildren(...rows(node, at, quantities));
      return section;
    }

    function arrangeCards(place, wanted) {
      const same = wanted.length === place.children.length && wanted.every((one, i) => one === place.children[i]);
      if (!same) place.replaceChildren(...wanted);
    }

    /* The named nodes that answers are made of, formulas first. */
    function underneath(numbers) {
      const [found, open] = [new Set(), [...numbers]];
      while (open.length) {
        const at = open.pop();
        if (!found.has(at)) open.push(...(nodes[at].of ?? []));
        found.add(at);
      }
      const named = [...found].filter((at) => nodes[at].name && !numbers.includes(at)).sort((a, b) => a - b);
      return [...named.filter((at) => nodes[at].formula), ...named.filter((at) => !nodes[at].formula)];
    }

    /* Rates that were timed with what is chosen. */
    function timed(requests) {
      const told = data.machines[choice("machine")]?.timed[`${choice("model")}-${choice("format")}`] ?? [];
      const rates = choice("model") === OWN ? [] : told.filter((rate) => rate.requests === requests);
      if (!rates.length) return [];
      const list = element("ul", {}, ...rates.map(timedRate));
      return [element("section", { className: "receipt" }, element("h3", {}, words.calculator.timed), list)];
    }

    function receiptOf({ at, title, said, kind, doubted }) {
      return element("a", { className: classes({ kind, doubted }), href: at, title }, said);
    }

    function timedRate({ engine, context, loaded, ...rate }) {
      const told = [engine, ...(context ? [language.comma, filled("at_context", { context })] : [])];
      const [before, after] = words.calculator.loaded.split("{loaded}");
      if (loaded) told.push(language.comma, before, receiptOf(loaded), after);
      return element("li", {}, receiptOf(rate), " ", element("small", {}, ...told));
    }

    function show() {
      const found = inputs();
      const quantities = evaluate(nodes, found);
      const numbers = data.answers[choice("model") === OWN ? "typed" : data.models[choice("model")].shape];
      const shown = numbers.map((at) => update(at, quantities, "h3"));
      arrangeCards(answers, [shown[0], ...timed(found.requests.value), ...shown.slice(1)]);
      arrangeCards(steps, underneath(numbers).map((at) => update(at, quantities, "h4")));
    }

    /* The address */

    function active() {
      return [...form.elements].filter((one) => one.name && !one.closest("[hidden]"));
    }

    function remember() {
      const query = new URLSearchParams(active().map(({ name, value }) => [name, value.trim()]));
      try {
        history.replaceState(history.state, "", `?${query}${location.hash}`);
      } catch (error) {
        console.info(error); // a browser that lets a page from disk have no query
      }
      keepInOtherLanguages();
    }

    function keepInOtherLanguages() {
      document.querySelectorAll("a[hreflang]").forEach((link) => (link.search = location.search));
    }

    function recall() {
      const [query, first] = [new URLSearchParams(location.search), data.first];
      for (const one of form.elements) {
        if (!one.name) continue;
        const offers = (value) => one.localName !== "select" || [...one.options].some((option) => option.value === value);
        for (const value of [first[one.name], query.get(one.name)]) {
          if (value !== undefined && value !== null && offers(value)) one.value = value;
        }
        const asked = query.get(one.name);
        if (asked && !offers(asked)) strange.set(one, asked);
      }
      Object.assign(before, { machine: first.machine, model: first.model });
      keepInOtherLanguages();
    }

    /* What the address asks for and nobody offers, said until the reader chooses there. */

    const strange = new Map(); // select -> what was asked

    function short(text) {
      return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
    }

    function tellStrange() {
      const told = [...strange].filter(([one]) => !one.closest("[hidden]")).map(([one, asked]) => {
        const [field, shown] = [one.labels[0].textContent, one.selectedOptions[0].textContent];
        return element("p", {}, filled("unknown", { field, asked: short(asked), shown }));
      });
      const place = root.querySelector(".calculator-unknown");
      place.replaceChildren(...told);
      place.hidden = !told.length;
    }

    /* An address within the page may lead into what is folded away. */
    function unfold() {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const folded = target?.closest("details");
      if (!folded || !root.contains(folded)) return;
      folded.open = true;
      target.scrollIntoView();
    }

    let waiting = 0;

    function later() {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        show();
        remember();
      }, PAUSE_MS);
    }

    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", choose);
    form.addEventListener("input", later);
    form.addEventListener("change", later);
    window.addEventListener("hashchange", unfold);

    recall();
    arrange();
    show();
    root.hidden = false;
    tellStrange();
    unfold();
  }

  const root = document.querySelector(".calculator");
  const needs = document.querySelector(".calculator-needs");
  try {
    start(root, JSON.parse(document.getElementById("calculator-data").textContent));
    needs.hidden = true;
  } catch (error) {
    console.warn(error);
  }
})();
