"""The table of `make bench-kills` in docs/performance.md."""

from __future__ import annotations

from typing import Any

from bench.figures import QUIET, Figure
from bench.measures import Figures
from bench.tables import NOTHING

_COLUMNS = {
    "tasks/s": "drain",
    "kills": "kills",
    "tasks lost": "lost",
    "outcomes recorded twice": "committed_twice",
    "tasks that ran again": "run_again",
    "crashes charged": "charged",
    "charged to tasks that had done nothing": "charged_unbegun",
}


def markdown(section: dict[str, Any]) -> str:
    runs: dict[str, Figures] = section["runs"]
    share = Figure(
        runs["killed"]["drain"] / runs["undisturbed"]["drain"], any(_is_noisy(figures) for figures in runs.values())
    )
    asked = f"{section['tasks']:,} tasks, {section['workers']} workers, a kill every {section['every']:g} s"
    return "\n".join(
        [
            f"{asked}. With kills the pool reached {share.shown(2)} of its undisturbed throughput.",
            "",
            f"| | {' | '.join(_COLUMNS)} |",
            "|---" * (len(_COLUMNS) + 1) + "|",
            *(_row(name, figures) for name, figures in runs.items()),
        ]
    )


def _row(name: str, figures: Figures) -> str:
    cells = [_cell(figures, key) for key in _COLUMNS.values()]
    return f"| {name} | {' | '.join(cells)} |"


def _cell(figures: Figures, key: str) -> str:
    if key not in figures:
        return NOTHING
    return Figure(figures[key], key == "drain" and _is_noisy(figures)).shown()


def _is_noisy(figures: Figures) -> bool:
    return figures.get("others", 0.0) >= QUIET
