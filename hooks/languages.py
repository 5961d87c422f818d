"""Gives each language of the site its own search index, and its pages language links that hold wherever it is served.

The i18n plugin leaves one index for all languages: a search would show hits in languages the reader did not choose, and
every page would load three times what it needs.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import jieba  # type: ignore[import-untyped]
import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from words import words

ALTERNATE = re.compile(r'\n\s*<link rel="alternate" href="[^>]*hreflang="[^>]*>')
"""The theme's links to other languages, by the order of their attributes."""

BASE = re.compile(r'(<script id="__config" type="application/json">.*?"base": ")([^"]*)(")', re.DOTALL)
INDEX = Path("search") / "search_index.json"
TERRITORIES = {"ko": "ko_KR", "en": "en_GB", "zh": "zh_CN"}
"""Languages as cards in messages name them."""

BOOSTS = {"": 0.1, "calculator/": 0.5, "compare/": 0.1, "data/": 0.3, "method/": 0.5, "own/": 0.5}
"""What hits count beside those in the article, which explains what the other pages only name."""


def on_startup(**_: object) -> None:
    """Keeps the word splitter of the Chinese index from telling, in four lines a build, that it read its dictionary."""
    jieba.setLogLevel(logging.WARNING)


def on_env(env: jinja2.Environment, config: MkDocsConfig, files: Files) -> jinja2.Environment:
    """Gives the templates in overrides/ whole addresses, languages with a territory, and the words of the 404 page."""
    missing = words("missing")
    env.filters["absolute"] = lambda url: urljoin(f"{(config.site_url or '').rstrip('/')}/", url)
    env.filters["territory"] = TERRITORIES.__getitem__
    env.filters["missing_word"] = lambda name, language: missing[name][language]
    return env


@event_priority(-200)
def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:
    """Makes the language links of a start page relative, as they are on other pages: they then hold below any path."""
    if page is nav.homepage:
        default = config.plugins["i18n"].default_language  # type: ignore[attr-defined]
        for alternate in config.extra.alternate:  # type: ignore[attr-defined]
            alternate["link"] = "./" if alternate["lang"] == default else f"{alternate['lang']}/"
    return context


@event_priority(-200)
def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Keeps the page for addresses that do not exist, of which there is one, as the default language's build made it.

    It holds all languages. An empty text is not written, so that the last language's build does not replace it.
    """
    if template_name != "404.html":
        return output_content
    i18n = config.plugins["i18n"]
    return ALTERNATE.sub("", output_content) if i18n.is_default_language_build else ""  # type: ignore[attr-defined]


@event_priority(-200)
def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Points the page's search at its language's index and drops the theme's alternate links.

    They are relative, which search engines do not take; overrides/partials/elsewhere.html has whole ones.
    """
    i18n = config.plugins["i18n"]
    output = ALTERNATE.sub("", output)
    if i18n.is_default_language_build:  # type: ignore[attr-defined]
        return output
    output, found = BASE.subn(rf"\g<1>\g<2>/{i18n.current_language}/\g<3>", output)  # type: ignore[attr-defined]
    if not found:
        raise ValueError(f"{page.file.src_uri}: no base in the theme's __config; the search index cannot be set")
    return output


@event_priority(-200)
def on_post_build(config: MkDocsConfig) -> None:
    """Splits the index once all languages are built, which is when the i18n plugin is done."""
    i18n = config.plugins["i18n"]
    if not i18n.building:  # type: ignore[attr-defined]
        split_index(Path(config.site_dir), i18n.build_languages, i18n.default_language)  # type: ignore[attr-defined]


def split_index(site: Path, languages: list[str], default: str) -> None:
    """Writes `{language}/search/search_index.json`, the default language's at the site's root."""
    index = json.loads((site / INDEX).read_text(encoding="utf-8"))
    for language in languages:
        folder = "" if language == default else f"{language}/"
        others = tuple(f"{other}/" for other in languages if f"{other}/" != folder)
        docs = [
            boosted({**entry, "location": entry["location"].removeprefix(folder)})
            for entry in index["docs"]
            if entry["location"].startswith(folder) and not entry["location"].startswith(others)
        ]
        write_index(site / folder / INDEX, {**index, "docs": docs})


def boosted(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the index with what its page's hits count, where that is not 1."""
    page = entry["location"].partition("#")[0]
    return {**entry, "boost": BOOSTS[page]} if page in BOOSTS else entry


def write_index(path: Path, index: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
