"""Labels: the short texts of labels.toml in one language. A label that is missing is an error, never a blank."""

from __future__ import annotations

from templates import config

LANGUAGES = ("ko", "en", "zh")
"""Languages of the site; the first is the default."""


class Labels:
    """The labels of one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def get(self, section: str, name: str) -> str:
        """The label `name` of a section. Raises ConfigError if it, or its text in this language, is missing."""
        try:
            return config.labels()[section][name][self.language]
        except KeyError:
            place = f"templates/labels.toml [{section}] {name}"
            what = f"{place}: no text in {self.language!r}. Add the label in all languages."
            raise config.ConfigError(what) from None

    def section(self, section: str) -> dict[str, str]:
        """All labels of a section by name. Raises ConfigError if one, or its text in this language, is missing."""
        return {name: self.get(section, name) for name in config.labels().get(section, {})}

    def has(self, section: str, name: str) -> bool:
        return name in config.labels().get(section, {})

    def filled(self, section: str, name: str, **words: object) -> str:
        """The label with its braces filled. Raises ConfigError if it has others."""
        try:
            return self.get(section, name).format(**words)
        except (KeyError, IndexError, ValueError):
            place = f"templates/labels.toml [{section}] {name}"
            what = f"{place}: braces in {self.language!r} are not among {', '.join(words)}. Correct the label."
            raise config.ConfigError(what) from None
