"""The section on several cards, rendered from made-up runs: tables, sentences, receipts, for any numbers of cards."""

import html
import re

import pytest
from hosts import MODEL, run_on

from measure.results import Results
from templates import render
from templates.labels import LANGUAGES, Labels

TWO = (MODEL, "qwen3-0.6b-bf16")
ROW = re.compile(r"^\| (Qwen3 [^|]*?) \|(.*)\|$", re.MULTILINE)


def pages(*numbers, cards=8, models=TWO):
    return render.pages(Results([run_on(cards, numbers, models)]))


def plain(markup):
    return html.unescape(re.sub("<[^>]*>", "", markup)).replace("\u00a0", " ")


def section(made, language):
    return plain(made[f"{language}/here/index.md"].partition("{#decoding-cards}")[2].partition("\n### ")[0])


def tables(text):
    """The rows of both tables: a model, and its cells."""
    first, second = text.split("\n- **")[0], text.split("\n- **")[-1]
    return [
        [(name, [cell.strip() for cell in rest.split("|")]) for name, rest in ROW.findall(part)]
        for part in (first, second)
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_row_for_each_model_and_number_of_cards(language):
    text = section(pages(1, 2, 4, 8), language)
    rates, sums = tables(text)
    assert [(name, cells[0]) for name, cells in rates] == [
        (f"Qwen3 {size} bf16", number) for size in ("4B", "0.6B") for number in "1248"
    ]
    assert [cells[1:3] for _, cells in rates[:2]] == [
        ["500 tok/s", f"200 tok/s{'（40%）' if language == 'zh' else '(40%)' if language == 'ko' else ' (40%)'}"],
        ["1,000 tok/s", f"330 tok/s{'（33%）' if language == 'zh' else '(33%)' if language == 'ko' else ' (33%)'}"],
    ]
    assert rates[0][1][3:] == ["–", "–"] and [cells[3][:4] for _, cells in rates[1:4]] == ["1.65", "2.50", "2.80"]
    assert [(name, cells[0]) for name, cells in sums] == [
        (f"Qwen3 {size} bf16", number) for size in ("4B", "0.6B") for number in "248"
    ]
    assert {len(cells) for _, cells in rates} == {len(cells) for _, cells in sums} == {5}


@pytest.mark.parametrize("language", LANGUAGES)
def test_with_one_number_beside_one_card_both_stand_in_a_row(language):
    rates, sums = tables(section(pages(1, 4), language))
    assert [name for name, _ in rates] == [name for name, _ in sums] == ["Qwen3 4B bf16", "Qwen3 0.6B bf16"]
    assert [cells[:2] for _, cells in rates] == [["500 tok/s", "2,000 tok/s"]] * 2
    assert {len(cells) for _, cells in rates} == {6} and {len(cells) for _, cells in sums} == {4}


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        (
            "en",
            [
                "4,000 GB/s, that of the first 2 together 8,000 GB/s, that of the first 4 together 16,000 GB/s: each",
                "With 2 cards the ceiling is 2.00 times that of one, with 4 cards 4.00 times. One request",
                "One request decodes 1.65 times as fast with 2 cards, 2.50 times with 4 cards, which for at least one",
                "33% is reached with 2 cards, 25% with 4 cards, against 40% on one card. What",
                "run 1.60 times with 2 cards, 1.60 times with 4 cards as fast as on one card; all others, the sums "
                "aside, 1.00 times with 2 cards, 1.00 times with 4 cards.",
                "A copy from the first card to another runs at 373–379 GB/s;",
                "a large all-reduce over 8 cards uses",
            ],
        ),
        (
            "ko",
            [
                "2개를 더하면 8,000 GB/s, 4개를 더하면 16,000 GB/s이며 GPU마다",
                "GPU 2개의 상한은 하나일 때의 2.00배, 4개의 상한은 4.00배입니다. 요청",
                "생성 속도는 GPU 2개에서 1.65배, 4개에서 2.50배로, 모든 모델에서 GPU 수에 거의 비례한다고는",
                "비율은 GPU 2개에서 33%, 4개에서 25%이고, GPU가 하나일 때는 40%입니다. GPU마다",
                "커널의 속도는 GPU 하나일 때의 (2개) 1.60배, (4개) 1.60배, 주고받는 커널을 뺀 나머지",
                "첫 번째 GPU에서 다른 GPU로 복사하는 속도는 373~379 GB/s,",
                "NCCL로 GPU 8개에서 큰 데이터를",
            ],
        ),
        (
            "zh",
            [
                "前 2 块合计 8,000 GB/s，前 4 块合计 16,000 GB/s，各块单独测量，合计由计算得出。",
                "2 块 GPU 的上限是单块的 2.00 倍，4 块是 4.00 倍。单个请求",
                "单个请求的生成速度，2 块时是单块的 1.65 倍，4 块时是 2.50 倍，并不是每个模型",
                "占上限的比例在 2 块时为 33%，4 块时为 25%，单块 GPU 时为 40%。有些时间",
                "速度是单块的 1.60 倍（2 块），1.60 倍（4 块）；除交换数据的内核外，其余内核是 1.00 倍（2 块），",
                "从第一块 GPU 复制到其他 GPU 的速率为 373～379 GB/s，",
                "用 NCCL 在 8 块 GPU 上对大块数据",
            ],
        ),
    ],
)
def test_sentences_tell_each_number_of_cards(language, sentences):
    text = section(pages(1, 2, 4), language)
    assert [sentence for sentence in sentences if sentence not in text] == []


