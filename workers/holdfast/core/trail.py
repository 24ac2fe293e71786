"""A task's trail (its history): the lines that the store's scripts have noted, split into their parts.

A line is `<ms> <event> <detail>`; LAYOUTS says what the detail of each event holds (the scripts' `note` writes it). A
line that cannot be read keeps its whole detail as the reason, so that nothing is left out of a history.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from holdfast.core.task_states import State

KEPT = 64  # lines of a trail that the scripts keep (store/lua/shared/constants.lua)

_CLAIM = r"(?P<claim>\d+:[^ ]+:\d+)"

_CLAIM_REASON, _REASON, _OTHER = rf"{_CLAIM} ?(?P<reason>.*)", r"(?P<reason>.*)", r"(?P<other>.*)"

LAYOUTS: dict[str, str] = {
    "claimed": _CLAIM,
    "settled": rf"(?P<kind>[^ ]+) (?P<number>\d+) {_CLAIM_REASON}",
    **dict.fromkeys(("retry", "release", "defer", "sleep", "returned"), _CLAIM_REASON),
    "suspended": rf"(?:{_CLAIM} ?)?{_REASON}",
    "crashed": rf"(?P<number>\d+) {_REASON} {_CLAIM}",
    "recovered": rf"{_REASON} {_CLAIM}",
    "delayed": r"(?P<due>\d+)",
    "waits": rf"(?P<number>\d+)(?: batch {_OTHER})?",
    "ready": rf"(?:batch {_OTHER})?",
    "parent-failed": rf"(?P<other>[^ ]+) {_REASON}",
    **dict.fromkeys(("refused", "expired", "promoted", "unserved", "put-back"), _REASON),
    **dict.fromkeys(("pause-asked", "pause-withdrawn", "resumed", "canceled"), _REASON),
    **dict.fromkeys(("unknown-handler", "message", "message-waits", "turn", "retry-of"), _OTHER),
    "joined": rf"(?P<number>\d+) {_OTHER}",
    "dead-letter": r"(?P<number>\d+) crashes",
    "suspected": r"(?P<number>\d+) recoveries",
    "cleared": r"(?P<other>[^ ]+)",
    "restored": r"(?P<kind>[^ ]+) (?P<number>\d+)",
    "retried": rf"(?P<other>[^ ]+) ?{_REASON}",
    "step": rf"(?P<number>\d+) {_OTHER}",
}


class Chronicle(StrEnum):
    """The kinds of lines in a schedule's history (store/lua/shared/schedules.lua)."""

    SET = "set"
    FIRED = "fired"
    SKIPPED = "skipped"
    WAITS = "waits"  # the run waits for the end of the task before
    MISSED = "missed"
    ENDED = "ended"  # its task has ended
    PAUSED = "paused"
    RESUMED = "resumed"
    STOPPED = "stopped"
    RESTORED = "restored"  # put back from PostgreSQL; stands in the event stream alone


# Events that the stream holds besides: the beginning of a task, and the lives of workers and schedules.
EVENTS = (
    "accepted",
    "asked",
    "requested",
    *LAYOUTS,
    "worker-registered",
    "worker-died",
    "worker-doubts",
    "webhook-set",
    "webhook-told",
    "webhook-dropped",
    "webhook-moved",
    "removed",
    "lane-bound",
    "lane-paused",
    "lane-resumed",
    "host-quiet",
    "host-resumed",
    "host-halted",
    "host-halt-ended",
    "batch-sealed",
    "batch-ended",
    "schedule-owned",
    "schedule-removed",
    *(f"schedule-{what}" for what in Chronicle),
)

TOLD_TOGETHER = frozenset({"accepted", "claimed", "settled"})  # one entry of the stream may name several tasks

_PATTERNS = {event: re.compile(layout, re.DOTALL) for event, layout in LAYOUTS.items()}


@dataclass(frozen=True, slots=True)
class TrailStep:
    """One line of a task's history. `number`: depending on the event, the number of the turn, of the step, or of
    crashes. `other`: the id of a message or of another task."""

    at_ms: int
    event: str
    reason: str = ""
    claim: str = ""
    kind: str = ""
    number: int = 0
    due_ms: int | None = None
    other: str = ""

    @property
    def word(self) -> str:
        """The event by its name in the table of transitions: for a settlement its kind."""
        return self.kind if self.event == "settled" else self.event

    @property
    def delivery(self) -> int:
        return int(self.claim.partition(":")[0] or 0)

    @property
    def incarnation(self) -> str:
        """The incarnation in the claim of this line; empty if the line is about no claim."""
        return self.claim.partition(":")[2].rpartition(":")[0]


# Events that may follow the event that delayed a task.
_BEHIND = frozenset({"delayed", "step", "restored", "message-waits", "cleared"})


def is_asleep(state: State, steps: Sequence[TrailStep]) -> bool:
    """True if the task waits because its handler called `task.sleep`. `steps`: the lines of the task's history."""
    cause = next((step.event for step in reversed(steps) if step.event not in _BEHIND), "")
    return state is State.DELAYED and cause == "sleep"


def read_trail(lines: tuple[str, ...]) -> tuple[TrailStep, ...]:
    return tuple(map(read_step, lines))


def read_step(line: str) -> TrailStep:
    moment, _, rest = line.partition(" ")
    event, _, detail = rest.partition(" ")
    at_ms = int(moment) if moment.isascii() and moment.isdigit() else 0
    match = _PATTERNS[event].fullmatch(detail) if event in _PATTERNS else None
    if match is None:
        return TrailStep(at_ms, event, reason=detail)
    parts: dict[str, Any] = {name: value or "" for name, value in match.groupdict().items()}
    number, due = parts.pop("number", 0), parts.pop("due", None)
    return TrailStep(at_ms, event, number=int(number or 0), due_ms=int(due) if due else None, **parts)
