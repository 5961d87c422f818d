"""Which run was begun on which machine, so that a run is never gone on with on another of the same kind.

Kept in a hidden file beside the results, which never learn it: by Ray's own names of machines, which are random and
last as long as Ray runs there. A Ray that was started here is always this machine.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from measure.fleet.cluster import Cluster, Node
from measure.results import ResultsError

ALONE = "this machine"


class Ledger:
    """The machines of a results file's runs, in one cluster."""

    def __init__(self, results: Path, cluster: Cluster) -> None:
        self.place = results.with_name(f".{results.name}.fleet")
        self.alone = cluster.alone

    def runs(self, node: Node) -> list[str]:
        """The runs that were begun on a machine."""
        return [run_id for run_id, begun_on in self._read().items() if begun_on == self._name(node)]

    def note(self, run_id: str, node: Node) -> None:
        """Remember on which machine a run begins. Raises ResultsError where that cannot be written."""
        try:
            self.place.write_bytes(msgspec.json.encode({**self._read(), run_id: self._name(node)}))
        except OSError as error:
            cure = "Make room, or take away what stands there, then run again."
            raise ResultsError(f"{self.place.name}: cannot be written ({error.strerror}). {cure}") from None

    def _name(self, node: Node) -> str:
        return ALONE if self.alone else node.id

    def _read(self) -> dict[str, str]:
        """Empty where there is no such file, or none that can be read: then runs begin anew."""
        try:
            return msgspec.json.decode(self.place.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return {}
