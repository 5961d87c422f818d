/* Keeps the theme from asking for a sitemap beside each page of another language.
 *
 * Its script takes every link with rel="alternate", and nothing else in rel, to be the start page of a version of the site.
 * A second word hides them from it and takes nothing from their meaning. This runs before the theme looks, which waits
 * until the page is loaded.
 */
document.querySelectorAll("link[rel=alternate][hreflang]").forEach((link) => link.relList.add("translation"));
