/* Shows what an element's title says when the pointer rests on the element or the keyboard reaches it; browsers show it to the
 * pointer alone. Escape hides it.
 *
 * The theme can do that too, but sets up each element when the page loads: half a second for an article with its thousands of
 * numbers. Here one element serves all, and nothing is done before it is needed.
 */
(() => {
  "use strict";

  const TITLED = 'article [title]:not([title=""])';
  const REST = 250; // ms
  const GAP = 8; // px

  const tip = Object.assign(document.createElement("div"), { id: "title-tip", className: "title-tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  let host = null; // the element whose title is shown; without its title, which the browser would show too
  let timer = 0;

  function show(element) {
    hide();
    host = element;
    tip.textContent = host.title;
    host.removeAttribute("title");
    host.setAttribute("aria-describedby", tip.id);
    tip.hidden = false;
    place();
  }

  function hide() {
    clearTimeout(timer);
    if (!host) return;
    host.title = tip.textContent;
    host.removeAttribute("aria-describedby");
    tip.hidden = true;
    host = null;
  }

  /* Below the first line of its element, or above it where there is no room. */
  function place() {
    const line = host.getClientRects()[0];
    if (!line) return hide();
    const { clientWidth, clientHeight } = document.documentElement;
    const below = line.bottom + GAP + tip.offsetHeight <= clientHeight;
    tip.style.top = `${below ? line.bottom + GAP : line.top - GAP - tip.offsetHeight}px`;
    tip.style.left = `${Math.max(GAP, Math.min(line.left, clientWidth - tip.offsetWidth - GAP))}px`;
  }

  document.addEventListener("pointerover", ({ pointerType, target }) => {
    if (pointerType === "touch" || tip.contains(target) || host?.contains(target)) return;
    const element = target.closest(TITLED);
    hide();
    if (element) timer = setTimeout(show, REST, element);
  });
  document.addEventListener("focusin", ({ target }) => {
    if (target.matches(TITLED) && target.matches(":focus-visible")) show(target);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  document.addEventListener("scroll", () => host && place(), { capture: true, passive: true });
  document.querySelector("main").append(tip);
})();
