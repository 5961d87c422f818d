"""Makes a page of each notebook: plain HTML that the site's own style sheets and scripts dress.

mkdocs-jupyter converts them, by the template in hooks/notebook/ instead of its own, which brings scripts, styles and
addresses of other hosts into the page. It never executes them: see docs/decisions/notebook.md.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from mkdocs import utils
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import get_toc
from mkdocs_jupyter.config import settings  # type: ignore[import-untyped]

SUFFIX = ".ipynb"
STYLE = re.compile(r"\s*<style>.*?</style>\s*\Z", re.DOTALL)
HEADING = re.compile(r'<h([1-6]) id="([^"]+)">(.*?)</h\1>')


def on_startup(command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
    """Lets MkDocs take notebooks for pages, also where the i18n plugin makes files anew."""
    if SUFFIX not in utils.markdown_extensions:
        utils.markdown_extensions = (*utils.markdown_extensions, SUFFIX)  # type: ignore[assignment]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Converts by the project's template."""
    settings.templates_dir = str(Path(__file__).parent / "notebook")
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Keeps what is code and tables for the most part out of the search."""
    if page.file.src_uri.endswith(SUFFIX):
        page.meta["search"] = {"exclude": True}
    return markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Takes the styles away that the policy of the pages forbids, and gives headings what they have on other pages."""
    if not page.file.src_uri.endswith(SUFFIX):
        return html
    headings: list[Any] = [
        {"level": int(level), "id": place, "name": title, "children": []}
        for level, place, title in HEADING.findall(html)
    ]
    for first in headings[:1]:
        first["children"] = headings[1:]
    page.toc = get_toc(headings[:1])
    return HEADING.sub(r'<h\1 id="\2">\3<a class="headerlink" href="#\2" title="">#</a></h\1>', STYLE.sub("", html))
