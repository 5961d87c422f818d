"""The measurements of `fakes`, and one that takes its time, to test what carries measurements out on other machines."""

from pathlib import Path

__path__.append(str(Path(__file__).parent.with_name("fakes")))
