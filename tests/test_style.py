"""Tests that the code is formatted, lints and type-checks, each with the one command of CONTRIBUTING.md."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("command", ["ruff format --diff", "ruff check", "mypy"])
def test_no_complaint_from(command):
    done = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
