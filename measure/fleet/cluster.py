"""A Ray cluster: joined or started, its machines listed, tasks sent to them. The only file that knows Ray.

What Ray says of an error names machines and their addresses; of it only the type's name leaves this file.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import re
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from measure import invocation
from measure.results import ResultsError

AUTO = "auto"
CLIENT = "ray://"
ANSWER_S = 5.0
OBJECTS_BYTES = 128 * 2**20
"""Memory for what tasks pass on, in a Ray that is started here: some kilobytes a sample."""

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # reports to nobody
    "RAY_worker_niceness": "0",  # by default tasks yield to everything else on the machine
}
"""Environment of a Ray that is started here."""

JOINING = {"RAY_NUM_REDIS_GET_RETRIES": "5"}
"""Environment in which a cluster is joined: attempts, one a second. Ray's own 20 are of no use at what answered."""

ERRORS = 2
"""The descriptor of this process's standard error."""

MOST_SAID = 2**16
"""Bytes of it that are looked at."""

REFUSED = b"InvalidAuthToken"
"""What Ray writes there of a token that the cluster does not take, or that is not given; it raises no error of it."""

TOKEN = "Set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what `ray get-auth-token` prints on its head."


class Node(NamedTuple):
    """A machine of the cluster, as Ray knows it."""

    id: str
    """Ray's name of it: random, and another whenever Ray is started there."""
    cpus: float
    gpus: float
    """Processors and cards that it offers."""


class Left(Exception):
    """The machine left the cluster before its task had ended."""


class Failed(Exception):
    """A task could not be carried out. The message is of our own wording and names no machine."""


@dataclass(eq=False)
class Stream:
    """What a task yields, as it comes."""

    node: Node
    answers: Any


@contextmanager
def joined(address: str) -> Iterator[Cluster]:
    """The cluster at an address, or one of this machine alone that ends with the block.

    Raises ResultsError without Ray, and for an address that cannot be joined. The standard output is closed meanwhile:
    Ray writes on it what its processes say of each other.
    """
    if importlib.util.find_spec("ray") is None:
        raise ResultsError(f"Ray is not installed, which `fleet` needs. `{invocation.install('fleet')}` brings it.")
    os.environ.update(SETTINGS)
    if not address:
        # Without these, Ray would leave a token in the home folder, which clusters started later then ask for.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    else:
        os.environ.update(JOINING)
        if _has_token():  # Ray itself would give it to `auto` alone, although a head that finds one asks for it
            os.environ.setdefault("RAY_AUTH_MODE", "token")
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        ray = importlib.import_module("ray")
        try:
            _join(ray, address)
            yield Cluster(ray, address)
        finally:
            ray.shutdown()


def _has_token() -> bool:
    """Whether a token is where Ray looks for one."""
    told = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    return told or (Path.home() / ".ray" / "auth_token").is_file()


def _join(ray: Any, address: str) -> None:  # noqa: ANN401 (a module)
    needs = f"Ray {ray.__version__} and Python {platform.python_version()}"
    cure = f"Run this on a machine of the cluster, all with {needs}, and give HEAD:PORT or auto."
    if address.startswith(CLIENT):
        raise ResultsError(f"--address {address}: through Ray's client nothing can be streamed back. {cure}")
    if address not in ("", AUTO) and not _answers(address):
        raise ResultsError(f"--address {address}: nothing answers there. {cure}")
    own = {} if address else {"include_dashboard": False, "object_store_memory": OBJECTS_BYTES}
    code = {"py_modules": [str(Path(__file__).parents[1])], "excludes": ["__pycache__"]}
    with _errors_aside() as said:
        try:
            ray.init(address or "local", runtime_env=code, log_to_driver=False, logging_level="ERROR", **own)
        except Exception as error:
            raise ResultsError(_why(type(error).__name__, said(), address, cure)) from None


