"""docs/parity.md: each promise names a test that exists, and each scenario is there by its number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SYSTEMS = ("The agent scheduler", "The job scheduler", "The timeline scheduler")
SCENARIOS = "Schedule scenarios 1 to 37"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def sections() -> dict[str, list[list[str]]]:
    """The rows of the tables under each heading of the second level, without their heads."""
    tables: dict[str, list[list[str]]] = {}
    for part in re.split(r"^## ", (ROOT / "docs/parity.md").read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in text.splitlines() if row[:1] == "|"]
        tables[heading] = [row for row in rows if len(row) > 1 and row[-1] != "test"]
    return tables


def exists(file: str, test: str) -> bool:
    path = ROOT / file
    return path.exists() and f"def {test}(" in path.read_text()


def test_each_system_has_its_promises() -> None:
    assert tuple(sections()) == (*SYSTEMS, SCENARIOS)


@pytest.mark.parametrize("section", [*SYSTEMS, SCENARIOS])
def test_each_promise_names_tests_that_exist(section: str) -> None:
    rows = sections()[section]
    assert rows
    for row in rows:
        assert len(row) == 3, row
        named = NAMED.findall(row[-1])
        assert named, f"no test: {row[0]}"
        assert [f"{file}::{test}" for file, test in named if not exists(file, test)] == [], row[0]


def test_each_scenario_is_there_by_its_number() -> None:
    numbers = [int(row[0].partition(".")[0]) for row in sections()[SCENARIOS]]
    assert numbers == list(range(1, 38))


@pytest.mark.parametrize(
    "symptom",
    [
        "the queue grows",
        "Redis is full",
        "timeouts",
        "a task is slow",
        "a task seems lost",
        "delayed work does not appear",
    ],
)
def test_what_may_go_wrong_is_told_with_what_to_do(symptom: str) -> None:
    text = (ROOT / "docs/operating.md").read_text()
    [row] = [row for row in text.splitlines() if row.startswith(f"| {symptom}")]
    _, look, do = row.strip("|").split(" | ")
    assert look.strip()
    assert do.strip()
