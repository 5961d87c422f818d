"""A group of facts about one thing: methods marked `@fact` become named quantities, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar, overload

from templates.quantity import Digits, Quantity

G = TypeVar("G", bound="Group")


class Group:
    """Facts that share a path. `path` begins every fact's name; the method's name ends it."""

    heading = ""
    """The group's entry in labels.toml."""

    fact_names: ClassVar[tuple[str, ...]] = ()
    """Names of its facts, in the order they are written."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        written = tuple(name for name, member in vars(cls).items() if isinstance(member, Fact))
        cls.fact_names = tuple(dict.fromkeys(cls.fact_names + written))

    def __init__(self, path: str, **named: object) -> None:
        self.path = path
        self.named = {name: str(value) for name, value in named.items()}
        """What stands in the heading's braces."""
        self._facts: dict[str, Quantity] = {}

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
            yield self._facts[name] if name in self._facts else getattr(self, name)

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
        if self.name not in group._facts:
            made = self.method(group)
            group._facts[self.name] = made.named(f"{group.path}.{self.name}", self.spelled, self.digits)
        return group._facts[self.name]


def fact(
    spelled: str, *, decimals: int | None = None, significant: int | None = 3
) -> Callable[[Callable[[Any], Quantity]], Fact]:
    """Make a method a fact shown in the unit `spelled`, with decimal places or significant figures."""
    digits = Digits(decimals, None if decimals is not None else significant)
    return lambda method: Fact(method, spelled, digits)
