"""The link between cards: bytes over time, a sum that is right, processes that end; through gloo, on the processor."""

import dataclasses
import time
from pathlib import Path

import pytest
import torch
from msgspec.structs import replace
from tiny import failures, session  # noqa: F401  # a fixture

from measure import doctor, limits, link, registry, spread
from measure.keys import parse_key
from measure.link import Order
from measure.results import Machine
from measure.store import load


@pytest.fixture
def two(session, monkeypatch):  # noqa: F811
    """A session on a host that says it has two cards, whose parts all run on the processor."""
    monkeypatch.setattr(link, "COPY_BYTES", 2**20)
    monkeypatch.setattr(link, "LARGE_BYTES", 2**16)
    monkeypatch.setattr(link, "CALLS", {link.SMALL_BYTES: 3, 2**16: 2})
    copies, sums = link._copies, link.all_reduce
    monkeypatch.setattr(link, "_copies", lambda here, there, ways: copies("cpu", "cpu", ways))
    monkeypatch.setattr(link, "all_reduce", lambda order: sums(order._replace(where="cpu", graphs=False)))
    machine = replace(session.machine, device="cuda", accelerators=2)
    return dataclasses.replace(session, machine=machine)


def test_every_planned_key_is_recorded(two):
    """Two processes each, one a card."""
    link.measure(two)
    run = load(two.results).runs[0]
    assert {str(item) for item in link.plan(two)} == set(run.samples)
    sums = {text: sample for text, sample in run.samples.items() if "all_reduce" in text}
    assert {sample.config["nvlink_multicast"] for sample in sums.values()} == {"off"}
    assert {sample.config["cards"] for sample in sums.values()} == {2}
    assert {len(sample.values) for sample in run.samples.values()} == {link.REPEATS}
    assert {verdict.status for verdict in limits.verdicts(run).values()} <= {"accepted", "suspect"}


def test_what_is_planned_tells_pairs_directions_and_sizes(session):  # noqa: F811
    def planned(cards):
        return {
            str(item)
            for item in link.plan(dataclasses.replace(session, machine=replace(session.machine, accelerators=cards)))
        }

    sums = {
        "link/all_reduce_time?bytes=8192&graphs=off",
        "link/all_reduce_time?bytes=8192&graphs=on",
        "link/all_reduce_bandwidth?bytes=268435456",
    }
    assert planned(2) == {"link/copy?to=1&ways=1", "link/copy?to=1&ways=2"} | sums
    third = {"link/copy?to=2&ways=1", "link/copy?to=2&ways=2"}
    assert planned(3) == planned(2) | third | {"link/all_reduce_time?bytes=8192&cards=2&graphs=on"}
    assert {text for text in planned(8) if "cards=" in text} == {
        f"link/all_reduce_time?bytes=8192&cards={cards}&graphs=on" for cards in (2, 4)
    }


def test_a_sum_over_fewer_cards_is_made_by_as_many_processes(two, monkeypatch):
    orders = []
    monkeypatch.setattr(link, "all_reduce", lambda order: orders.append(order) or [0.001])
    four = dataclasses.replace(two, machine=replace(two.machine, accelerators=4))
    link.measure(four)
    samples = load(four.results).runs[0].samples
    assert [order.cards for order in orders] == [4, 4, 4, 2]
    assert samples["link/all_reduce_time?bytes=8192&cards=2&graphs=on"].config["cards"] == 2


@pytest.mark.parametrize(("device", "cards"), [("cuda", 1), ("cpu", 0)])
def test_with_fewer_than_two_cards_it_says_so(session, device, cards):  # noqa: F811
    alone = dataclasses.replace(session, machine=replace(session.machine, device=device, accelerators=cards))
    link.measure(alone)
    assert set(failures(alone).values()) == {("unsupported", "needs two cards or more")}
    assert len(failures(alone)) == len(link.plan(alone)) == 5


