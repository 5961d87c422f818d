"""Whether the addresses that the pages name as evidence still answer: `python tests/links.py`.

It needs the network and depends on others' servers, so it is no test and no part of a build. A server that refuses
programs (401, 403, 405, 429, 999) is there; one that does not answer in three tries is told.
"""

from __future__ import annotations

import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
ADDRESS = re.compile(r"https?://[^\s<>\"')\]`]+")
ARXIV = re.compile(r"\barXiv[: ](\d{4}\.\d{4,5})\b")
ABSTRACT = "https://arxiv.org/abs/{}"
REFUSES = {401, 403, 405, 429, 999}
TRIES = 3
SECONDS = 20
AGENT = "Mozilla/5.0 (compatible; a check of evidence links)"


def addresses(folder: Path) -> dict[str, list[str]]:
    """Each address that pages name, or an arXiv number stands for, and the pages that do. No fragments, no examples."""
    found: dict[str, list[str]] = {}
    for page in sorted(folder.glob("*/**/*.md")):
        text = page.read_text(encoding="utf-8")
        for match in [*ADDRESS.findall(text), *map(ABSTRACT.format, ARXIV.findall(text))]:
            address = match.partition("#")[0].rstrip(".,;:")
            if not re.match(r"https?://(localhost|127\.|[\w.]*example\.)", address):
                named = found.setdefault(address, [])
                named.append(page.relative_to(folder).as_posix())
    return found


def fault(address: str, pause: float = 5) -> str | None:
    """What is wrong with an address after some tries, or None."""
    said = None
    for attempt in range(TRIES):
        time.sleep(pause * attempt)
        try:
            request = urllib.request.Request(address, headers={"User-Agent": AGENT})
            with urllib.request.urlopen(request, timeout=SECONDS):
                return None
        except urllib.error.HTTPError as error:
            if error.code in REFUSES:
                return None
            said = f"{error.code} {error.reason}"
        except OSError as error:
            said = str(getattr(error, "reason", error))
    return said


def report(folder: Path, pause: float = 5) -> Iterator[str]:
    """A line for each address that does not answer, with the pages that name it."""
    named = addresses(folder)
    with ThreadPoolExecutor(8) as pool:
        for address, said in zip(named, pool.map(lambda each: fault(each, pause), named), strict=True):
            if said:
                yield f"- {address}: {said} ({', '.join(dict.fromkeys(named[address]))})"


if __name__ == "__main__":
    broken = list(report(DOCS))
    print("\n".join(broken) or "Every evidence link answers.")
    sys.exit(bool(broken))
