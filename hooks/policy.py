"""The site's content security policy: a page runs the scripts of the site's own files and the theme's, and no other.

The theme has a few short scripts within its pages. The policy names each by its hash, made from the theme's own
templates and never from a finished page: a script that came in through the text is not among them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Literal

import jinja2
from markupsafe import Markup
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)

EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""plotly.js adds an empty style element, and then its rules one by one, which no policy is asked about."""

DIRECTIVES = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "img-src": "'self' data:",
    "style-src": f"'self' {EMPTY_STYLE}",
    "worker-src": "'self'",
}
"""What else a page may load, and where from. docs/decisions/content-security-policy.md says why."""

_serving = False


def on_startup(command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
    """Learns whether pages are built for `mkdocs serve`, or to be published."""
    global _serving
    _serving = command == "serve"


def on_env(env: jinja2.Environment, config: MkDocsConfig, files: Files) -> jinja2.Environment:
    """Gives templates the filter that overrides/main.html makes the policy with."""
    env.filters["content_security_policy"] = content_security_policy
    return env


def content_security_policy(theme: str) -> Markup:
    """The policy for a page with the scripts within `theme`, the text of the theme's templates that hold some.

    While serving, MkDocs adds a script of its own to each page that differs each time, so no hash can name it: then all
    scripts within pages are allowed.
    """
    hashes = sorted({source_hash(script) for script in SCRIPT.findall(theme)})
    scripts = " ".join(["'self'", *(["'unsafe-inline'"] if _serving else hashes)])
    return Markup("; ".join(f"{name} {sources}" for name, sources in {**DIRECTIVES, "script-src": scripts}.items()))


def source_hash(script: str) -> str:
    """A script as a policy names it, by its SHA-256."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
