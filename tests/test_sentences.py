"""The sentences that a change of the pages changes, as a reviewer of it reads them."""

from __future__ import annotations

import subprocess
import sys

from paths import DOCS, ROOT

from templates.changes.sentences import MOST, changed, sentences, summary

PAGE = """---
title: x
---

# A page {#top}

It takes <a class="fact measured" href="receipts/#a" title="measured">7.8&nbsp;ms</a>. Is it *fast*? See [it](x.md).

| a | b |
|---|---|
| 1. one | 2 |
"""


def test_a_page_is_its_sentences_and_rows_without_markup():
    read = sentences(PAGE)
    assert read[:2] == ["title: x", "A page"]
    assert read[2:] == ["It takes 7.8\xa0ms.", "Is it *fast*?", "See [it].", "| a | b |", "| 1. one | 2 |"]
    assert sentences("기다립니다. 왜 그런가? 그래서.") == ["기다립니다.", "왜 그런가?", "그래서."]
    assert sentences("要等。为什么？因为 7.8 ms。") == ["要等。", "为什么？", "因为 7.8 ms。"]


def test_a_link_that_moves_changes_no_sentence_and_a_number_does():
    assert changed(PAGE, PAGE.replace("receipts/#a", "receipts/#b")) == []
    assert changed(PAGE, PAGE.replace("7.8", "9.1")) == ["- It takes 7.8\xa0ms.", "+ It takes 9.1\xa0ms."]


def write(folder, **texts):
    for name, text in texts.items():
        file = folder / name.replace("_", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".md").write_text(text, encoding="utf-8")
    return folder


def test_the_summary_tells_pages_by_language_and_only_counts_receipts(tmp_path):
    old = write(
        tmp_path / "old", ko_index="하나.", en_index="One.", en_receipts="1.", zh_gone="去。", decisions_x="No."
    )
    new = write(
        tmp_path / "new", ko_index="하나.", en_index="Two.", en_receipts="2.", zh_come="来。", decisions_x="Yes."
    )
    told = "\n".join(summary(old, new)).split("\n### ")[1:]
    assert [page.rstrip("\n") for page in told] == [
        "en/index.md: 1 new, 1 gone\n\n```diff\n- One.\n+ Two.\n```",
        "en/receipts.md: 1 new, 1 gone",
        "zh/come.md: 1 new, 0 gone\n\n```diff\n+ 来。\n```",
        "zh/gone.md: 0 new, 1 gone\n\n```diff\n- 去。\n```",
    ]
    assert list(summary(old, old)) == ["No sentence of the site changes."]


def test_what_is_too_long_is_cut_and_no_line_leaves_its_fence(tmp_path):
    old = write(tmp_path / "old", ko_index="")
    new = write(tmp_path / "new", ko_index="```\n" * (MOST + 2))
    lines = list(summary(old, new))
    assert lines[1] == "````diff" and lines[-2] == "````" and lines[-1].startswith("\n… and 2 lines more")


def test_the_command_says_what_it_needs():
    command = [sys.executable, "-m", "templates", "sentences"]
    same = subprocess.run([*command, str(DOCS)], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    assert same.stdout == "No sentence of the site changes.\n"
    bare = subprocess.run([*command, "nowhere"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert bare.returncode and "nowhere is no folder of pages" in bare.stderr and "Traceback" not in bare.stderr
