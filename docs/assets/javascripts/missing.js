/* On the page for addresses that do not exist: leaves the language of the address, which the first folder below the site's
 * root names. Without a folder of a language it is the default's, the first. It runs as soon as all three are there, before
 * they are shown.
 */
(() => {
  "use strict";

  const all = document.querySelector(".no-page");
  const root = new URL(all.dataset.base, location).pathname.replace(/\/?$/, "/");
  const [folder] = location.pathname.startsWith(root) ? location.pathname.slice(root.length).split("/") : [""];
  const told = [...all.children].find((section) => section.lang === folder) ?? all.firstElementChild;

  all.replaceChildren(told);
  document.documentElement.lang = told.lang;
  document.title = `404 - ${told.dataset.name}`;
  document.querySelector(".md-header__topic .md-ellipsis").textContent = told.dataset.name;
  document.querySelector(".md-logo").href = told.querySelector("a").href;
})();
