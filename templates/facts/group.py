"""A group of facts about one thing: methods marked `@fact` become named quantities, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, TypeVar, overload

from templates.quantity import Digits, Quantity

G = TypeVar("G", bound="Group")


class Group:
    """Facts that share a path. `path` begins every fact's name; the method's name ends it."""

    heading = ""
    """The group's entry in labels.toml."""

    fact_names: tuple[str, ...] = ()
    """Names of its facts, in the order they are written."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        written = tuple(name for name, member in vars(cls).items() if isinstance(member, Fact))
        cls.fact_names = tuple(dict.fromkeys(cls.fact_names + written))

    def __init__(self, path: str, **named: object) -> None:
        self.path = path
        self.named = {name: str(value) for name, value in named.items()}
        """What stands in the heading's braces."""

    def parts(self) -> Iterator[Group]:
        """Groups that belong to this one."""
        return iter(())

    def walk(self) -> Iterator[Group]:
        """This group and all that belong to it."""
        yield self
        for part in self.parts():
            yield from part.walk()

    def own_facts(self) -> Iterator[Quantity]:
        """The facts of this group, in the order they are written."""
        for name in self.fact_names:
            yield getattr(self, name)

    def among(self, names: Container[str]) -> list[Quantity]:
        """The facts of this group that are among `names`; no other is made."""
        return [getattr(self, name) for name in self.fact_names if f"{self.path}.{name}" in names]

    def facts(self) -> Iterator[Quantity]:
        """All facts of this group and of its parts."""
        yield from self.own_facts()
        for part in self.parts():
            yield from part.facts()


class Fact:
    """The descriptor behind `@fact`."""

    def __init__(self, method: Callable[[Any], Quantity], spelled: str, digits: Digits) -> None:
        self.method, self.spelled, self.digits = method, spelled, digits
        self.name = method.__name__
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, group: None, owner: type[Group]) -> Fact: ...
    @overload
    def __get__(self, group: Group, owner: type[Group]) -> Quantity: ...
    def __get__(self, group: Group | None, owner: type[Group]) -> Quantity | Fact:
        if group is None:
            return self
        made: Quantity = self.method(group).named(f"{group.path}.{self.name}", self.spelled, self.digits)
        # From now on it is found there, and this method is not asked.
        group.__dict__[self.name] = made
        return made


def fact(
    spelled: str, *, decimals: int | None = None, significant: int | None = 3
) -> Callable[[Callable[[Any], Quantity]], Fact]:
    """Make a method a fact shown in the unit `spelled`, with decimal places or significant figures."""
    digits = Digits(decimals, None if decimals is not None else significant)
    return lambda method: Fact(method, spelled, digits)


class Over:
    """One fact of several groups at once: `over.step.encoder_time` is the list of it, for a page to say its range."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups

    def __getattr__(self, name: str) -> Over | list[Quantity]:
        found = [getattr(group, name) for group in self._groups]
        return Over(found) if found and isinstance(found[0], Group) else found
