/* Chooses among all runs that decoded: rows of the table, points of the chart, and rows and columns of the numbers.
 *
 * What is chosen stands in the address, so that it can be shared. Rows for which the page has no room come with the
 * chart's figure. Without a script everything is shown. Text is only ever set as text.
 */
(() => {
  "use strict";

  const LONGEST = 60; // characters of an unknown choice that are said

  const form = document.querySelector("form.choose");
  if (!form) return;

  const table = document.querySelector("table.decoded");
  const numbers = document.querySelector("table.numbers");
  const figure = document.getElementById("chart-machines");
  const status = form.querySelector(".chosen");
  const unknown = form.querySelector(".calculator-unknown");
  const selects = [...form.querySelectorAll("select")];
  const strange = new Map(); // select -> what the address asks for and nobody offers, until the reader chooses there

  /* Whether what has these properties is chosen; a property that it does not have excludes nothing. */
  function isChosen(properties) {
    return selects.every(({ name, value }) => !value || properties[name] === undefined || properties[name] === value);
  }

  function filled(sentence, values) {
    return sentence.replace(/{(\w+)}/g, (_, name) => values[name]);
  }

  function chooseRows() {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !isChosen(row.dataset);
    const shown = rows.filter((row) => !row.hidden).length;
    const counts = { shown, all: Number(table.dataset.all) };
    const spelled = (count) => count.toLocaleString(document.documentElement.lang);
    const numbers = { shown: spelled(counts.shown), all: spelled(counts.all) };
    const said = shown ? filled(status.dataset.said, numbers) : status.dataset.none;
    if (status.textContent !== said) status.textContent = said;
    status.toggleAttribute("data-whole", counts.shown === counts.all); // which paper need not tell
  }

  function chooseNumbers() {
    const kind = form.elements.kind.value;
    for (const row of numbers.querySelectorAll("tr[data-model]")) row.hidden = !isChosen(row.dataset);
    for (const cell of numbers.querySelectorAll("[data-kinds]")) {
      cell.hidden = Boolean(kind) && !cell.dataset.kinds.split(" ").includes(kind);
    }
    numbers.hidden = !numbers.querySelector("thead [data-kinds]:not([hidden])");
  }

  /* Rows that are chosen may be among those that come with the figure. */
  function wantMissing() {
    if (table.tBodies[0].rows.length === Number(table.dataset.all) || selects.every(({ value }) => !value)) return;
    figure.isWanted = true;
    figure.dispatchEvent(new CustomEvent("chart-wanted"));
  }

  /* What the script that draws has to know is left on the element, as that may not have begun. */
  function show() {
    chooseRows();
    chooseNumbers();
    figure.isChosen = ([kind, model, engine]) => isChosen({ kind, model, engine });
    figure.dispatchEvent(new CustomEvent("chart-choose"));
    wantMissing();
  }

  /* Rows that came with the figure */

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  function rowOf([at, kind, model, engine, run, machine, ...cells]) {
    const name = element("th", { scope: "row" }, machine, " ", element("small", { translate: false }, run));
    const heads = [...table.tHead.rows[0].cells].slice(1).map((head) => head.textContent);
    const row = element("tr", {}, name, ...cells.map((text) => element("td", {}, text)));
    heads.forEach((head, i) => (row.cells[i + 1].dataset.head = head));
    Object.assign(row.dataset, { at, kind, model, engine });
    return row;
  }

  function join({ detail }) {
    const more = detail.layout.meta?.rows ?? [];
    if (!more.length) return;
    const rows = [...table.tBodies[0].rows, ...more.map(rowOf)];
    table.tBodies[0].replaceChildren(...rows.sort((one, other) => one.dataset.at - other.dataset.at));
    chooseRows();
  }

  /* The address */

  function keepInOtherLanguages() {
    document.querySelectorAll("a[hreflang]").forEach((link) => (link.search = location.search));
  }

  function remember() {
    const query = new URLSearchParams(selects.filter(({ value }) => value).map(({ name, value }) => [name, value]));
    try {
      history.replaceState(history.state, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
    } catch (error) {
      console.info(error); // a browser that lets a page from disk have no query
    }
    keepInOtherLanguages();
  }

  function recall() {
    const query = new URLSearchParams(location.search);
    for (const select of selects) {
      const asked = query.get(select.name);
      if ([...select.options].some(({ value }) => value === asked)) select.value = asked;
      else if (asked) strange.set(select, asked);
    }
    keepInOtherLanguages();
  }

  function tellStrange() {
    const told = [...strange].map(([select, asked]) => {
      const [field, shown] = [select.labels[0].textContent, select.selectedOptions[0].textContent];
      const short = asked.length > LONGEST ? `${asked.slice(0, LONGEST)}…` : asked;
      return element("p", {}, filled(unknown.dataset.said, { field, asked: short, shown }));
    });
    unknown.replaceChildren(...told);
    unknown.hidden = !told.length;
  }

  function choose() {
    tellStrange();
    show();
    remember();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => {
    strange.delete(target);
    choose();
  });
  form.addEventListener("reset", () => {
    strange.clear();
    setTimeout(choose);
  });
  figure.addEventListener("chart-loaded", join);

  recall();
  tellStrange();
  show();
  form.hidden = false;
})();
