"""Plays that were written down, in two tables: `python -m tests.chaos.summary FOLDER`, that of `--report`."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.chaos.measure import quantile
from tests.chaos.nemesis import FAULTS


def summary(plays: list[dict[str, Any]]) -> str:
    """Markdown: what was counted in all plays, and each fault with how often it struck and how long its repair took."""
    figures: Counter[str] = Counter()
    struck: Counter[str] = Counter()
    times: defaultdict[str, list[float]] = defaultdict(list)
    for play in plays:
        figures.update(play["figures"])
        struck.update(play["faults"])
        for fault, recoveries in play["recovery seconds"].items():
            times[fault] += recoveries["each"]
    counted = [f"| {name} | {number:,} |" for name, number in figures.items()]
    faults = [f"| {name} | {struck[name]} | {_quantiles(times[name])} |" for name in FAULTS if struck[name]]
    seeds = ", ".join(str(play["seed"]) for play in plays)
    return "\n".join(
        [
            f"| seeds {seeds} | |",
            "|---|---|",
            *counted,
            "",
            "| fault | struck | measured | p50 | p99 |",
            "|---|---|---|---|---|",
            *faults,
        ]
    )


def _quantiles(seconds: list[float]) -> str:
    if not seconds:
        return "0 | |"
    return f"{len(seconds)} | {_duration(quantile(seconds, 0.5))} | {_duration(quantile(seconds, 0.99))}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.chaos.summary FOLDER")
    found = [json.loads(path.read_text()) for path in Path(sys.argv[1]).glob("play-*.json")]
    print(summary(sorted(found, key=lambda play: play["seed"])))
