"""What a configuration holds: what was measured along with a sample is no better than it; a setting stands."""

import pytest

from measure.keys import parse_key
from measure.limits import Verdict
from measure.results import Machine, Run, Sample
from templates.facts.samples import Samples

TEXT = "decode_vllm/qwen3-4b-bf16/step_kernel_time"
WANTED = parse_key(TEXT)
CONFIG = {"matmul_ms": 1.5, "prompt_tokens": 32}
JUDGED = {
    "accepted": Verdict("accepted"),
    "suspect": Verdict("suspect", "trend", also=(Verdict("suspect", "spread_wide"),)),
    "rejected": Verdict("rejected", "clock"),
}


class Judging:
    """Verdicts that say the same of every sample."""

    def __init__(self, status):
        self.status = status

    def on(self, run):
        return dict.fromkeys(run.samples, JUDGED[self.status])


def samples(status, config=CONFIG):
    sample = Sample("ms", [2.0] * 5, "2026-11-01", "python -m measure run x", dict(config))
    run = Run("a", "executed", Machine("a card", "cuda"), "2026-11-01", {TEXT: sample})
    return Samples("a", run, Judging(status))


@pytest.mark.parametrize(
    ("status", "value", "doubts"),
    [("accepted", 1.5, ()), ("suspect", 1.5, ("trend", "spread_wide")), ("rejected", None, ())],
)
def test_what_was_measured_along_with_a_sample_is_judged_as_the_sample_is(status, value, doubts):
    of, found = samples(status).get(WANTED, "ms"), samples(status).noted(WANTED, "matmul_ms", "ms")
    assert (found.value, found.doubts) == (value, doubts)
    assert (of.measured, of.doubts, of.absences) == (found.measured, found.doubts, found.absences)


@pytest.mark.parametrize("status", JUDGED)
def test_a_setting_stands_whatever_the_verdict(status):
    found = samples(status).configured(WANTED, "prompt_tokens", "tok")
    assert (found.value, found.doubts) == (32, ())


@pytest.mark.parametrize("status", ["accepted", "suspect"])
def test_what_was_not_noted_is_missing_and_in_no_doubt(status):
    found = samples(status, {"matmul_ms": "1.5"}).noted(WANTED, "matmul_ms", "ms")
    assert (found.value, found.doubts, found.absences[0].reason) == (None, (), "not_recorded")


def test_of_a_sample_that_is_not_there_nothing_was_noted():
    found = samples("suspect").noted(parse_key(f"{TEXT}?tensor_parallel=2"), "matmul_ms", "ms")
    assert (found.value, found.absences[0].reason) == (None, "not_run")
