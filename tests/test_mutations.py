"""The cases would notice a fault: a rule that never fires, a threshold that moves, a line that is wrong."""

from __future__ import annotations

import dataclasses
import sys
import types
from pathlib import Path

import msgspec
import pytest
from test_limits import rejected_are_no_limits
from verdicts import wrong

from measure import limits
from measure.limits import RULES, thresholds, verdicts
from measure.limits.case import Verdict

FOLDER = Path(limits.__file__).parent
FILES = (
    "thresholds", "entries", "case", "implied", "ceilings", "clocks", "order", "process", "repeats", "tokens", "units",
    "rules", "__init__",
)  # fmt: skip
"""Files of the package, each after those that it imports."""

THRESHOLDS = sorted(name for name in vars(thresholds) if name.isupper())


def red(judge):
    """Whether the cases notice that something is wrong with `judge`."""
    return bool(wrong(judge)) or not rejected_are_no_limits(judge)


def test_the_cases_hold_without_a_fault():
    assert not red(verdicts)


def test_every_file_of_the_package_can_be_mutated():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(FILES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("status", ["accepted", None])
def test_a_rule_that_never_fires_turns_a_case_red(monkeypatch, rule, status):
    """One that accepts everything, and one that does not apply to anything."""
    silent = dataclasses.replace(rule, judge=lambda case: Verdict(status) if status else None)
    monkeypatch.setattr(limits, "RULES", tuple(silent if entry is rule else entry for entry in RULES))
    assert wrong(verdicts)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_that_always_fires_turns_a_case_red(monkeypatch, rule):
    strict = dataclasses.replace(
        rule,
        judge=lambda case: (
            found and msgspec.structs.replace(found, status="rejected") if (found := rule.judge(case)) else None
        ),
    )
    monkeypatch.setattr(limits, "RULES", tuple(strict if entry is rule else entry for entry in RULES))
    assert wrong(verdicts)


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("direction", [1, -1], ids=["up", "down"])
def test_a_threshold_that_moves_turns_a_case_red(monkeypatch, name, direction):
    """By two in a hundred, or by one where it counts something."""
    value = getattr(thresholds, name)
    moved = value + direction if isinstance(value, int) else value * 1.02**direction
    monkeypatch.setattr(thresholds, name, moved)
    limits.repeats._needed.cache_clear()
    found = red(verdicts)
    limits.repeats._needed.cache_clear()
    assert found


MUTATIONS = [
    ("case", '"GiB": 2.0**30', '"GiB": 1e9'),
    ("case", "return self.best(\"bandwidth\", *KERNELS) or self.best", "return self.best"),
    ("case", "return self.best(\"matmul\", \"throughput\") or self.best", "return self.best"),
    ("case", 'or self.best("datasheet", "bandwidth")', ""),
    ("case", 'or self.best("datasheet", "throughput")', ""),
    ("case", "median / cards(self.samples[text])", "median"),
    ("case", '("sum", "copy", "triad")', '("copy", "triad")'),
    ("case", "first = max(", "first = min("),
    ("case", "(self.key.measurement, decoding)", "(decoding,)"),
    ("case", "(self.key.measurement, decoding)", "(self.key.measurement,)"),
    ("case", "text = str(Key(measurement, ", 'text = str(Key("decode_transformers", '),
    ("case", 'f"decode_{', 'f"peer_{'),
    ("case", "fits = not dtype or", "fits = True or"),
    ("case", "SECONDS = {\"s\": 1.0, \"ms\": 1e-3}", "SECONDS = {\"s\": 1.0, \"ms\": 1.0}"),
    ("case", '"TFLOPS": -1', '"TFLOPS": 1'),
    ("case", '"s": 1, "ms": 1', '"s": -1, "ms": 1'),
    ("implied", "rate / per_step", "rate"),
    ("implied", "min(requests or 0.0, slots or requests or 0.0)", "requests or 0.0"),
    ("implied", "at_once * _per_step(case)", "at_once"),
    ("implied", "1 / _per_step(case)", "1.0"),
    ("implied", "counted / _per_step(case)", "counted"),
    ("implied", "passes * per_s", "per_s"),
    ("implied", "loaded is not None and part is None", "loaded is not None"),
    ("implied", 'case.text("dtype") or ', ""),
    ("implied", "part if part is not None else ", ""),
    ("implied", "_share(case) * loaded", "loaded"),
    ("implied", "_share(case) * counted", "counted"),
    ("implied", "case.key.quantity in TEXT or", ""),
    ("implied", ' or case.beside("parameters_without_embeddings") is not None', ""),
    ("implied", '"output_rate", ', ""),
    ("implied", ', "output_rate_under_load"', ""),
    ("implied", ', "prefill_rate_at_depth"', ""),
    *(("implied", f'    "{name}",\n', "") for name in (
        "step_kernel_time", "step_time", "buffered_step_time", "buffered_step_kernel_time", "patch_time",
        "patch_kernel_time", "first_audio",
    )),
    ("implied", "weight_bytes + told.at_once * _cache_read(case)", "weight_bytes + _cache_read(case)"),
    ("implied", "weight_bytes + told.at_once * _cache_read(case)", "weight_bytes"),
    ("implied", "long) / 2, 0)", "long) / 2, -1e9)"),
    ("implied", "prompt + ((short or 0) + long) / 2", "prompt"),
    ("implied", "prompt + ((short or 0) + long) / 2", "((short or 0) + long) / 2"),
    ("implied", 'long if long is not None else case.number("output_tokens")', "long"),
    ("ceilings", ", (moved.key,), moved.kept)", ", (moved.key,))"),
    ("implied", 'else float("inf")', "else 1.0"),
    ("implied", "2 * parameters[1].median", "parameters[1].median"),
    ("ceilings", "and not ceiling.narrow", ""),
    ("ceilings", "narrower = is_narrow(", "narrower = (lambda _: True)("),
    ("ceilings", "ceiling.of(case.cards)", "ceiling.value"),
    ("ceilings", "if factor <= 1 else", "if factor < 1 else"),
    ("ceilings", "device != machine.device", "False"),
    ("ceilings", "name not in machine.name", "False"),
    ("ceilings", "name not in machine.name", "name != machine.name"),
    ("ceilings", "cards > machine.accelerators", "cards > machine.accelerators + 1"),
    ("ceilings", "cards > machine.accelerators", "cards >= machine.accelerators"),
    ("implied", "median / tokens if tokens else None", "None"),
    ("implied", "tokens * per_s if tokens else None", "None"),
    ("implied", '"prefill_time", ', ""),
    ("implied", '"first_token", ', ""),
    ("implied", '"first_token_under_load", ', ""),
    ("implied", ', "short_prompt_kernel_time"', ""),
    ("ceilings", 'if case.run.machine.device == "cpu":', "if False:"),
    ("ceilings", 'compute is None and case.key.quantity != "rate"', "False"),
    ("ceilings", "and _is_slow(case)", ""),
    ("ceilings", "return max(shares", "return min(shares"),
    ("tokens", "each * (case.number(\"requests\") or 1)", "each"),
    ("tokens", 'each if each is not None else case.number("output_tokens")', "each"),
    ("tokens", "if produced == asked", "if produced >= asked"),
    ("tokens", "if produced == asked", "if produced <= asked"),
    ("tokens", "if produced == 0:", "if False:"),
    ("tokens", '"accepted" if distinct else "rejected"', '"accepted"'),
    ("tokens", '"accepted" if distinct else "rejected"', '"rejected"'),
    ("tokens", '"rejected" if cached else "accepted"', '"accepted"'),
    ("tokens", '"rejected" if cached else "accepted"', '"rejected"'),
    ("tokens", "scored != recordings", "scored == recordings"),
    ("tokens", "if empty and case.sample.median == 0", "if empty"),
    ("tokens", "if empty and case.sample.median == 0", "if case.sample.median == 0"),
    ("order", "if len(at_odds[text]) <= len(partners)", ""),
    ("order", "if len(at_odds[text]) <= len(partners)", "if len(at_odds[text]) < len(partners)"),
    ("order", "else member.number / value", "else value"),
    ("order", ', "utterance_time": "patches"', ""),
    ("order", '"utterance_time": "patches"', '"utterance_time": "tokens"'),
    ("order", "fastest.sample.interval[0] / fastest.number > case.sample.interval[1]", "False"),
    ("order", "fastest.sample.interval[0] / fastest.number > case.sample.interval[1]", "share > case.sample.median"),
    ("order", "member.number > 1 and same", "member.number > 1"),
    ("order", "first + gaps * gap", "first + gap"),
    ("repeats", "or times[0] <= max(times[1:])", ""),
    ("repeats", "if len(values) == 2 else", "if False else"),
    ("repeats", 'if case.number("warmups") == 0 else', "if True else"),
    ("repeats", "apart = high_end < low or low_end > high", "apart = True"),
    ("repeats", "high_end < low or low_end > high", "high_end < low"),
    ("repeats", "high_end < low or low_end > high", "low_end > high"),
    ("repeats", "abs(change)", "change"),
    ("repeats", "min(told, 100 - told)", "100 - told"),
    ("repeats", 'case.number("observations") or case.sample.count', "case.sample.count"),
    ("repeats", 'case.number("observations") or case.sample.count', 'case.number("observations")'),
    ("repeats", "count * beyond < 1", "count * beyond < 0"),
    ("repeats", "none + one", "none"),
    ("repeats", "told == MEDIAN or", ""),
    ("clocks", '"hw_slowdown", ', ""),
    ("clocks", 'if verdict.status == "suspect"), told', "), told"),
    ("process", "case.sample.unit not in SLOWER", "False"),
    ("process", '"suspect" if told', '"suspect" if not told'),
    ("units", "(1.024**2, \"suspect\"), ", ""),
    ("units", "for exact in (mistake, 1 / mistake)", "for exact in (mistake,)"),
    ("units", "if factor > 1 else", "if factor < 1 else"),
    ("units", "is_narrow(case.key.subject", "(lambda _: False)(case.key.subject"),
    ("__init__", "                kept.pop(text, None)", "                pass"),
]  # fmt: skip


def mutated(monkeypatch, name, right, wrong):
    """`verdicts` of a fresh copy of the package in which one line of one file is wrong."""
    package = types.ModuleType("measure.limits")
    package.__path__ = [str(FOLDER)]
    monkeypatch.setitem(sys.modules, "measure.limits", package)
    for file in FILES:
        source = (FOLDER / f"{file}.py").read_text(encoding="utf-8")
        if file == name:
            assert source.count(right) >= 1, "the line has changed: change the mutation with it"
            source = source.replace(right, wrong)
        module = package if file == "__init__" else types.ModuleType(f"measure.limits.{file}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        setattr(package, file, module)
        exec(compile(source, f"{file}.py", "exec"), module.__dict__)
    return package.verdicts


@pytest.mark.parametrize(("name", "right", "wrong"), MUTATIONS)
def test_a_fault_turns_a_case_red(monkeypatch, name, right, wrong):
    assert red(mutated(monkeypatch, name, right, wrong))


def test_a_copy_without_a_fault_is_green(monkeypatch):
    assert not red(mutated(monkeypatch, "", "", ""))
