"""What is said of a model spread over two cards follows from samples made by hand, in each outcome."""

import pytest
from hosts import MODEL, of_model, run_on, sample

from measure.results import Machine, Results, Run, Sample
from templates import claims
from templates.config import Told
from templates.facts.edition import Edition

HOST = Machine("2 x a card", "cuda", "a processor", memory_bytes=2**34, accelerators=2)


SAMPLES = {
    "bandwidth/sum": sample("GB/s", 4000.0),
    "bandwidth/copy": sample("GB/s", 3900.0),
    "bandwidth/sum?card=1": sample("GB/s", 3600.0),
    "bandwidth/copy?card=1": sample("GB/s", 3800.0),
    "matmul/throughput?dtype=bf16&n=8192": sample("TFLOPS", 700.0),
    "matmul/throughput?card=1&dtype=bf16&n=8192": sample("TFLOPS", 600.0),
    "link/copy?to=1&ways=1": sample("GB/s", 380.0),
    "link/copy?to=1&ways=2": sample("GB/s", 700.0),
    "link/all_reduce_time?bytes=8192&graphs=on": sample("ms", 0.01, cards=2, nvlink_multicast="off"),
    "link/all_reduce_time?bytes=8192&graphs=off": sample("ms", 0.02, cards=2, nvlink_multicast="off"),
    "link/all_reduce_bandwidth?bytes=268435456": sample("GB/s", 350.0),
    **of_model(1, 200.0, 10_000.0, 8.0),
    **of_model(2, 250.0, 15_000.0, 8.4),
}


def edition(more=(), less="none", told=None):
    kept = {text: made for text, made in SAMPLES.items() if less not in text}
    two = Run("two", "executed", HOST, "2026-11-01", {**kept, **dict(more)})
    one = Run("one", "executed", Machine("a card", "cuda"), "2026-11-01", {})
    return Edition("x", told or Told(models="one", cards="two"), Results([one, two]))


def outcomes(told):
    judged = claims.judge(told)
    return tuple(judged[name].outcome.value for name in ("cards_raise_ceiling", "cards_raise_speed"))


def test_the_bandwidths_of_the_cards_add_up_each_by_its_own_best_kernel():
    cards = edition().cards
    together = cards.alone.together
    assert (cards.alone.number, cards.machine.bandwidth.value) == (2, 4000)
    assert together.bandwidth.value == 4000 + 3800
    assert together.compute_in("bf16").value == 700 + 600
    assert [cards.machine.heading, *(each.heading for each in (*cards.others, together))] == [
        "machine",
        "card",
        "together",
    ]
    assert [fact.name for fact in together.own_facts()] == ["two.on2.bandwidth"]


def test_a_ceiling_is_the_summed_bandwidth_over_the_bytes_that_all_cards_hold():
    """4,000 / 8 and 7,800 / 8.4 tokens a second; what both cards have whole is in the bytes of each."""
    (model,) = edition().cards.models
    assert model.one.ceiling.value == pytest.approx(500)
    assert model.several.ceiling.value == pytest.approx(7800 / 8.4)
    assert model.ceiling_gain.value == pytest.approx(7800 / 8.4 / 500)
    assert model.ceiling_part.to("%").value == pytest.approx(100 * 7800 / 8.4 / 1000)


def test_what_is_reached_of_either_ceiling_and_how_much_faster_two_cards_are():
    (model,) = edition().cards.models
    assert (model.gain.value, model.widest_gain.value) == (1.25, 1.5)
    assert model.one.share.to("%").value == pytest.approx(100 * 8 * 200 / 4000)
    assert model.several.share.to("%").value == pytest.approx(100 * 8.4 * 250 / 7800)
    overall = edition().cards.alone
    assert (overall.speed_gain_low.value, overall.share_high.value) == (1.25, pytest.approx(100 * 8.4 * 250 / 7800))


def test_shares_are_compared_for_models_that_decoded_both_ways():
    """One that did so on two cards alone, and reached 99% there, does not count."""
    alone = {text.replace("4b", "1.7b"): made for text, made in of_model(2, 920.0, 1.0, 8.4).items()}
    told = edition(alone).cards
    assert len(told.models) == 2 and told.one_share_low.value == told.one_share_high.value
    assert told.alone.share_low.value == told.alone.share_high.value == pytest.approx(100 * 8.4 * 250 / 7800)


def test_the_sums_of_a_step_are_two_a_layer():
    """36 layers: 72 sums of 0.01 ms in a step of 4 ms; of the profiled kernels, 0.5 ms pass data between the cards."""
    (model,) = edition().cards.models
    assert (model.sums.value, model.sums_time.to("ms").value) == (72, pytest.approx(0.72))
    assert model.sums_share.to("%").value == pytest.approx(18)
    assert (model.exchange.to("ms").value, model.exchange_share.to("%").value) == (0.5, pytest.approx(100 / 3))


