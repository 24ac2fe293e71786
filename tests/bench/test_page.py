"""Figures are written between the marks of a page, and pins name one version each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import kills_table
from bench.environments import PINS
from bench.figures import Section
from bench.page import CAPACITY, COMPARISON, PERFORMANCE, README, compared, replace
from bench.pool import ROOT
from bench.systems import ON_POSTGRES, PEERS

PAGE = "before\n<!-- own -->\n\nold\n\n<!-- end of own -->\nafter\n"


def test_only_what_stands_between_the_marks_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    replace(page, "own", r"new \1")
    assert page.read_text() == PAGE.replace("old", r"new \1")


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    with pytest.raises(ValueError, match=r"page\.md has no marks `peers`"):
        replace(page, "peers", "")


@pytest.mark.parametrize(
    ("page", "mark"),
    [(PERFORMANCE, "own"), (PERFORMANCE, "peers"), (PERFORMANCE, "kills"), (PERFORMANCE, "postgres"), (README, "own")]
    + [(COMPARISON, "beside")]
    + [(CAPACITY, mark) for mark in ("parts", "plots", "rates", "masters")],
)
def test_the_pages_have_their_marks(page: Path, mark: str) -> None:
    text = page.read_text()
    assert text.index(f"<!-- {mark} -->\n") < text.index(f"\n<!-- end of {mark} -->")


def test_the_comparison_has_the_figures_of_the_last_measurement() -> None:
    data = json.loads((ROOT / "docs/performance.json").read_text())["peers"]
    assert f"<!-- beside -->\n\n{compared(Section(data))}\n\n<!-- end of beside -->" in COMPARISON.read_text()


def test_the_throughput_under_kills_stands_beside_the_undisturbed_one() -> None:
    books = {"kills": 7, "lost": 0, "committed_twice": 0, "run_again": 9, "charged": 8, "charged_unbegun": 1}
    runs = {"undisturbed": {"drain": 2000.0, "others": 0.1}, "killed": {"drain": 1800.0, "others": 0.3, **books}}
    lines = kills_table.markdown({"tasks": 1000, "workers": 2, "every": 0.5, "runs": runs}).splitlines()
    assert (
        lines[0] == "1,000 tasks, 2 workers, a kill every 0.5 s. "
        "With kills the pool reached ~0.90 of its undisturbed throughput."
    )
    assert lines[-2:] == [
        "| undisturbed | 2,000 | - | - | - | - | - | - |",
        "| killed | ~1,800 | 7 | 0 | 0 | 9 | 8 | 1 |",
    ]


@pytest.mark.parametrize("name", ["plots", *(peer.pins for peer in (*PEERS, *ON_POSTGRES) if peer.pins)])
def test_each_pin_is_one_version(name: str) -> None:
    lines = (PINS / f"{name}.txt").read_text().splitlines()
    assert lines
    assert all(line.count("==") == 1 for line in lines)
