"""How long it took until what a killed process was running ran again, by the fault that killed it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Line = dict[str, Any]


def recoveries(runs: list[Line], faults: list[Line]) -> dict[str, list[float]]:
    """Seconds from the strike to the next start of each task that one of the struck processes was running."""
    found: dict[str, list[float]] = defaultdict(list)
    for strike in (line for line in faults if line["what"] == "hits"):
        for task_id in _running(runs, strike):
            again = next(
                (
                    run["at"]
                    for run in runs
                    if run["id"] == task_id and run["what"] == "start" and run["at"] > strike["at"]
                ),
                None,
            )
            if again is not None:
                found[strike["fault"]].append(again - strike["at"])
    return dict(found)


def _running(runs: list[Line], strike: Line) -> set[str]:
    """What had begun and never ended in the struck processes."""
    open_runs: set[tuple[str, int]] = set()
    for run in runs:
        if run["pid"] in strike["pids"] and run["at"] <= strike["at"]:
            key = (run["id"], run["delivery"])
            if run["what"] == "start":
                open_runs.add(key)
            else:
                open_runs.discard(key)
    ended = {(run["id"], run["delivery"]) for run in runs if run["what"] == "end"}
    return {task_id for task_id, delivery in open_runs if (task_id, delivery) not in ended}


def quantile(values: list[float], share: float) -> float:
    """By nearest rank; of nothing 0."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else 0.0