@pytest.mark.parametrize(
    ("device", "cards", "can"), [("cpu", 0, False), ("mps", 1, False), ("cuda", 1, False), ("cuda", 2, True)]
)
def test_the_doctor_says_that_one_card_has_no_link(tmp_path, device, cards, can):
    found = doctor.examine(Machine("m", device, accelerators=cards), {"link": registry.get("link")}, tmp_path)[-1]
    told = "can be measured" if can else "cannot be measured on this machine: needs two cards or more"
    assert found == ("link", can, told)


def test_a_copys_rate_counts_each_byte_once_in_each_direction(monkeypatch):
    monkeypatch.setattr(link, "COPY_BYTES", 10**9)
    monkeypatch.setattr(link, "_pair", lambda here, there: (torch.ones(1), torch.full((1,), link.FILLED)))
    monkeypatch.setattr(link, "_copy_seconds", lambda pairs, queues, places: 2.0)
    assert link._copies("cpu", "cpu", 1)[0] == [link.COPIES / 2] * link.REPEATS
    assert link._copies("cpu", "cpu", 2)[0] == [link.COPIES] * link.REPEATS


def test_a_copy_that_did_not_arrive_is_no_rate(monkeypatch):
    monkeypatch.setattr(link, "COPY_BYTES", 64)
    monkeypatch.setattr(link, "_copy_seconds", lambda pairs, queues, places: 1.0)
    with pytest.raises(ArithmeticError, match="does not hold what was copied"):
        link._copies("cpu", "cpu", 1)


@pytest.mark.parametrize(("cards", "moved"), [(2, 100), (4, 150), (8, 175)])
def test_the_bytes_of_an_all_reduce_are_those_of_nccl_tests(cards, moved):
    """2 (n - 1) / n times its size: 1, 1.5 and 1.75 times."""
    assert link.bus_bytes(100, cards) == moved


def test_an_all_reduce_is_told_in_milliseconds_or_as_a_rate(monkeypatch):
    monkeypatch.setattr(link, "all_reduce", lambda order: [0.002])
    assert link._sums("all_reduce_time", Order(2, link.SMALL_BYTES, "cpu", False))[0] == [2.0]
    rate, told = link._sums("all_reduce_bandwidth", Order(4, link.LARGE_BYTES, "cpu", False))
    assert rate == [pytest.approx(2**28 * 1.5 / 0.002 / 1e9)]
    assert (told["calls"], told["backend"]) == (10, "gloo")
    assert Order(2, 1, "cuda", False).backend == "nccl"


def hang(rank, order, folder):
    Path(folder, f"begun-{rank}").touch()
    time.sleep(600)


def crash(rank, order, folder):
    raise RuntimeError(f"process {rank} could not")


def test_processes_that_hang_are_ended():
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="2 processes made no all-reduce within 2 s"):
        link.all_reduce(Order(2, 64, "cpu", False, 1), 2.0, hang)
    assert time.monotonic() - start < 60


def test_a_process_that_fails_tells_why():
    with pytest.raises(Exception, match="could not"):
        link.all_reduce(Order(2, 64, "cpu", False, 1), 60.0, crash)


def test_what_fails_is_recorded_and_the_rest_goes_on(two, monkeypatch):
    def late(order):
        raise TimeoutError("no all-reduce")

    monkeypatch.setattr(link, "all_reduce", late)
    link.measure(two)
    assert {reason for reason, _ in failures(two).values()} == {"crashed"} and len(failures(two)) == 3
    assert two.load(parse_key("link/copy?to=1&ways=2")) is not None


def test_multicast_is_off_where_there_are_several_cards(monkeypatch):
    for name in spread.NO_MULTICAST:
        monkeypatch.setenv(name, "1")
    assert spread.without_multicast(1) == {}
    assert link.spread.os.environ["NCCL_NVLS_ENABLE"] == "1"
    assert spread.without_multicast(2) == {"nvlink_multicast": "off"}
    assert {name: spread.os.environ[name] for name in spread.NO_MULTICAST} == spread.NO_MULTICAST
