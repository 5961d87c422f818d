"""Code within sentences and tables breaks where a reader would break it: not in a word, not after a hyphen."""

from __future__ import annotations

import html
import re

import pytest
from sites import DEFAULT, LANGUAGES
from test_browser import PHONE, opened

HOOK = "codes"

KEY = "decode_vllm/qwen3-4b-fp8/prefill_rate?tokens=64&requests=8"

LINES = """codes => codes.flatMap(code => {
  const broken = [];
  const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  let text = "", top = null;
  for (let node; (node = walk.nextNode()); ) for (let i = 0; i < node.length; i++) {
    const range = new Range();
    range.setStart(node, i), range.setEnd(node, i + 1);
    const box = range.getBoundingClientRect();
    if (box.width && top !== null && box.top > top + 8) broken.push(text.slice(-12));
    text += node.data[i];
    if (box.width) top = box.top;
  }
  return broken;
})"""
"""What stands before each place where code goes on in another line."""


def test_a_long_key_may_break_after_its_signs_alone(hook):
    parts = [re.sub(r"<[^>]*>", "", part) for part in hook.broken(KEY).split("<wbr>")]
    wanted = ["decode_", "vllm/", "qwen3-4b-fp8/", "prefill_", "rate?", "tokens=64&amp;", "requests=8"]
    assert parts == wanted
    assert '<span class="whole">qwen3-4b-fp8/</span>' in hook.broken(KEY)


@pytest.mark.parametrize("code", ["decode_vllm", "MiB", "a_b/c", "__init__", "python measure"])
def test_a_short_word_without_a_hyphen_stays_as_it_is(hook, code):
    assert hook.broken(code) == code


def test_an_option_is_whole_and_what_no_phone_has_room_for_is_not(hook):
    assert hook.broken("measure here --as NAME") == 'measure here <span class="whole">--as</span> NAME'
    assert "whole" not in hook.broken("-".join(["long"] * 9))


def test_blocks_of_code_stay_as_they_are_and_no_text_changes(hook):
    block = f"<pre><code>{html.escape(KEY)} --as\n</code></pre>"
    line = f"<p><code>{html.escape(KEY)}</code> &amp; <code>--as &lt;NAME&gt; a&#95;b</code></p>"
    made = hook.on_page_content(block + line, None, None, None)
    assert made.startswith(block) and made != block + line
    assert html.unescape(re.sub(r"<(wbr|/?span)[^>]*>", "", made)) == html.unescape(block + line)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["own/", "runs/h200-engines/", "method/"])
def test_on_a_phone_no_code_breaks_in_a_word(browser, address, language, name):
    path = name if language == DEFAULT else f"{language}/{name}"
    with opened(browser, address, path, viewport=PHONE) as watched:
        assert watched.page.locator("article :not(pre) > code").count()
        before = watched.page.eval_on_selector_all("article :not(pre) > code", LINES)
        assert [text for text in before if not re.search(r"[\s/?&_]$", text)] == []
