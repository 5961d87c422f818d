"""Tests that a fresh clone installs and runs: README's commands, pins, declared imports, licences, no local paths."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
SHARED = {"torch", "fleet", "test", "accuracy", "dev"}
"""Extras of the default environment; every other one is an engine with an environment of its own."""
IMPORTED_AS = {"hibari": "hibari-tts", "llama_cpp": "llama-cpp-python", "nemo": "nemo-toolkit"}
"""Names of packages that need not be installed here, where the module is called otherwise than the package."""
BY_HAND = {"nanovllm-voxcpm"}
"""What no extra can install: nano-vllm-voxcpm needs flash-attn, which has to be compiled for the PyTorch there is."""


def readme_command(name):
    """The code block that README.md marks with this name."""
    blocks = re.findall(
        rf"^<!-- command: {name} -->\n```bash\n(.+?)\n```$", (ROOT / "README.md").read_text(), re.M | re.S
    )
    assert len(blocks) == 1, f"README.md has {len(blocks)} code blocks marked '<!-- command: {name} -->', it needs one"
    return blocks[0]


@cache
def pins(environment):
    """Package and version of each line of a constraints file, comments left out."""
    lines = (ROOT / "constraints" / f"{environment}.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def requirements(*extras):
    """What an installation with these extras asks for, the project's own extras resolved."""
    found = [Requirement(line) for line in PROJECT["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, EXTRAS[extra]):
            own = canonicalize_name(requirement.name) == PROJECT["name"]
            found += requirements(*requirement.extras) if own else [requirement]
    return found


def closure(wanted):
    """Names of all packages that these requirements bring into this environment, read from what is installed."""
    names, todo = set(), [(canonicalize_name(r.name), frozenset(r.extras)) for r in wanted]
    while todo:
        name, extras = todo.pop()
        names.add(name)
        for requirement in map(Requirement, metadata.requires(name) or ()):
            marker = requirement.marker
            following = (canonicalize_name(requirement.name), frozenset(requirement.extras))
            applies = marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""})
            if applies and following[0] not in names:
                todo.append(following)
    return names


def tracked():
    """Files of the project, new ones too, but not what git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_commands_need_only_python_and_this_repository():
    for name, last in (("measure", "-m measure here --quick --serve"), ("test", "-m pytest -n auto")):
        steps = readme_command(name).split(" && ")
        assert steps[0] == "python3 -m venv .venv"
        assert steps[1].startswith(".venv/bin/python -m pip install -c constraints/default.txt -e '.[")
        assert steps[2:] == [f".venv/bin/python {last}"]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_pages_name_constraints_and_extras_that_exist(page):
    text = (ROOT / page).read_text()
    files = re.findall(r"-c (\S+)", text.replace("`-c`", ""))
    extras = [extra for names in re.findall(r"-e '\.\[(.+?)\]'", text) for extra in names.split(",")]
    assert files
    assert extras
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert set(extras) <= set(EXTRAS)


def test_workflows_install_with_the_constraints():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for line in re.findall(r"pip install (.+)", workflow.read_text()):
            named = re.search(r"(?:-c|--constraint)[ =](\S+)", line)
            assert named, f"{workflow.name}: 'pip install {line}' takes whatever versions are newest"
            assert (ROOT / named[1]).is_file(), f"{workflow.name}: {named[1]} does not exist"


def test_each_engine_has_a_constraints_file_of_its_own():
    assert {path.stem for path in (ROOT / "constraints").iterdir()} == {"default"} | (set(EXTRAS) - SHARED)


@pytest.mark.parametrize("environment", ["default", *sorted(set(EXTRAS) - SHARED)])
def test_constraints_are_exact_sorted_and_say_what_was_run(environment):
    lines = (ROOT / "constraints" / f"{environment}.txt").read_text().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert lines[: len(comments)] == comments
    assert re.search(r"\brun on\b", "\n".join(comments), re.I)
    rows = lines[len(comments) :]
    assert [row for row in rows if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*==[a-z0-9.]+", row)] == []
    names = [row.split("==")[0] for row in rows]
    assert names == sorted(set(names))


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_requirement_is_pinned_within_its_range(extra):
    pinned = pins("default" if extra in SHARED | {""} else extra)
    for requirement in requirements(*filter(None, [extra])):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} of extra {extra!r} has no pin"
        assert requirement.specifier.contains(version), f"{requirement} refuses its own pin {version}"


def test_default_constraints_pin_everything_that_gets_installed():
    assert closure(requirements("dev")) - set(pins("default")) == set()


def test_reading_does_not_need_torch():
    heavy = {"torch", "transformers", "numpy"} | {canonicalize_name(Requirement(r).name) for r in EXTRAS["vllm"]}
    assert closure(requirements()) & heavy == set()


def imports(path, whole):
    """Top names that a file imports: all of them, or only those that run when it is imported."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if whole else [node for top in tree.body for node in eager(top)]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def eager(node):
    """The node and what is below it that runs at import: no function bodies, nothing that only a type checker reads."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from eager(child)


def foreign(folder, whole):
    """Packages that the files of a folder import, each with one file that does, but for Python's and our own."""
    siblings = [*(ROOT / folder).glob("*.py"), *(ROOT / "hooks").glob("*.py")]
    own = {path.stem for path in siblings} | {"measure", "templates", "tests"}
    installed = metadata.packages_distributions()
    found = {}
    for path in sorted(set((ROOT / folder).rglob("*.py")) - set((ROOT / "tests" / "fakes").glob("*.py"))):
        for name in set(imports(path, whole)) - sys.stdlib_module_names - own:
            package = IMPORTED_AS.get(name) or installed.get(name, [name])[0]
            found[canonicalize_name(package)] = path.relative_to(ROOT)
    return found


