"""Where the project's files are, for tests."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results.json"
DOCS = ROOT / "docs"
TEMPLATES = ROOT / "templates"
