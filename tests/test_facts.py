"""Facts: each one is used, each name stands once, and every label of a fact has a fact."""

import re

import pytest
from paths import RESULTS

from measure.store import load
from templates import config, render
from templates.claims import all_runs
from templates.labels import LANGUAGES
from templates.voice import Voice


def told():
    return render.tell(load(RESULTS))


def test_every_fact_is_printed_or_needed_by_one_that_is():
    """In some edition at least: an edition without a measurement prints what others do not.

    The method page does not count, as it prints every threshold there is; the pages of runs and of comparison do.
    """
    defined, used = set(), set()
    pages = render.pages(load(RESULTS)).items()
    others = "".join(text for path, text in pages if path.startswith(("en/runs/", "en/compare")))
    printed = set(re.findall(r'<a class="fact [^"]*" href="[^"]*#([^"]+)"', others))
    for each in told():
        voice = Voice("en")
        render.article(each, voice)
        needed = each.needed(voice.said | printed)
        for group in each.edition.all_groups():
            for fact in group.own_facts():
                name = (type(group).__name__, fact.name.rpartition(".")[2])
                defined.add(name)
                used |= {name} if fact.name in needed else set()
    assert sorted(defined - used) == []


def test_every_label_of_a_fact_has_a_fact():
    names = {name.rpartition(".")[2] for each in told() for name in each.edition.facts}
    assert sorted(set(config.labels()["fact"]) - names) == []


def test_every_claim_has_a_short_statement_in_every_language_and_there_are_no_others():
    """The receipts, the pages of runs and the comparison of editions print it, each within a cell or heading."""
    statements = config.labels()["claim"]
    assert set(statements) == set(told()[0].claims)
    of_all = config.labels()["claim_of_all"]
    assert set(of_all) == set(all_runs.CLAIMS) and not set(of_all) & set(statements)
    statements = statements | of_all
    for name, said in statements.items():
        assert set(said) == set(LANGUAGES), name
        assert all(text.strip() == text and text and text[-1] not in ".。" for text in said.values()), name
        assert len(set(said.values())) == len(LANGUAGES), f"{name}: one language stands for another"


def test_names_are_addresses():
    for each in told():
        assert all(name.replace(".", "").replace("-", "").replace("_", "").isalnum() for name in each.edition.facts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_label_tells_models_apart(language):
    """The engine stands beside the model where an edition has several, and only there."""
    voice, several = Voice(language), 0
    for each in told():
        said = render.Page(each, voice)._names()["model"]
        named = [said(model) for model in each.edition.models]
        assert len(named) == len(set(named)), each.edition.id
        engines = {model.engine for model in each.edition.models}
        several += len(engines) > 1
        for model, name in zip(each.edition.models, named, strict=True):
            assert (voice.engine(model.engine) in name) == (len(engines) > 1)
    assert several, "no edition has several engines"
