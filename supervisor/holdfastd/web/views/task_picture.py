"""The history of a task as a picture: bars for what it did and waited for, marks for what happened meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any

from holdfast.core.task_states import TERMINAL, TRANSITIONS, State, TaskEvent
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import KEPT, TrailStep, read_trail
from holdfast.why.times import span

WIDTH = 1000  # of the picture
NARROWEST = 3.0  # a bar that can still be seen
MARK = 4.0  # marks that are closer are one


class BarKind(StrEnum):
    """The colour of a bar."""

    WAITS = "waits"  # in its lane
    RUNS = "runs"
    LATER = "later"  # for a time: delayed, asleep, before a retry
    STOPS = "stops"  # for somebody: paused, asks, waits for parents
    UNKNOWN = "unknown"  # no longer kept


class Ending(StrEnum):
    """The colour of the end of a run."""

    FINE = "fine"
    BAD = "bad"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Bar:
    """`text`: of its title; `ending`: of a run that is over."""

    x: float
    width: float
    kind: BarKind
    text: str
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    x: float
    text: str


@dataclass(frozen=True, slots=True)
class Track:
    """A line of the picture."""

    title: str
    bars: list[Bar] = field(default_factory=list[Bar])
    marks: list[Mark] = field(default_factory=list[Mark])


@dataclass(frozen=True, slots=True)
class Picture:
    """From its acceptance to its end, or now. `tracks`: those that hold something."""

    start_ms: int
    end_ms: int
    tracks: list[Track]

    @property
    def length(self) -> str:
        return span(self.end_ms - self.start_ms)


# The state behind each event, wherever it happens: the core's table has one for each.
AFTER: Mapping[str, State] = {event: state for row in TRANSITIONS.values() for event, state in row.items()}

_KINDS = {
    State.SUBMITTED: BarKind.WAITS,
    State.DELAYED: BarKind.LATER,
    State.WAITING: BarKind.STOPS,
    State.WORKING: BarKind.RUNS,
    State.INPUT_REQUIRED: BarKind.STOPS,
    State.AUTH_REQUIRED: BarKind.STOPS,
    State.SUSPENDED: BarKind.STOPS,
}
_ENDINGS: dict[str, Ending] = {
    **dict.fromkeys((TaskEvent.COMPLETED, TaskEvent.TURN), Ending.FINE),
    **dict.fromkeys(
        (
            *(TaskEvent.FAILED, TaskEvent.REJECTED, TaskEvent.EXHAUSTED, TaskEvent.UNREADABLE),
            *(TaskEvent.RETRY, TaskEvent.CRASHED, TaskEvent.RECOVERED, TaskEvent.DEAD_LETTER),
        ),
        Ending.BAD,
    ),
}
_MARKED = {
    "step": "Steps",
    "message": "Messages",
    "message-waits": "Messages",
    "joined": "Messages",
    "crashed": "Deaths",
    "recovered": "Deaths",
    "suspected": "Deaths",
    "retried": "Retries",
    "retry": "Retries",
}


@dataclass(frozen=True, slots=True)
class _Phase:
    start_ms: int
    end_ms: int
    kind: BarKind
    text: str
    ended_by: str = ""


def picture(task: TaskRecord, timeline: Sequence[Mapping[str, Any]], now_ms: int) -> Picture:
    """`timeline`: of the document of `why`, whose steps and messages become marks."""
    end = max(task.finished_ms or now_ms, *(entry["at_ms"] for entry in timeline), task.created_ms + 1)
    scale = WIDTH / (end - task.created_ms)
    phases = list(_phases(task, end))
    runs = [each for each in phases if each.kind is BarKind.RUNS]
    waits = [each for each in phases if each.kind is not BarKind.RUNS]
    tracks = [Track("Waits", _bars(waits, task.created_ms, scale)), Track("Runs", _bars(runs, task.created_ms, scale))]
    for title in dict.fromkeys(_MARKED.values()):
        marked = [entry for entry in timeline if _MARKED.get(entry["event"]) == title]
        tracks.append(Track(title, marks=_marks(marked, task.created_ms, scale)))
    return Picture(task.created_ms, end, [track for track in tracks if track.bars or track.marks])


def _phases(task: TaskRecord, end_ms: int) -> Iterator[_Phase]:
    """From one change of state to the next."""
    changes = [(step, _word(step)) for step in read_trail(task.trail) if _word(step) in AFTER]
    is_cut = len(task.trail) >= KEPT
    start, kind, text = (
        task.created_ms,
        BarKind.UNKNOWN if is_cut else BarKind.WAITS,
        "not kept" if is_cut else "submitted",
    )
    for step, word in changes:
        if step.at_ms > start or kind is BarKind.RUNS:
            yield _Phase(start, step.at_ms, kind, text, word)
        state = AFTER[word]
        if state in TERMINAL:
            return
        start, kind, text = step.at_ms, _KINDS[state], _title(step, state)
    yield _Phase(start, end_ms, kind, text)


def _word(step: TrailStep) -> str:
    return step.kind if step.event == "settled" else step.event


def _title(step: TrailStep, state: State) -> str:
    if step.event == "claimed":
        return f"delivery {step.delivery}"
    return f"{state}: {step.event}" if step.event != state else str(state)


def _bars(phases: Iterable[_Phase], start_ms: int, scale: float) -> list[Bar]:
    bars: list[Bar] = []
    for each in phases:
        x, width = (each.start_ms - start_ms) * scale, max(NARROWEST, (each.end_ms - each.start_ms) * scale)
        length = span(each.end_ms - each.start_ms)
        ended = f", then {each.ended_by}" if each.kind is BarKind.RUNS and each.ended_by else ""
        ending = _ENDINGS.get(each.ended_by, Ending.OTHER) if each.kind is BarKind.RUNS and each.ended_by else None
        bars.append(
            Bar(round(min(x, WIDTH - width), 1), round(width, 1), each.kind, f"{each.text}, {length}{ended}", ending)
        )
    return bars


def _marks(entries: Iterable[Mapping[str, Any]], start_ms: int, scale: float) -> list[Mark]:
    """Those at about one place are one mark, which says how many they are."""
    marks: list[Mark] = []
    for place, close in groupby(entries, key=lambda entry: int((entry["at_ms"] - start_ms) * scale / MARK)):
        texts = [entry["text"] for entry in close]
        more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
        marks.append(Mark(min(place * MARK, WIDTH - MARK), f"{texts[0]}{more}"))
    return marks
