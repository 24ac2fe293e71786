"""The history of a task as bars on a line of time: where it waited, and where it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 1000  # of the picture
NARROWEST = 2.0  # a bar that can still be seen


@dataclass(frozen=True, slots=True)
class Bar:
    """From the event that began it to the next one. `kind`: runs, waits or ended."""

    x: float
    width: float
    kind: str
    event: str
    text: str
    ms: int


RUNS = frozenset({"claimed"})
ENDS = frozenset({"settled", "dead-letter", "expired", "canceled"})


def bars(timeline: Sequence[Mapping[str, Any]], now_ms: int, ended: int | None) -> list[Bar]:
    """A bar for each step of the history; the last one reaches until the task has ended, or now."""
    if not timeline:
        return []
    moments = [entry["at_ms"] for entry in timeline]
    last = max(ended or now_ms, moments[-1])
    scale = WIDTH / max(1, last - moments[0])
    spans = zip(timeline, moments, [*moments[1:], last], strict=True)
    return [
        _bar(entry, (start - moments[0]) * scale, (end - start) * scale, end - start) for entry, start, end in spans
    ]


def _bar(entry: Mapping[str, Any], x: float, width: float, ms: int) -> Bar:
    kind = "runs" if entry["event"] in RUNS else "waits"
    return Bar(
        round(min(x, WIDTH - NARROWEST), 1), round(max(width, NARROWEST), 1), kind, entry["event"], entry["text"], ms
    )