def test_the_kernels_that_multiply_are_told_from_those_that_each_card_runs_whole():
    """0.8 and 0.5 ms of matrix products; 0.1 + 0.2 and 0.1 + 0.1 ms of all others but the exchange."""
    less = {"matmul_ms": 0.5, "attention_ms": 0.1, "other_ms": 0.1, "copy_ms": 0.0, "exchange_ms": 0.5}
    told = edition(
        {f"decode_vllm/{MODEL}/step_kernel_time?tensor_parallel=2": sample("ms", 1.2, cards=2, **less)}
    ).cards
    (model,), (number,) = told.models, told.profiled
    assert (model.matmul_gain.value, model.rest_gain.value) == (pytest.approx(1.6), pytest.approx(1.5))
    assert number.matmul_gain_low.value == number.matmul_gain_high.value == pytest.approx(1.6)
    assert number.rest_gain_low.value == number.rest_gain_high.value == pytest.approx(1.5)
    assert edition(less="step_kernel").cards.profiled == []


@pytest.mark.parametrize(("way", "own"), [("CustomAllreduce, PyNcclCommunicator", True), ("PyNcclCommunicator", False)])
def test_whose_all_reduce_ran_is_what_the_samples_tell(way, own):
    text = f"decode_vllm/{MODEL}/rate?requests=1&tensor_parallel=2"
    assert edition({text: sample("tok/s", 250.0, cards=2, all_reduce_path=way)}).cards.own_sums is own
    assert not edition().cards.own_sums


def traced(model="4b", cards=2, **config):
    text = f"decode_vllm/{MODEL.replace('4b', model)}/step_kernel_time?tensor_parallel={cards}"
    return {text: sample("ms", 1.5, cards=cards, exchange_ms=0.75, **config)}


def test_the_exchange_is_the_least_over_the_traces_where_it_was_recorded():
    """0.3 of 1.2 ms, beside a median of 0.75 of 1.5 ms."""
    told = edition(traced(exchange_least_ms=0.3, kernels_least_ms=1.2)).cards
    (model,) = told.models
    assert told.by_least and model.exchange.value == 0.3
    assert model.exchange_share.to("%").value == pytest.approx(25)


def test_a_table_has_the_median_of_all_where_the_least_of_one_is_not_known():
    smaller = {text.replace("4b", "1.7b"): made for text, made in of_model(2, 400.0, 1.0, 3.0).items()}
    least = traced(exchange_least_ms=0.3, kernels_least_ms=1.2)
    told = edition({**smaller, **least}).cards
    assert not told.by_least
    assert [each.exchange.value for each in told.models] == [0.75, 0.5]
    told = edition({**smaller, **least, **traced("1.7b", exchange_least_ms=0.2, kernels_least_ms=1.0)}).cards
    assert told.by_least and [each.exchange.value for each in told.models] == [0.3, 0.2]


def test_the_exchange_bears_the_doubts_of_the_trace():
    spread = Sample("ms", [1.5, 4.4, 3.9, 1.5, 3.4], "2026-11-01", "x", {"exchange_ms": 0.75})
    (model,) = edition({f"decode_vllm/{MODEL}/step_kernel_time?tensor_parallel=2": spread}).cards.models
    assert model.exchange.value == 0.75
    assert model.exchange.doubts and model.exchange.doubts == model.several.step_kernels.doubts


def test_the_link_is_told():
    link = edition().cards.link
    told = [*link.one_way, *link.both_ways, link.small_sum, link.launched_sum, link.bus]
    assert [quantity.value for quantity in told] == [380, 700, 0.01, 0.02, 350]
    assert (link.small.to("KiB").value, link.multicast) == (8, "off")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ({}, ("holds", "refuted")),  # 7,800 / 8.4 over 4,000 / 8: 93% of double; 1.25 times: 62%
        (of_model(2, 330.0, 1.0, 8.0), ("holds", "holds")),  # 1.65 times: 82%
        (of_model(2, 330.0, 1.0, 11.0), ("refuted", "holds")),  # 71% of double
        ({"bandwidth/sum?card=1": sample("GB/s", 900.0), "bandwidth/copy?card=1": sample("GB/s", 900.0)},
         ("refuted", "refuted")),
    ],
)  # fmt: skip
def test_more_cards_raise_the_ceiling_and_the_speed_or_they_do_not(samples, expected):
    assert outcomes(edition(samples)) == expected


@pytest.mark.parametrize("less", ["tensor_parallel=2", "rate?requests=1&", "loaded_weights?"])
def test_without_the_samples_nothing_is_concluded(less):
    assert outcomes(edition(less=less))[1 if less.startswith("rate") else 0] == "undecided"


def test_a_second_card_that_was_not_measured_leaves_the_sum_unmeasured():
    told = edition(less="card=1")
    assert not told.cards.alone.together.bandwidth.measured
    assert outcomes(told) == ("undecided", "refuted")


