"""How long the methods of an object take, found out by calling them through a clock while others use the object.

For packages whose own loop runs a model's parts: the loop stays as it is, and each part's calls are timed from outside.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from measure import timing

Method = Callable[..., Any]

Parts = Mapping[str, tuple[tuple[object, str], ...]]
"""Name of each part, and the methods that make it up: the object and the method's name."""


@contextmanager
def replaced(owner: object, name: str, made: Callable[[Method], Method]) -> Iterator[None]:
    """Inside, `owner.name` is what `made` makes of it."""
    own = name in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, made(getattr(owner, name)))
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


class Stopwatch:
    """Seconds in each part since the last `reset`. A part inside another counts for itself alone."""

    def __init__(self, device: str) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._device = device
        self._inside: list[float] = []
        """For each call that is going on, the seconds that calls within it took."""

    def reset(self) -> None:
        self.seconds.clear()
        self.calls.clear()

    @contextmanager
    def on(self, parts: Parts) -> Iterator[None]:
        """Time these methods inside. The device is waited for at both ends of a call, so that it is the call's own."""
        with ExitStack() as stack:
            for part, methods in parts.items():
                for owner, name in methods:
                    stack.enter_context(replaced(owner, name, lambda method, part=part: self._timed(part, method)))  # type: ignore[misc]
            yield

    def _timed(self, part: str, method: Method) -> Method:
        def timed(*args: object, **kwargs: object) -> object:
            start = self._now()
            self._inside.append(0.0)
            try:
                return method(*args, **kwargs)
            finally:
                taken = self._now() - start
                self.seconds[part] += taken - self._inside.pop()
                self.calls[part] += 1
                if self._inside:
                    self._inside[-1] += taken

        return timed

    def _now(self) -> float:
        timing.synchronize(self._device)
        return time.perf_counter()


@contextmanager
def marked(owner: object, name: str, mark: Callable[[int], object]) -> Iterator[None]:
    """Inside, `mark` is told of each call of `owner.name` just before it, by its number from 0."""
    count = 0

    def made(method: Method) -> Method:
        def told(*args: object, **kwargs: object) -> object:
            nonlocal count
            mark(count)
            count += 1
            return method(*args, **kwargs)

        return told

    with replaced(owner, name, made):
        yield
