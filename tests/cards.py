"""The picture that messengers show beside a link to the site, one a language: `python tests/cards.py` draws them anew.

They are committed, so that building the site needs neither a browser nor fonts. Each carries the digest of what it was
drawn from, so that a test can tell when a name, a description or the look has changed.
"""

from __future__ import annotations

import hashlib
import html
import struct
import zlib
from pathlib import Path

from mkdocs.utils.yaml import yaml_load
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
CARDS = ROOT / "docs" / "assets" / "cards"
SIZE = {"width": 1200, "height": 630}
"""In px: what the messengers ask for."""

START = b"\x89PNG\r\n\x1a\n"
WAVE = (3, 6, 11, 5, 14, 22, 12, 26, 31, 18, 28, 14, 20, 8, 16, 25, 30, 17, 9, 13, 6, 10, 18, 8, 12, 5, 7, 3)
"""Lengths of the strokes of a sound wave: a drawing, and no chart of anything."""

PAGE = """<!doctype html>
<html lang="{language}"><meta charset="utf-8"><style>
body {{ box-sizing: border-box; width: 1200px; height: 630px; margin: 0; padding: 84px 92px; background: #ffffff;
  color: #1f262e; font-family: "Noto Sans", "Noto Sans CJK {region}", "Liberation Sans", sans-serif;
  word-break: keep-all; display: flex; flex-direction: column; }}
h1 {{ margin: 0 0 28px; font-size: 84px; font-weight: 700; line-height: 1.2; }}
p {{ margin: 0; font-size: 38px; line-height: 1.5; color: #566270; text-wrap: balance; }}
svg {{ margin-top: auto; height: 128px; fill: #0b62a4; }}
</style><h1>{name}</h1><p>{description}</p>
<svg viewBox="0 0 1016 128" preserveAspectRatio="xMinYMax">{bars}</svg></html>"""
REGIONS = {"ko": "KR", "en": "KR", "zh": "SC"}


def drawn_from(language: str) -> str:
    """The page that a card is a picture of, from the site's name and description in mkdocs.yml."""
    config = yaml_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    (i18n,) = (plugin["i18n"] for plugin in config["plugins"] if "i18n" in plugin)
    (told,) = (told for told in i18n["languages"] if told["locale"] == language)
    bars = "".join(
        f'<rect x="{36 * n}" y="{64 - 2 * length}" width="12" height="{4 * length}" rx="6"/>'
        for n, length in enumerate(WAVE)
    )
    texts = {"name": html.escape(told["site_name"]), "description": html.escape(told["site_description"])}
    return PAGE.format(language=language, region=REGIONS[language], bars=bars, **texts)


def digest(page: str) -> bytes:
    return hashlib.sha256(page.encode()).hexdigest().encode()


def chunks(picture: bytes) -> dict[bytes, bytes]:
    """The parts of a PNG by their type, of several alike the last."""
    found, at = {}, len(START)
    while at < len(picture):
        (length,) = struct.unpack_from(">I", picture, at)
        found[picture[at + 4 : at + 8]] = picture[at + 8 : at + 8 + length]
        at += 12 + length
    return found


def marked(picture: bytes, text: bytes) -> bytes:
    """The picture with a text in it."""
    body = b"tEXtSource\0" + text
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = picture.rindex(b"IEND") - 4
    return picture[:end] + chunk + picture[end:]


def draw(browser: Browser) -> None:
    CARDS.mkdir(exist_ok=True)
    page = browser.new_page(viewport=SIZE)
    for language in REGIONS:
        source = drawn_from(language)
        page.set_content(source)
        (CARDS / f"{language}.png").write_bytes(marked(page.screenshot(), digest(source)))


if __name__ == "__main__":
    from conftest import chromium

    with sync_playwright() as playwright:
        draw(playwright.chromium.launch(executable_path=chromium(playwright.chromium.executable_path)))