@pytest.mark.parametrize(
    ("folder", "whole", "extras"),
    [
        ("templates", True, []),
        ("hooks", True, []),
        ("measure", False, []),
        ("measure", True, set(EXTRAS) - SHARED | {"torch", "fleet"}),
        ("tests", True, ["dev", "accuracy"]),
    ],
)
def test_every_import_is_declared(folder, whole, extras):
    declared = {canonicalize_name(requirement.name) for requirement in requirements(*extras)}
    missing = {name: str(path) for name, path in foreign(folder, whole).items() if name not in declared | BY_HAND}
    assert missing == {}, "declare these in pyproject.toml, in the base if the site needs them"


TOOLS = ("awk", "bash", "cat", "chmod", "dirname", "env", "grep", "id", "sh")
STAND_INS = {
    "chromium": "exit 0",
    "fc-list": "echo found",
    "python3": "exit 0",
    "sudo": 'shift; exec "$@"',
    "apt-get": 'echo "apt-get $*"',
}
"""Programs that .ci/run calls, and what they do in a test: nothing is installed, and a browser and fonts are there."""


@pytest.fixture
def checkout(tmp_path):
    """A folder with .ci/run, and the only programs that it finds, in bin/."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    for name, body in STAND_INS.items():
        stand_in(tmp_path, name, body)
    return tmp_path


def stand_in(checkout, name, body):
    """Puts a program that does this into a checkout's bin/."""
    program = checkout / "bin" / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


TESTED = "<!-- command: test -->\n```bash\necho tested\n```\n"


def ci(checkout, readme=TESTED):
    """Runs .ci/run in a checkout whose README.md has this text."""
    (checkout / "README.md").write_text(readme)
    environment = {"PATH": str(checkout / "bin")}
    return subprocess.run(
        ["bash", ".ci/run"], cwd=checkout, env=environment, capture_output=True, text=True, timeout=60
    )


def test_ci_installs_a_missing_browser_and_fonts(checkout):
    (checkout / "bin" / "chromium").unlink()
    stand_in(checkout, "fc-list", "exit 0")
    brings = "printf '#!/bin/sh\\necho found\\n' > bin/chromium; cat bin/chromium > bin/fc-list; chmod +x bin/chromium"
    stand_in(checkout, "apt-get", f'echo "apt-get $*"; {brings}')
    done = ci(checkout)
    assert done.returncode == 0, done.stderr
    assert "install -y -qq --no-install-recommends chromium fontconfig fonts-noto-cjk\n" in done.stdout
    assert done.stdout.endswith("tested\n")


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        ("chromium", None, "No Chromium found"),
        ("fc-list", "exit 0", "No font with Korean and Chinese"),
        ("python3", "exit 1", "older than 3.11 or lacks venv"),
    ],
)
def test_ci_fails_when_a_needed_thing_stays_missing(checkout, name, body, told):
    (checkout / "bin" / name).unlink()
    if body:
        stand_in(checkout, name, body)
    done = ci(checkout)
    assert done.returncode == 1
    assert told in done.stderr
    assert "tested" not in done.stdout


def test_ci_fails_when_nothing_can_be_installed(checkout):
    (checkout / "bin" / "chromium").unlink()
    stand_in(checkout, "apt-get", "exit 100")
    done = ci(checkout)
    assert done.returncode == 1
    assert "Could not install chromium" in done.stderr


def test_ci_runs_the_command_of_the_readme_and_no_other(checkout):
    other = "<!-- command: measure -->\n```bash\necho measured\n```\n"
    done = ci(
        checkout, f"{other}\n<!-- command: test -->\n```bash\npwd && echo tested\n```\n\n```bash\necho later\n```\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [str(checkout.resolve()), "tested"]
    assert "measured" not in done.stdout


def test_ci_fails_with_the_command(checkout):
    assert ci(checkout, "<!-- command: test -->\n```bash\nfalse && echo never\n```\n").returncode == 1


def test_ci_fails_without_a_command(checkout):
    done = ci(checkout, "<!-- command: tests -->\n```bash\ntrue\n```\n")
    assert done.returncode == 1
    assert "README.md has no code block" in done.stderr


def test_ci_is_executable_and_installs_only_what_pip_cannot():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert not re.search(r"pip install|pytest", script.read_text())


ELSEWHERE = {
    "a path of one machine": r"(?<![\w.$}>/*-])/(?:work|root|home/(?!ann/)\w+|Users/(?!ann/)\w+)/\w",
    "the host of a package registry": "|".join(
        ("py" + r"pi\.org", "python" + "hosted", r"npm" + r"js\.", r"deb\.de" + "bian", r"whl\.pyto" + "rch")
    ),
}
"""What must not stand in the project, by what it is; written so that this file passes its own test."""


@pytest.mark.parametrize("what", ELSEWHERE)
def test_nothing_names(what):
    found = []
    for path in tracked():
        if path.suffix in {".png", ".woff2", ".gz"} or path.name.endswith(".min.js"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if re.search(ELSEWHERE[what], line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_licences_are_in_place_and_named_alike():
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n\nCopyright (c) ")
    text = (ROOT / "LICENSE-CC-BY-4.0").read_text()
    assert text.startswith("Attribution 4.0 International\n")
    assert "Section 8 -- Interpretation." in text
    assert PROJECT["license"] == "MIT AND CC-BY-4.0"
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])


def test_citation_and_changelog_follow_the_version():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == PROJECT["version"]
    assert re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] in {
        "Unreleased",
        PROJECT["version"],
    }


def test_links_between_the_pages_work():
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text()):
            assert (ROOT / link).exists(), f"{page} links {link}, which does not exist"
