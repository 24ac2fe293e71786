"""A figure of tasks a second or of latency stands beside the command that measures it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
FIGURE = re.compile(r"\d ?tasks/s\b|tasks a second[^.]*\| [\d,]+|\bp(?:50|99) [\d.,]+|(?<!\d)\d+ ms later")
COMMAND = re.compile(r"`make bench[\w-]*`|`python -m (?:bench|tests)\.[\w.]+[^`]*`")


def without_command(page: str) -> Iterator[str]:
    """Figures without one: in the README in the same row, on a page under the same heading."""
    text = (ROOT / page).read_text()
    parts = text.splitlines() if page == "README.md" else re.split(r"^#+ ", text, flags=re.MULTILINE)
    for part in parts:
        if not COMMAND.search(part):
            yield from FIGURE.findall(part)


@pytest.mark.parametrize("page", PAGES)
def test_a_figure_names_its_command(page: str) -> None:
    assert list(without_command(page)) == []


def test_each_command_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"`make (bench[\w-]*)`", (ROOT / page).read_text())}
    assert len(named) > 5
    assert named <= targets