def test_without_cards_in_the_edition_there_is_nothing_but_the_reason():
    alone = edition(told=Told(models="one"))
    assert (alone.cards.models, alone.cards.numbers, alone.cards.groups) == ([], [], [])
    assert outcomes(alone) == ("undecided", "undecided")
    assert not alone.cards.one_share_low.measured


def test_the_runs_models_are_those_on_one_card_and_all_samples_are_asked_for():
    """Also where the same run tells of both: then no fact is there twice."""
    told = edition(told=Told(models="two"))
    assert [(model.subject, model.cards) for model in told.models] == [(MODEL, 1)]
    assert [batch.requests for batch in told.models[0].batches] == [1, 64]
    assert told.cards.models[0].one is told.models[0]
    assert told.facts and list(told.unused_samples()) == []
    assert list(edition().unused_samples()) == [] and edition().models == []


# Several numbers of cards


def several(*numbers, cards=8, models=(MODEL,), more=()):
    run = run_on(cards, numbers, models)
    run.samples.update(more)
    return Edition("x", Told(models="here"), Results([run]))


def test_each_number_of_cards_is_held_against_one():
    """Ceilings of 8 GB: 500 tokens a second for each 4,000 GB/s."""
    told = several(1, 2, 4, 8).cards
    assert [(each.several.cards, each.several.ceiling.value) for each in told.models] == [
        (2, 1000),
        (4, 2000),
        (8, 4000),
    ]
    assert [each.gain.value for each in told.models] == pytest.approx([1.65, 2.5, 2.8])
    assert [each.gain_part.to("%").value for each in told.models] == pytest.approx([82.5, 62.5, 35])
    assert [each.widest_gain.value for each in told.models] == [2, 4, 8]
    assert {each.one for each in told.models} == {told.models[0].one}
    assert told.alone is None and [each.number for each in told.numbers] == [2, 4, 8]
    assert [each.together.bandwidth.value for each in told.numbers] == [8000, 16000, 32000]
    assert [each.ceiling_gain_high.value for each in told.numbers] == [2, 4, 8]
    assert [each.share_low.to("%").value for each in told.numbers] == pytest.approx([33, 25, 14])


def test_models_stand_together_with_the_fewest_cards_first():
    told = several(1, 2, 4, models=("qwen3-4b-bf16", "qwen3-0.6b-bf16")).cards
    assert [[(each.several.subject, each.several.cards) for each in spreads] for spreads in told.by_model] == [
        [("qwen3-4b-bf16", 2), ("qwen3-4b-bf16", 4)],
        [("qwen3-0.6b-bf16", 2), ("qwen3-0.6b-bf16", 4)],
    ]
    assert [each for spreads in told.by_model for each in spreads] == told.models


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [((1, 2), ("holds", "holds")), ((1, 2, 4), ("holds", "refuted")), ((2, 4), ("undecided", "undecided"))],
)
def test_conclusions_are_drawn_from_each_number_of_cards(numbers, expected):
    told = several(*numbers)
    assert outcomes(told) == expected
    judged = claims.judge(told)["cards_raise_speed"].truth
    assert [made.left.name for made in judged.comparisons] == [
        f"here.vllm.{MODEL}.on{number}.beside-one.gain_part" for number in numbers if number > 1
    ]
    assert judged.counted == (judged.total if 1 in numbers else 0)


def test_one_number_that_falls_short_refutes():
    """Weights that 8 cards hold whole raise the ceiling 8 * 8 / 11 times."""
    assert outcomes(several(1, 2, 8, more=of_model(8, 560.0, 1.0, 11.0)))[0] == "refuted"


@pytest.mark.parametrize("numbers", [(1, 2, 4, 8), (2, 4), (4,), (1,), ()])
def test_every_sample_is_asked_for_whatever_was_run(numbers):
    """Also the ceilings of cards, and the links to them, on which no model ran."""
    told = several(*numbers)
    assert list(told.unused_samples()) == []
    assert len(told.facts) == len(set(told.facts))


def test_the_sums_of_a_step_take_what_they_take_over_as_many_cards():
    """The sum over 8 cards is not what 2 take."""
    two, eight = several(1, 2, 8).cards.models
    assert eight.sums_time.to("ms").value == pytest.approx(72 * 0.005)
    assert not two.sums_time.measured and "cards=2" in two.sums_time.absences[0].what
    fewer = {"link/all_reduce_time?bytes=8192&cards=2&graphs=on": sample("ms", 0.003, cards=2)}
    told = several(1, 2, 8, more=fewer)
    assert [each.sums_time.to("ms").value for each in told.cards.models] == pytest.approx([72 * 0.003, 72 * 0.005])
    assert list(told.unused_samples()) == []


def test_copies_to_each_other_card_are_told():
    link = several(1, 2).cards.link
    assert [quantity.value for quantity in link.one_way] == [380 - card for card in range(1, 8)]
    assert [quantity.value for quantity in link.both_ways] == [700 - card for card in range(1, 8)]
    assert link.cards == 8
