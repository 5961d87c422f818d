"""Where the time of a call goes: a stopwatch that named calls inside it switch from stage to stage.

Every moment belongs to exactly one stage, so the stages add up to the whole. The device is waited for at each switch,
since what is in its queue is not done: this adds to the time, most where a stage is short and many follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from measure import timing

OTHER = "other"
"""The stage in which everything is that belongs to no other."""


class Switch(NamedTuple):
    """A call that begins a stage: the attribute `name` of `owner`."""

    owner: object
    name: str
    stage: str
    after: str = OTHER
    """The stage that begins when the call returns; the same stage if it goes on."""


class Stopwatch:
    """Adds up seconds by stage."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._seconds: dict[str, float] = {}
        self._stage, self._since = OTHER, 0.0
        self.switches = 0
        """How often it was switched, and so the device waited for."""

    def time(self, work: Callable[[], object]) -> dict[str, float]:
        """Seconds of each stage of a call, `OTHER` among them."""
        timing.synchronize(self._device)
        self._seconds, self.switches = {OTHER: 0.0}, 0
        self._stage, self._since = OTHER, time.perf_counter()
        work()
        self.enter(OTHER)
        return self._seconds

    def enter(self, stage: str) -> None:
        """End the stage that is, and begin this one."""
        timing.synchronize(self._device)
        now = time.perf_counter()
        self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now
        self.switches += 1

    @contextmanager
    def switched_by(self, switches: list[Switch]) -> Iterator[None]:
        """While inside, these calls switch the stage."""
        with ExitStack() as undo:
            for switch in switches:
                switching = self._switching(switch)
                undo.callback(_restore, switch, vars(switch.owner).get(switch.name, _ABSENT))
                setattr(switch.owner, switch.name, switching)
            yield

    def _switching(self, switch: Switch) -> Callable[..., Any]:
        call = getattr(switch.owner, switch.name)

        def switching(*given: object, **named: object) -> object:
            self.enter(switch.stage)
            result = call(*given, **named)
            if switch.after != switch.stage:
                self.enter(switch.after)
            return result

        return switching


_ABSENT = object()
"""Stands for an attribute that the owner has from its class."""


def _restore(switch: Switch, attribute: object) -> None:
    if attribute is _ABSENT:
        delattr(switch.owner, switch.name)
    else:
        setattr(switch.owner, switch.name, attribute)
