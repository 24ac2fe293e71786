"""The time that a task has waited for a worker and the time that it has run, from its trail. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.plurals import counted
from holdfast.core.task_states import State
from holdfast.core.trail import TrailStep
from holdfast.why.times import span

# Steps that end a run; those that make a task wait for something else than a worker, until another step.
ENDS = frozenset(
    {"settled", "retry", "release", "defer", "sleep", "suspended", "crashed", "recovered", "returned", "canceled"}
)
NOT_READY = frozenset({"delayed", "waits", "suspended", "settled", "canceled", "dead-letter", "expired"})


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """Milliseconds in lanes, ready to be claimed, and in handlers; `runs`: the number of claims."""

    waited_ms: int = 0
    ran_ms: int = 0
    runs: int = 0


def task_times(state: State, created_ms: int, steps: Sequence[TrailStep], now_ms: int) -> TaskTimes:
    """`steps`: the trail, the oldest first."""
    waited = ran = runs = 0
    ready: int | None = created_ms
    claimed: int | None = None
    for step in steps:
        if step.event == "claimed":
            waited += 0 if ready is None else step.at_ms - ready
            ready, claimed, runs = None, step.at_ms, runs + 1
            continue
        if claimed is not None and step.event in ENDS:
            ran, claimed, ready = ran + step.at_ms - claimed, None, step.at_ms
        if step.event in NOT_READY:
            ready = None
        elif claimed is None and ready is None:
            ready = step.at_ms
    if state is State.WORKING and claimed is not None:
        ran += now_ms - claimed
    if state is State.SUBMITTED and ready is not None:
        waited += now_ms - ready
    return TaskTimes(max(0, waited), max(0, ran), runs)


def words(times: TaskTimes) -> str:
    waited = f"waited {span(times.waited_ms)} for a worker"
    return f"{waited}, ran {span(times.ran_ms)} in {counted(times.runs, 'run')}" if times.runs else waited
