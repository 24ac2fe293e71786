"""How long it took until all went on: from the strike to the next start of what a struck process was running, or from
the healing of what struck the store or the network to the next start there."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Line = dict[str, Any]

STILL_FED = 2.0  # seconds for which clients must go on after a healing, so that something could start


def recoveries(runs: list[Line], faults: list[Line], clients: list[Line]) -> dict[str, list[float]]:
    """Seconds, by the fault."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for strike in (line for line in faults if line["what"] == "hits"):
        for task_id in _running(runs, strike):
            again = _next_start(runs, strike["at"], lambda run, task_id=task_id: run["id"] == task_id)
            if again is not None:
                seconds[strike["fault"]].append(again)
    killers = {line["fault"] for line in faults if line["what"] == "hits"}
    fed_until = max((line["at"] for line in clients), default=0.0) - STILL_FED
    for healing in (line for line in faults if line["what"] == "healed" and line["fault"] not in killers):
        again = _next_start(runs, healing["at"], lambda run, healing=healing: run["host"] in healing["hosts"])
        if again is not None and healing["at"] < fed_until:
            seconds[healing["fault"]].append(again)
    for line in (line for line in faults if line["what"] == "recovered"):
        seconds[line["fault"]].append(line["seconds"])
    return dict(seconds)


def _next_start(runs: list[Line], after: float, wanted: Any) -> float | None:
    """Seconds from then to the next start that is wanted."""
    for run in runs:
        if run["what"] == "start" and run["at"] > after and wanted(run):
            return float(run["at"] - after)
    return None


def _running(runs: list[Line], strike: Line) -> set[str]:
    """Tasks that had begun and never ended in the struck processes."""
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
