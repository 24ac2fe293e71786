"""Computes the result of the demonstration from recorded events, kills and the tasks' records."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import msgspec

from holdfast.core.activity import Happening
from holdfast.core.outcomes import read_result
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted
from holdfast.errors import StoreUnavailableError
from holdfast.store import Store
from holdfastd.demo.supervisor_process import Killer

# The result of the demonstration, and the checks that nothing was lost or recorded twice. No I/O.

ALL_KEPT = "every promise was kept: nothing lost, nothing committed twice"


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The numbers of the demonstration. `commits`: recorded outcomes. `recovery_p50`, `recovery_p99`: milliseconds from
    a kill to the next run of the worker's task."""

    accepted: int
    completed: int
    commits: int
    committed_twice: int
    wrong: int
    workers_killed: int
    stewards_killed: int
    redelivered: int
    recovery_p50: float | None
    recovery_p99: float | None
    seconds: float

    @property
    def lost(self) -> int:
        return self.accepted - self.completed

    def breaches(self, expected: int) -> list[str]:
        """The promises that were broken, a line for each; empty if none was. `expected`: how many tasks were sent."""
        checks = {
            f"submitted: {counted(expected, 'task')}, accepted: {self.accepted}": self.accepted != expected,
            f"lost: {counted(self.lost, 'task')}": self.lost != 0,
            f"committed twice: {counted(self.committed_twice, 'outcome')}": self.committed_twice != 0,
            f"completed: {counted(self.completed, 'task')}, outcomes: {self.commits}": self.commits != self.completed,
            f"other than the texts say: {counted(self.wrong, 'result')}": self.wrong != 0,
        }
        return [breach for breach, is_broken in checks.items() if is_broken]

    def rows(self) -> list[tuple[str, str]]:
        """The rows of the table of results that people see: a name and a value."""
        return [
            ("accepted", f"{self.accepted:,}"),
            ("completed", f"{self.completed:,}"),
            ("workers killed", str(self.workers_killed)),
            ("steward killed", str(self.stewards_killed)),
            ("redelivered", str(self.redelivered)),
            ("lost", str(self.lost)),
            ("committed twice", str(self.committed_twice)),
            ("wrong results", str(self.wrong)),
            ("recovery p50 / p99", f"{_ms(self.recovery_p50)} / {_ms(self.recovery_p99)}"),
        ]


def percentile(values: Sequence[float], share: float) -> float | None:
    """The percentile of these values by nearest rank, for example `share` 0.99; None if there are no values."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else None


def _ms(value: float | None) -> str:
    return "none was needed" if value is None else f"{value:.1f} ms"


# The handler of the demonstration. It counts the words of a text, so slowly that it can be killed in the middle.

PIECES = 4
PAUSE = 0.03  # seconds after each piece of the text


async def handle(messages: list[dict[str, Any]]) -> dict[str, float]:
    """The handler of the demonstration: it counts the words of a text. Returns their number, and the Unix time at which
    this run began."""
    began, found = time.time(), 0
    words = messages[-1]["parts"][0]["text"].split()
    size = -(-len(words) // PIECES)
    for start in range(0, len(words), size or 1):
        found += len(words[start : start + size])
        await anyio.sleep(PAUSE)
    return {"words": found, "began": began}


# Recorder follows the events of the store: which tasks were accepted, which workers ran them, which outcomes recorded.

PAGE = 1000
WAIT = 1.0  # seconds
AGAIN = 0.1


@dataclass(slots=True)
class Recorder:
    """The counts of the events. `commits`: recorded outcomes by task and turn. `crashed`: for a task, the incarnations
    that died while they ran it, in order."""

    store: Store
    accepted: int = 0
    redelivered: int = 0
    commits: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    crashed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    holders: dict[str, str] = field(default_factory=dict[str, str])  # task → incarnation that runs it
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def follow(self) -> None:
        """Follow the events for ever."""
        position = ""
        while True:
            try:
                page = await self.store.events(position, PAGE, WAIT)
            except StoreUnavailableError:
                await anyio.sleep(AGAIN)
                continue
            for event in page.events:
                self.hear(event)
                position = event.position
            self.changed.set()
            self.changed = anyio.Event()

    def hear(self, event: Happening) -> None:
        match event.event:
            case "accepted":
                self.accepted += 1
            case "claimed":
                self.redelivered += not event.detail.startswith("1:")
                self.holders[event.subject] = event.detail.split(":")[1]
            case "settled":
                self.holders.pop(event.subject, None)
                self.commits[event.subject, event.detail.split(" ")[1]] += 1
            case "crashed" | "recovered" | "returned":
                incarnation = event.detail.rsplit(" ", 1)[-1].split(":")[1]
                self.holders.pop(event.subject, None)
                self.crashed.setdefault(event.subject, []).append(incarnation)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Counted:
    """A task's result: the number of words, and the start of the run that counted them (Unix seconds)."""

    words: int
    began: float


def _counted(record: TaskRecord) -> Counted | None:
    if record.state is not State.COMPLETED:
        return None
    return msgspec.convert(read_result(record.result).value, Counted)


def tally(
    recorder: Recorder, killer: Killer, records: Sequence[TaskRecord], texts: Sequence[str], seconds: float
) -> DemoResult:
    """The result of the demonstration, from the recorded events, the kills, and the records of the tasks."""
    results = [_counted(record) for record in records]
    counted = zip(results, texts, strict=True)
    wrong = sum(result is not None and result.words != len(text.split()) for result, text in counted)
    recovered = _recoveries(recorder, killer, records, results)
    return DemoResult(
        accepted=recorder.accepted,
        completed=sum(record.state is State.COMPLETED for record in records),
        commits=recorder.commits.total(),
        committed_twice=sum(times > 1 for times in recorder.commits.values()),
        wrong=wrong,
        workers_killed=len(killer.killed),
        stewards_killed=killer.stewards,
        redelivered=recorder.redelivered,
        recovery_p50=percentile(recovered, 0.5),
        recovery_p99=percentile(recovered, 0.99),
        seconds=round(seconds, 1),
    )


def _recoveries(
    recorder: Recorder, killer: Killer, records: Sequence[TaskRecord], results: Sequence[Counted | None]
) -> list[float]:
    """Milliseconds from the kill of a worker to the next run of its task. Only tasks that lost exactly one worker
    count, because after a second death a task waits on purpose."""
    delays: list[float] = []
    for record, result in zip(records, results, strict=True):
        crashed = recorder.crashed.get(record.task_id, [])
        if len(crashed) == 1 and crashed[0] in killer.killed and result is not None:
            delays.append(1000 * (result.began - killer.killed[crashed[0]]))
    return delays
