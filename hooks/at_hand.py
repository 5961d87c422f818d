"""Cuts each page of receipts into small scripts, from which the other pages show a number's receipt beside it.

A receipt is cut from the finished page, so what is shown at hand is what stands there. Scripts, because a page that was
opened from disk may load one, and no other file. docs/decisions/receipts-without-javascript.md says why they are many.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

FOLDER = "at-hand"
"""Beside the page of receipts."""

CHUNKS = 32
"""Scripts of a page: the same number as in docs/assets/javascripts/at-hand.js."""

DEPTH = 3
"""Facts whose names begin with the same so many parts, those of one model say, are in one script."""

RECEIPT = re.compile(r'<(section|li)(?: class="receipt")? id="([^"]+)">(.*?)</\1>', re.DOTALL)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Writes the scripts of a page of receipts; the page stays as it is."""
    if Path(page.file.src_uri).name == "receipts.md":
        folder = Path(config.site_dir, page.file.dest_uri).parent / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        for number, receipts in enumerate(chunks(output)):
            text = json.dumps(receipts, ensure_ascii=False, separators=(",", ":"))
            (folder / f"{number}.js").write_text(f"receiptsAtHand({text});\n", encoding="utf-8")
    return output


def chunks(page: str) -> list[dict[str, str]]:
    """The receipts of a page by the names of their facts and claims, as many scripts hold them."""
    found: list[dict[str, str]] = [{} for _ in range(CHUNKS)]
    for element, name, inside in RECEIPT.findall(page):
        found[chunk(group(name))][name] = at_hand(inside) if element != "li" else inside
    return found


def at_hand(receipt: str) -> str:
    """A receipt without what only its page tells: all but its first list."""
    first, end, _ = receipt.partition("</dl>")
    return first + end


def group(name: str) -> str:
    """The part of a name that decides which script it is in."""
    return ".".join(name.split(".")[:DEPTH])


@lru_cache(maxsize=4096)
def chunk(begins: str) -> int:
    """The number of the script: a hash that JavaScript computes alike."""
    number = 0
    for letter in begins:
        number = (number * 31 + ord(letter)) % 2**32
    return number % CHUNKS
