"""The distribution has one name everywhere, and nothing tells anybody to install another project's package."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from holdfast.version import DISTRIBUTION, installed

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.yaml")]
FOLDERS = (".ci", "config", "examples", "supervisor", "systemd", "workers")
FILES = [
    file
    for folder in FOLDERS
    for file in ROOT.glob(f"{folder}/**/*")
    if file.is_file() and file.suffix not in (".pyc", ".woff2")
]
TEXTS = {str(file.relative_to(ROOT)): file.read_text() for file in [*FILES, *PAGES, ROOT / "Makefile"]}

INSTALL = re.compile(r"\b(?:pip install|pipx install|pipx run|uv add|uv tool install|uvx)\b([^`#)\n]*)")
NAME = re.compile(r"(?<![\w./:-])holdfast(?:-supervisor)?(?![\w./:@-])(?:\[[\w,]+\])?")
WITH_EXTRA = re.compile(r"\bholdfast\[[\w,]+\]")
EXTRAS = re.compile(r"(?:holdfast-supervisor|\.|\.whl\)?)\[([\w,]+)\]")


def asked_of_the_index(text: str) -> list[str]:
    """Our names where pip would look for them on the index; a checkout or a wheel is a path."""
    return [name for words in INSTALL.findall(text) for name in NAME.findall(words)]


def strangers(text: str) -> list[str]:
    """The parts of a text that would have the public index's `holdfast` installed."""
    return [name for name in asked_of_the_index(text) if not name.startswith(DISTRIBUTION)] + WITH_EXTRA.findall(text)


def test_the_name_is_that_of_the_project_file() -> None:
    assert PROJECT["name"] == DISTRIBUTION == "holdfast-supervisor"
    assert installed() == version(PROJECT["name"]) == PROJECT["version"]


def test_no_text_has_another_projects_package_installed() -> None:
    assert {file: found for file, text in TEXTS.items() if (found := strangers(text))} == {}


def test_pages_install_from_the_checkout_or_a_wheel() -> None:
    pages = {str(page.relative_to(ROOT)): page.read_text() for page in PAGES}
    assert {page: found for page, text in pages.items() if (found := asked_of_the_index(text))} == {}


def test_each_extra_that_is_named_exists() -> None:
    named = {extra for text in TEXTS.values() for words in EXTRAS.findall(text) for extra in words.split(",")}
    assert {"embedded", "postgres", "bindu", "reload"} <= named <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize(
    "text",
    [
        "pip install holdfast",
        "sudo /opt/holdfast/bin/pip install -U 'holdfast[embedded]'",
        "with `pip install holdfast`.",
        "uv tool install holdfast",
        "needs the extra 'holdfast[bindu]'",
    ],
)
def test_a_text_that_names_another_projects_package_is_noticed(text: str) -> None:
    assert strangers(text)


@pytest.mark.parametrize(
    "text",
    ['/opt/holdfast/bin/pip install "$(ls dist/holdfast_supervisor-*.whl)[embedded]"', "pip install '.[embedded]'"],
)
def test_a_checkout_and_a_wheel_are_nobody_elses(text: str) -> None:
    assert strangers(text) + asked_of_the_index(text) == []
