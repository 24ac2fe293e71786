"""docs/architecture.md names files, functions and classes that exist, and packages as the contracts order them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/architecture.md").read_text()
SOURCES = (ROOT / "config", ROOT / "workers", ROOT / "supervisor")
ROOTS = (*SOURCES, ROOT)

FILE = re.compile(r"(?<![\w./-])((?:[\w-]+/)+[\w-]+\.(?:py|lua|sql|md))(?:::([\w.]+))?")
SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMPOUND = re.compile(r"\b(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[a-z]+(?:_[a-z]+)+)\b")
LUA_FUNCTION = re.compile(r"\bfunction\s+(?:[\w]+\.)?(\w+)|\b(\w+)\s*=\s*function\b")
FOREIGN = {"OpenTelemetry"}  # names of others
SETTINGS_FILES = {"supervisor.toml", "pyproject.toml"}


def found(path: str) -> Path | None:
    """The file or folder of that path, which leaves out its source root."""
    return next((root / path for root in ROOTS if (root / path).exists()), None)


@cache
def defined_in(path: Path) -> frozenset[str]:
    """The functions and classes of a file, those of classes as `Class.name`."""
    if path.suffix == ".lua":
        return frozenset(name for both in LUA_FUNCTION.findall(path.read_text()) for name in both if name)
    if path.suffix != ".py":
        return frozenset()
    return frozenset(_defined(ast.parse(path.read_text()), ""))


def _defined(node: ast.AST, within: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield within + name
                yield from _defined(child, f"{within}{name}.")
            case ast.Assign(targets=targets):
                yield from (within + target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield within + name
            case _:
                yield from _defined(child, within)


@cache
def words_of_the_tree() -> frozenset[str]:
    """Names of files, folders, functions, classes and fields, and the words that scripts and enumerations spell out."""
    words: set[str] = set()
    for source in SOURCES:
        for path in source.rglob("*"):
            words.add(path.stem)
            if path.suffix in {".lua", ".py"}:
                words.update(part for name in defined_in(path) for part in name.split("."))
                words.update(re.findall(r"""["']([A-Za-z]\w*)["']""", path.read_text()))
    return frozenset(words)


def missing(text: str) -> list[str]:
    """Every file, symbol and word of code in `text` that is not in the tree."""
    return [*_missing_files(text), *_missing_words(text)]


def _missing_files(text: str) -> Iterator[str]:
    for path, symbol in FILE.findall(text):
        file = found(path)
        if file is None:
            yield path
        elif symbol and symbol not in defined_in(file):
            yield f"{path}::{symbol}"
    for span in SPAN.findall(FENCE.sub("", text)):
        if span.endswith("/") and found(span) is None:
            yield span


def _missing_words(text: str) -> Iterator[str]:
    without_files = FILE.sub("", re.sub(r"\]\([^)]*\)", "]", text))
    spans = {span for span in SPAN.findall(FENCE.sub("", without_files)) if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", span)}
    named = {part for span in spans - SETTINGS_FILES for part in span.split(".")} | set(COMPOUND.findall(without_files))
    yield from sorted(named - words_of_the_tree() - FOREIGN)


def test_every_file_and_symbol_exists() -> None:
    assert len(FILE.findall(TEXT)) > 80
    assert missing(TEXT) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`holdfastd/core/plam.py`", "holdfastd/core/plam.py"),
        ("`holdfastd/core/decisions.py::decided`", "holdfastd/core/decisions.py::decided"),
        (
            "`holdfastd/steward/steward_process.py::Steward.begone`",
            "holdfastd/steward/steward_process.py::Steward.begone",
        ),
        ("`holdfastd/dutiez/`", "holdfastd/dutiez/"),
        ("`TaskMonger`", "TaskMonger"),
        ("a ChildMonger forks", "ChildMonger"),
        ("schedule_phire: generation", "schedule_phire"),
    ],
)
def test_a_name_that_is_not_there_is_noticed(text: str, wrong: str) -> None:
    assert missing(text) == [wrong]


def layers(container: str) -> list[set[str]]:
    """The layers of a package, highest first, as its contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [wanted] = [contract for contract in contracts if contract.get("containers") == [container]]
    return [set(layer.split(" | ")) for layer in wanted["layers"]]


@pytest.mark.parametrize("package", ["holdfast", "holdfastd", "holdfast.store"])
def test_the_table_of_a_package_has_the_layers_of_its_contract(package: str) -> None:
    [table] = re.findall(rf"^\| in `{re.escape(package)}`.*\n\|---.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert [set(SPAN.findall(row.split(" | ")[0])) for row in table.splitlines()] == layers(package)


def test_each_glossary_word_is_explained_once() -> None:
    tables = re.findall(r"^\| word .*\n\|---.*\n((?:\|.*\n)+)", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    words = [row.strip("| ").split(" | ")[0] for table in tables for row in table.splitlines()]
    assert len(words) == len(set(words)) > 40


def _journeys() -> dict[str, str]:
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    return {section.partition("\n")[0]: section for section in sections if section[0].isdigit()}


JOURNEYS = {  # the most Python files that a reader may have to open on the way
    "1. A pushed envelope becomes a record": 10,
    "2. A worker dies and its task runs again": 12,
    "3. A submit becomes a record": 7,
    "4. A setting reaches the code that uses it": 8,
    "5. A schedule fires": 5,
    "6. An operator retries a task": 9,
}
NUMBERS = {5: "five", 7: "seven", 8: "eight", 9: "nine", 10: "ten", 12: "twelve"}


def test_each_journey_has_a_picture_and_says_how_many_files_it_enters() -> None:
    journeys = _journeys()
    assert list(journeys) == list(JOURNEYS)
    for title, journey in journeys.items():
        steps = journey.partition("\nOther cases:")[0]
        files = set(re.findall(r"`([\w/]+\.py)\b", steps))
        assert "```mermaid" in steps
        assert len(files) <= JOURNEYS[title], sorted(files)
        assert f"{NUMBERS[len(files)]} Python files." in steps
