/* Draws the charts of a page: each when it comes near the viewport or another script wants it, in the colours of the page's
 * palette.
 *
 * A page without a chart in sight loads neither plotly nor a figure. Colours in a figure are roles, "var:--chart-1"; their
 * values are the style sheet's, so that a change of palette is a new drawing of the same figure.
 */
(() => {
  "use strict";

  const PLOTLY = new URL("../vendor/plotly-basic.min.js", document.currentScript.src);
  const NEAR = "600px";
  const CONFIG = { displayModeBar: false, displaylogo: false, doubleClick: false, scrollZoom: false };
  const FAILED = {
    ko: "도표를 불러오지 못했습니다. 같은 수치가 본문의 표에 있습니다.",
    en: "The chart could not be loaded. The tables on this page hold the same figures.",
    zh: "图表未能加载。本页的表格里有同样的数据。",
  };

  let plotly = null;
  const drawn = new Map(); // figure element -> its figure, as loaded

  function loadScript(address) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = () => resolve(script);
      script.onerror = () => reject(new Error(`${address} did not load`));
      document.head.append(script);
    });
  }

  function loadPlotly() {
    plotly ??= loadScript(PLOTLY).then(() => window.Plotly);
    return plotly;
  }

  /* A figure is a file, or stands in the page where its address is a fragment. In the copy of the site for the disk, where
     nothing can be fetched, it is a script that leaves it on itself. */
  async function loadFigure(element) {
    const place = element.dataset.chart;
    if (place.startsWith("#")) return JSON.parse(document.getElementById(place.slice(1)).textContent);
    const address = new URL(place, location.href);
    if (address.pathname.endsWith(".js")) return (await loadScript(address)).figure;
    const response = await fetch(address);
    if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
    return response.json();
  }

  /* A copy of value in which each "var:--name" is the value that style sheet variable has now. */
  function resolveColours(value, style) {
    if (typeof value === "string") {
      return value.startsWith("var:") ? style.getPropertyValue(value.slice(4)).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => resolveColours(item, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolveColours(item, style)]));
  }

  function axisDefaults(name, axis) {
    const line = "var:--chart-grid";
    const colours = { gridcolor: line, linecolor: line, zerolinecolor: line };
    const title = axis?.title && { font: { size: 13 }, ...axis.title };
    return { automargin: true, fixedrange: true, showgrid: name.startsWith("y"), ...colours, ...axis, title };
  }

  /* The look that all charts share; what a figure says itself wins. */
  function withDefaults(layout, style) {
    const axes = Object.keys({ xaxis: 0, yaxis: 0, ...layout }).filter((name) => /^[xy]axis\d*$/.test(name));
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      colorway: [1, 2, 3, 4, 5, 6].map((n) => `var:--chart-${n}`),
      dragmode: false,
      margin: { l: 8, r: 16, t: 8, b: 8 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      hoverlabel: { bgcolor: "var:--chart-paper", bordercolor: "var:--chart-grid", font: { color: "var:--chart-text" } },
      ...layout,
      autosize: true,
      font: { family: style.fontFamily, size: 13, color: "var:--chart-text", ...layout.font },
      ...Object.fromEntries(axes.map((name) => [name, axisDefaults(name, layout[name])])),
    };
  }

  /* A trace with the points that are chosen: by what they carry, as whoever chooses has left it on the figure's element.
     A trace whose points carry nothing is shown whole. */
  function withChosen(trace, isChosen) {
    if (!isChosen || !trace.customdata) return trace;
    const choose = (list) => (Array.isArray(list) ? list.filter((_, i) => isChosen(trace.customdata[i])) : list);
    const { array, arrayminus } = trace.error_y;
    const error_y = { ...trace.error_y, array: choose(array), arrayminus: choose(arrayminus) };
    const [x, y, text, customdata] = [trace.x, trace.y, trace.text, trace.customdata].map(choose);
    return { ...trace, x, y, text, customdata, error_y };
  }

  async function draw(element, figure) {
    const library = await loadPlotly();
    const style = getComputedStyle(element);
    const layout = withDefaults(figure.layout ?? {}, style);
    const data = figure.data.map((trace) => withChosen(trace, element.isChosen));
    await library.react(canvasOf(element), resolveColours(data, style), resolveColours(layout, style), CONFIG);
  }

  async function show(element) {
    try {
      const [figure] = await Promise.all([loadFigure(element).then((loaded) => tellLoaded(element, loaded)), loadPlotly()]);
      await draw(element, figure);
      drawn.set(element, figure);
      resizes.observe(canvasOf(element));
      element.dataset.state = "drawn";
    } catch (error) {
      console.warn(error);
      sayFailed(element);
    }
  }

  /* Other scripts may want what the figure carries. */
  function tellLoaded(element, figure) {
    element.dispatchEvent(new CustomEvent("chart-loaded", { detail: figure }));
    return figure;
  }

  function chooseAgain({ currentTarget: element }) {
    if (drawn.has(element)) draw(element, drawn.get(element));
  }

  function sayFailed(element) {
    const message = document.createElement("p");
    message.className = "chart-message";
    message.setAttribute("role", "status");
    message.textContent = FAILED[document.documentElement.lang.slice(0, 2)] ?? FAILED.en;
    canvasOf(element).replaceWith(message);
    element.dataset.state = "failed";
  }

  function canvasOf(element) {
    return element.querySelector(".chart-canvas");
  }

  /* A chart in a closed <details> or tab has no size; when that opens it gets one. The same goes for a turned phone. */
  const resizes = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) if (contentRect.width) window.Plotly.Plots.resize(target);
  });

  const sight = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) begin(target);
      }
    },
    { rootMargin: NEAR },
  );

  const begun = new Set(); // figure elements

  function begin(element) {
    if (begun.has(element)) return;
    begun.add(element);
    sight.unobserve(element);
    show(element);
  }

  const palette = new MutationObserver(() => drawn.forEach((figure, element) => draw(element, figure)));

  document.querySelectorAll("figure.chart[data-chart]").forEach((element) => {
    element.addEventListener("chart-choose", chooseAgain);
    element.addEventListener("chart-wanted", () => begin(element));
    sight.observe(element);
    if (element.isWanted) begin(element);
  });
  palette.observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
})();