NOTHING_BESIDE = {
    "en": "None of these models was run on one card in the same run, so there is nothing to hold",
    "ko": "GPU 하나로는 이 모델들을 실행하지 않아, GPU 여러 개의 상한과 속도를 견줄 값이 없습니다.",
    "zh": "没有用单块 GPU 运行这些模型，多块 GPU 的上限和速度无从比较。",
}


@pytest.mark.parametrize("numbers", [(2, 4), (2,)])
@pytest.mark.parametrize("language", LANGUAGES)
def test_without_samples_on_one_card_the_section_says_so_once(language, numbers):
    text = section(pages(*numbers), language)
    assert text.count(NOTHING_BESIDE[language]) == 1 and not re.search("None(?! of)|undefined", text)
    rates, _ = tables(text)
    assert len(rates) == 2 * len(numbers)
    assert NOTHING_BESIDE[language] not in section(pages(1, *numbers), language)
    assert "쟀으므로 앞의 표" not in text and "以下只比较" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_receipts_account_for_each_number_and_list_nothing_as_unused(language):
    receipts = pages(1, 2, 4, 8)[f"{language}/here/receipts.md"]
    for number in (2, 4, 8):
        for name in ("rate", "ceiling", "beside-one.gain", "beside-one.gain_part", "beside-one.ceiling_part"):
            assert receipts.count(f'id="here.vllm.{MODEL}.on{number}.{name}"') == 1
        assert receipts.count(f'id="here.on{number}.bandwidth"') == 1
        assert receipts.count(f'id="here.cards.on{number}.share_high"') == 1
    assert receipts.count(f'id="here.vllm.{MODEL}.rate"') == 1
    assert Labels(language).get("receipt", "unused") not in receipts


LEAST = {"en": "the least of several traces", "ko": "여러 번 잰 것의 최솟값입니다", "zh": "多次测得，取最小值"}
WAITING = {
    "en": "waiting for another card included",
    "ko": "다른 GPU를 기다린 시간도 들어",
    "zh": "其中包括等待其他 GPU 的时间",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_least_exchange_is_told_as_such_where_every_trace_has_it(language):
    """0.2 of 1.0 ms is 20%; the median of 0.5 of 1.5 ms is 33%."""
    run = run_on(8, (1, 2, 4))
    for told, said, other, cell in ((False, WAITING, LEAST, "0.500 ms"), (True, LEAST, WAITING, "0.200 ms")):
        for text, sample in run.samples.items():
            if told and "step_kernel_time?" in text:
                sample.config.update(exchange_least_ms=0.2, kernels_least_ms=1.0)
        shown = section(render.pages(Results([run])), language)
        assert said[language] in shown and other[language] not in shown
        _, sums = tables(shown)
        assert sums[0][1][-1].startswith(cell) and ("20%" if told else "33%") in sums[0][1][-1]


UNLINKED = {
    "en": "It was not measured on this machine.",
    "ko": "이 기기에서 재지 않았습니다.",
    "zh": "这台机器上没有测量。",
}
OWN = {"en": "used an all-reduce of its own here", "ko": "자체 올리듀스를 썼습니다", "zh": "用的是自己的 all-reduce"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_link_that_was_not_measured_is_said_to_be_so_once(language):
    run = run_on(2, (1, 2))
    assert UNLINKED[language] not in section(render.pages(Results([run])), language)
    for text in [text for text in run.samples if text.startswith("link/")]:
        del run.samples[text]
    assert section(render.pages(Results([run])), language).count(UNLINKED[language]) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_whose_all_reduce_ran_is_said_where_the_samples_tell(language):
    run = run_on(2, (1, 2))
    assert OWN[language] not in section(render.pages(Results([run])), language)
    for text, sample in run.samples.items():
        if "rate" in text and "tensor_parallel" in text:
            sample.config["all_reduce_path"] = "CustomAllreduce, PyNcclCommunicator"
    assert OWN[language] in section(render.pages(Results([run])), language)