def _why(error: str, said: bytes, address: str, cure: str) -> str:
    """Why there is no cluster, and the cure: from the name of an error and what was written beside it."""
    if not address:
        return f"a local Ray cannot be started ({error}). `ray start --head` tells more."
    if error == "AuthenticationError" or REFUSED in said:
        return f"--address {address}: the cluster there asks for a token, and none that it takes is found. {TOKEN}"
    return f"--address {address}: no cluster can be joined there ({error}). {cure}"


@contextmanager
def _errors_aside() -> Iterator[Callable[[], bytes]]:
    """Keeps from the terminal what Ray writes as errors, once a second; yields what reads the beginning of it."""
    usual = os.dup(ERRORS)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), ERRORS)
        try:
            yield lambda: os.pread(file.fileno(), MOST_SAID, 0)
        finally:
            os.dup2(usual, ERRORS)
            os.close(usual)


def _answers(address: str) -> bool:
    """Whether anything does: asked here, since Ray goes on asking for a quarter of an hour."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), ANSWER_S).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


class Cluster:
    """The machines of a cluster and the tasks on them."""

    def __init__(self, ray: Any, address: str) -> None:  # noqa: ANN401 (a module)
        self.ray = ray
        self.alone = not address

    def nodes(self) -> list[Node]:
        """Those that offer a processor or a card: one that offers neither, as some heads do, is not for tasks."""
        found = [_node(told) for told in self.ray.nodes() if told["Alive"]]
        return sorted(node for node in found if node.cpus or node.gpus)

    def start(self, node: Node, function: Callable[[bytes], Iterator[bytes]], order: bytes, whole: bool) -> Stream:
        """Start a generator function on a machine, and on no other.

        Args:
            whole: let nothing else of the cluster run there meanwhile; waits until that is so.
        """
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        # A process that has asked the card's driver must not be the one that measures: it keeps the cards it saw first.
        remote = self.ray.remote(function) if whole else self.ray.remote(max_calls=1)(function)
        task = remote.options(
            num_cpus=node.cpus if whole else 0,
            num_gpus=node.gpus if whole else 0,
            max_retries=0,
            num_returns="streaming",
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        return Stream(node, task.remote(order))

    def ready(self, streams: Sequence[Stream], patience_s: float) -> list[Stream]:
        """Those that have something new or have ended; waits for the first."""
        waiting = [stream.answers for stream in streams]
        if not waiting:
            return []
        found, _ = self.ray.wait(waiting, num_returns=1, timeout=patience_s)
        return [stream for stream in streams if any(stream.answers is answers for answers in found)]

    def take(self, stream: Stream) -> bytes | None:
        """What is new; None at the end. Raises Left if the machine is gone, Failed for another end before the end."""
        try:
            answer: bytes = self.ray.get(next(stream.answers))
        except StopIteration:
            return None
        except Exception as error:
            if self._gone(stream.node, error):
                raise Left from None
            raise Failed(_told(error)) from None
        return answer

    def cancel(self, stream: Stream) -> None:
        """Ask a task to end; its stream ends when it has."""
        self.ray.cancel(stream.answers)

    def _gone(self, node: Node, error: Exception) -> bool:
        if type(error).__name__ in ("NodeDiedError", "TaskUnschedulableError"):
            return True
        return not any(told["Alive"] and told["NodeID"] == node.id for told in self.ray.nodes())


def _node(told: dict[str, Any]) -> Node:
    resources = told["Resources"]
    return Node(told["NodeID"], resources.get("CPU", 0), resources.get("GPU", 0))


def _told(error: Exception) -> str:
    """What failed, without anything that Ray or a machine says but the name of a type or of a missing package."""
    lacking = re.search(r"No module named '([\w.]+)'", str(error))
    if lacking:
        return f"{lacking[1]} is not installed there"
    cause = getattr(error, "cause", None) or error
    return f"the task there failed with {type(cause).__name__}"
