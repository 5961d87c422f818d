"""`nvbandwidth -j`: copies within a card and between host and card in decimal GB/s, each a median of repetitions.

`device_local_copy` counts each byte that is copied once, though it is read and written; the project's `bandwidth/copy`
counts both, so it is twice the tool's figure. Copies between host and card keep the tool's names and definition, one
byte counted once, under `nvbandwidth`. Tests of several cards at once, bidirectional ones (three matrices in one) and
latencies are left out. The file does not say the size of the buffers: it is demanded, since one that fits a cache
measures the cache; so is the card where there are several. Host names are in the file, and are not kept.
Source: NVIDIA/nvbandwidth, json_output.cpp, testcases_ce.cpp, testcases_sm.cpp and nvbandwidth.cpp, v0.8.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from measure.importers.reading import Configuration, Entry, Reading, Text, alone, typed
from measure.importers.settings import Given, Setting
from measure.importers.source import Document
from measure.keys import Key, key
from measure.results import ResultsError, Summary

TOOL = "nvbandwidth"
NAMES = frozenset({"nvbandwidth"})

LOCAL_COPY = "device_local_copy"
HOST_COPIES = tuple(
    f"{direction}_memcpy_{engine}" for direction in ("host_to_device", "device_to_host") for engine in ("ce", "sm")
)
"""Each measured alone: one row, a figure for each card."""

READ_AND_WRITTEN = 2
UNIT = "(GB/s)"
PASSED = "Passed"
ABSENT = "N/A"

BUFFER_MIB = Setting("buffer_mib", "512", r"[1-9][0-9]{0,6}", "the size of --bufferSize in MiB; its default is 512")
GPU = Setting("gpu", "0", r"0|[1-9][0-9]?", "the number of the card to take, from 0")


class Testcase(msgspec.Struct, frozen=True):
    """One test: its figures by row and column, written as text."""

    name: Text
    status: Text
    bandwidth_description: Text = ""
    bandwidth_matrix: list[list[Text]] | None = None

    def figure(self, gpu: int, cards: int, where: str) -> float | None:
        """GB/s of one card; None if it was not measured. Raises ResultsError for a matrix of another form."""
        where = f"{where}: {self.name}"
        if self.status != PASSED or not self.bandwidth_matrix:
            return None
        if not self.bandwidth_description.endswith(UNIT):
            raise ResultsError(f"{where}: is not described as being in {UNIT}. Import the tool's file unchanged.")
        if [len(row) for row in self.bandwidth_matrix] != [cards]:
            raise ResultsError(f"{where}: is not one row of {cards} figures. Import the tool's file unchanged.")
        text = self.bandwidth_matrix[0][gpu]
        return None if text == ABSENT else _number(text, where)


def _number(text: str, where: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?", text) or not float(text) > 0:
        raise ResultsError(f"{where}: {text[:40]!r} is no bandwidth above zero. Measure again.")
    return float(text)


class Content(msgspec.Struct, frozen=True, rename={"devices": "GPU Device list", "driver": "Driver Version"}):
    """What stands below the file's one name."""

    version: Text
    devices: list[Text]
    testcases: list[Testcase]
    driver: Text = ""
    error: str = ""

    def settings(self, where: str) -> tuple[Sequence[Setting], Sequence[Setting]]:
        return ((BUFFER_MIB, GPU), ()) if len(self.devices) > 1 else ((BUFFER_MIB,), (GPU,))

    def read(self, given: Given, where: str) -> Reading:
        if self.error:
            raise ResultsError(f"{where}: ended with an error ({self.error[:100]}). Measure again.")
        gpu = given.number(GPU) if GPU in given else 0
        if gpu >= len(self.devices):
            raise ResultsError(f"{where}: --set gpu={gpu}: it has {len(self.devices)} cards, numbered from 0.")
        found: list[Entry] = []
        notes: list[str] = []
        for test in self.testcases:
            figure = self._taken(test, gpu, where)
            if figure is None:
                notes.append(f"left out: {test.name}")
            else:
                found.append(_entry(test.name, figure, given))
        return Reading(
            found,
            _card(self.devices[gpu], where),
            "cuda",
            driver=self.driver,
            versions={"nvbandwidth": self.version},
            notes=notes,
        )

    def _taken(self, test: Testcase, gpu: int, where: str) -> float | None:
        if test.name != LOCAL_COPY and test.name not in HOST_COPIES:
            return None
        return test.figure(gpu, len(self.devices), where)


def _entry(name: str, gb_per_s: float, given: Given) -> Entry:
    config: Configuration = {"buffer_bytes": given.number(BUFFER_MIB) * 2**20, "test": name}
    if name == LOCAL_COPY:
        return Entry(key("bandwidth", "copy"), "GB/s", summary=Summary(READ_AND_WRITTEN * gb_per_s), config=config)
    return Entry(Key("nvbandwidth", "", name), "GB/s", summary=Summary(gb_per_s), config=config)


def _card(line: str, where: str) -> str:
    """The name in `0: NVIDIA H200 (00000000:01:00): (host)`."""
    named = re.match(r"[0-9]+: (.{1,100}?) \([0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\)", line)
    if not named:
        raise ResultsError(f"{where}: GPU Device list does not name a card. Import the tool's file unchanged.")
    return named[1]


class File(msgspec.Struct, frozen=True):
    """The file's content."""

    nvbandwidth: Content


def decode(documents: Sequence[Document], where: str) -> Content:
    return typed(alone(documents, TOOL, where), File, TOOL, where).nvbandwidth
