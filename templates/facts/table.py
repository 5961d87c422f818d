"""A group whose facts are the lines of a data file: thresholds that words stand for, figures that others published."""

from __future__ import annotations

from templates import config
from templates.facts.group import Group
from templates.quantity import Digits, Kind, Quantity, constant


class Table(Group):
    """One fact for each line `name = { value, unit, source, place }` of a data file, as an attribute of its name."""

    file = ""
    kind = Kind.GIVEN

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._facts: dict[str, Quantity] = {}
        for name, line in config.lines(self.file).items():
            source = ", ".join(part for part in (line.source, line.place) if part)
            made = constant(line.number, line.unit, f"{path}.{name}", source, self.kind)
            self._facts[name] = made.named(f"{path}.{name}", line.unit, Digits(line.places, None))
        self.fact_names = tuple(self._facts)

    def __getattr__(self, name: str) -> Quantity:
        try:
            return self.__dict__["_facts"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise config.ConfigError(f"templates/{self.file}: no line {name!r}. Add it, or correct the name.") from None


class Thresholds(Table):
    """What the words of claims mean, so that a page can print them."""

    heading = "thresholds"
    file = "thresholds.toml"


class Evidence(Table):
    """What papers, model cards and vendors say."""

    heading = "evidence"
    file = "evidence.toml"
    kind = Kind.CITED
