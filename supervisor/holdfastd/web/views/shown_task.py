"""The content of a task's page: its changes, its call, its messages, and its history as a picture. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import Any

from holdfast.core import envelope
from holdfast.core.delivery import EmittedPart
from holdfast.core.messages import Part
from holdfast.core.outcomes import read_result
from holdfast.core.steps import StepNote, StepRecord, note_of
from holdfast.core.task_states import AFTER, TERMINAL, TRANSITIONS, UNCHANGED, State, TaskEvent
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import KEPT, TrailStep, is_asleep, read_trail
from holdfast.why.times import moment, span
from holdfastd.documents.task_list import LARGEST, decoded_beginning
from holdfastd.operations.act import Act
from holdfastd.operations.tasks import CANCEL_TASK, PAUSE_TASK, REMOVE_TASK, RESUME_TASK, RETRY_TASK

# The changes that a task allows in its present state, by the state machine of the core.


@dataclass(frozen=True, slots=True)
class TaskAction:
    """A change that the page of a task offers. `is_final`: the change cannot be undone, so the page asks for
    confirmation. `is_likely`: the most likely change where it is allowed, so it is the primary button."""

    act: Act[Any, Any]
    title: str
    is_allowed: Callable[[TaskRecord], bool]
    is_final: bool = False
    is_likely: bool = False

    @property
    def path(self) -> str:
        """The path to which the form of this change is sent."""
        return f"/{self.act.name}"

    @property
    def takes_reason(self) -> bool:
        """True if the operator can give a reason, which the store keeps with the task."""
        return any(field.name == "reason" for field in self.act.fields)


def allowed(task: TaskRecord) -> list[TaskAction]:
    """The changes that the page offers for this task, in their order on the page."""
    return [action for action in ACTIONS if action.is_allowed(task)]


def takes_messages(task: TaskRecord) -> bool:
    """True if a message continues the task, or waits for its running turn."""
    return _happens(TaskEvent.MESSAGE, task) or _happens(TaskEvent.MESSAGE_WAITS, task)


def _happens(event: TaskEvent, task: TaskRecord) -> bool:
    return event in TRANSITIONS[task.state] or task.state in UNCHANGED.get(event, ())


def _may_retry(task: TaskRecord) -> bool:
    """True for a task that failed and was not retried, and for a delayed task. A sleep cannot be cut short."""
    if _happens(TaskEvent.RETRIED, task):
        return not task.retried_as
    return _happens(TaskEvent.PROMOTED, task) and not is_asleep(task.state, read_trail(task.trail))


def _waits_for_pause(task: TaskRecord) -> bool:
    """True for a running task that was asked to pause. If the task is resumed, the pause is withdrawn."""
    asked = [step.event for step in read_trail(task.trail) if step.event in _PAUSES]
    return task.state is State.WORKING and asked[-1:] == [TaskEvent.PAUSE_ASKED]


_PAUSES = frozenset({TaskEvent.PAUSE_ASKED, TaskEvent.PAUSE_WITHDRAWN, TaskEvent.CLAIMED})

ACTIONS = (
    TaskAction(
        RESUME_TASK,
        "Resume",
        lambda task: _happens(TaskEvent.RESUMED, task) or _waits_for_pause(task),
        is_likely=True,
    ),
    TaskAction(PAUSE_TASK, "Pause", lambda task: _happens(TaskEvent.SUSPENDED, task) and not _waits_for_pause(task)),
    TaskAction(RETRY_TASK, "Retry", _may_retry, is_likely=True),
    TaskAction(CANCEL_TASK, "Cancel", lambda task: _happens(TaskEvent.CANCELED, task), is_final=True),
    TaskAction(REMOVE_TASK, "Remove", lambda task: task.state in TERMINAL, is_final=True),
)


# The messages of a task with the answers of its handler, turn by turn.


@dataclass(frozen=True, slots=True)
class MessageExchange:
    """One turn: the contents of its messages and of its answer. A content is a text or a JSON value."""

    asked: list[Any]
    answered: list[Any]


def exchanges(items: Sequence[bytes]) -> list[MessageExchange]:
    """The turns in the store's list `items`, which has operation, result, operation, result, and so on."""
    return [exchange(operation, result) for operation, result in zip(items[::2], items[1::2], strict=False)]


def exchange(operation: bytes | None, result: bytes | None) -> MessageExchange:
    return MessageExchange(_asked(operation), [_content(part) for part in read_result(result or None).parts])


def _asked(operation: bytes | None) -> list[Any]:
    run = envelope.kept_run(operation, LARGEST)
    if run is None:
        return [operation.decode("utf-8", "backslashreplace")] if operation else []
    return [_content(part) for message in run.messages for part in message["parts"]]


def _content(part: Part) -> Any:
    """The text or the data of a message's part. A part of any other kind is returned as it is."""
    for name in ("text", "data"):
        if name in part:
            return part[name]
    return part


# The parts of a stream, in pieces: texts of one run that follow each other are one text.

LONGEST_PIECE = 10_000  # characters; of a longer text its end is shown


@dataclass(frozen=True, slots=True)
class StreamPiece:
    """A text or a JSON value of a stream. `position`, `at_ms`: of its last part."""

    run: int
    position: int
    at_ms: int
    value: Any


def pieces(parts: Iterable[EmittedPart]) -> list[StreamPiece]:
    found = list[StreamPiece]()
    for (run, is_text), some in groupby(parts, key=lambda part: (part.run, isinstance(part.value, str))):
        if is_text:
            texts = list(some)
            text = "".join(part.value for part in texts)
            found.append(StreamPiece(run, texts[-1].position, texts[-1].at_ms, text[-LONGEST_PIECE:]))
        else:
            found += (StreamPiece(run, part.position, part.at_ms, part.value) for part in some)
    return found


# The history as a story: chapters in which the task waits or runs, each with the lines of its time.

_TITLES = {
    State.SUBMITTED: "Wait for a worker",
    State.DELAYED: "Wait for its time",
    State.WAITING: "Wait for other tasks",
    State.INPUT_REQUIRED: "Wait for an answer",
    State.AUTH_REQUIRED: "Wait for an authorization",
    State.SUSPENDED: "Pause",
}
_STEP = re.compile(r"step (\d+) is ")
UUID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")  # a line shows its first eight characters
_BRIEFLY = (  # what a line says only with the ids of processes, turns and messages
    (re.compile(r" \(pid \d+, incarnation [^)]*\)|, delivery \d+$|^turn \d+ (?=completed|asks)"), ""),
    (re.compile(r"^continues with message \S+"), "continues with a message"),
)
VALUE = 400  # bytes of a step's value that a page shows, unless the user asks for all
GAP_MS = 1000  # between two lines; a longer time is shown
SHORT_MS = 10  # a shorter wait for a worker is no chapter of its own


@dataclass(frozen=True, slots=True)
class StoryStep:
    """A recorded step: its value, and the arguments and duration of its function, if they were recorded. `is_cut`: the
    value is only the beginning of the recorded one."""

    name: str
    value: Any
    is_cut: bool
    note: StepNote | None

    @classmethod
    def of(cls, step: StepRecord, most: int) -> StoryStep:
        is_cut = len(step.result) > most
        return cls(step.name, decoded_beginning(step.result[:most]), is_cut, note_of(step))

    @property
    def took(self) -> str:
        return span(self.note.took_ms) if self.note else ""


@dataclass(frozen=True, slots=True)
class StoryLine:
    """A line of the history. `at`: its time in ISO 8601. `offset`: the time since the task was accepted; empty for the
    first line. `gap`: the time since the line before, if it was long. `led_to`: the task that the line names."""

    at: str
    offset: str
    event: str
    text: str
    gap: str = ""
    led_to: str = ""
    step: StoryStep | None = None


@dataclass(slots=True)
class Chapter:
    """A time in which the task waited or ran. `ended_by`: the word for the end of a run or of the task, else empty;
    `ending`: its colour."""

    title: str
    kind: BarKind
    start_ms: int
    end_ms: int
    lines: list[StoryLine] = field(default_factory=list[StoryLine])
    ended_by: str = ""

    @property
    def length(self) -> str:
        return span(self.end_ms - self.start_ms)

    @property
    def ending(self) -> Ending | None:
        return _ENDINGS.get(self.ended_by, Ending.OTHER) if self.ended_by else None

    @property
    def end_words(self) -> str:
        return _END_WORDS.get(self.ended_by, self.ended_by)


def story(
    task: TaskRecord,
    timeline: Sequence[Mapping[str, Any]],
    steps: Mapping[int, StoryStep],
    now_ms: int,
    *,
    with_ids: bool = False,
) -> list[Chapter]:
    """The chapters of a task's history. `timeline`: that of the `why` document; `steps`: by their places. `with_ids`:
    the lines name processes by their ids as well."""
    kinds = {(each.at_ms, each.event): each.word for each in read_trail(task.trail)}
    state, runs, before_ms = State.SUBMITTED, 0, task.created_ms
    chapters = [Chapter(_TITLES[state], BarKind.WAITS, task.created_ms, now_ms)]
    for entry in timeline:
        at_ms, event, chapter = int(entry["at_ms"]), str(entry["event"]), chapters[-1]
        word = kinds.get((at_ms, event), event)
        line = _line(entry, task, at_ms - before_ms, steps)
        line = line if with_ids else replace(line, text=_briefly(line.text))
        before_ms, after = at_ms, AFTER.get(word)
        if after is None or (after is state and word != TaskEvent.CLAIMED):
            chapter.lines.append(line)
            continue
        chapter.end_ms, begins = at_ms, list[StoryLine]()
        if state is State.WORKING or after in TERMINAL:
            chapter.lines.append(line)
            chapter.ended_by = word
        else:
            begins = [line]
        runs += after is State.WORKING
        title = f"Run {runs}" if after is State.WORKING else _TITLES.get(after, "After its end")
        chapters.append(Chapter(title, _KINDS.get(after, BarKind.UNKNOWN), at_ms, now_ms, begins))
        state = after
    return _without_short_waits(
        [each for each in chapters if each.lines or (each.kind is not BarKind.UNKNOWN and each.end_ms > each.start_ms)]
    )


def _briefly(text: str) -> str:
    for part, words in _BRIEFLY:
        text = part.sub(words, text)
    return text


def _without_short_waits(chapters: Sequence[Chapter]) -> list[Chapter]:
    """The chapters without waits that are too short to matter. The lines of such a wait begin the chapter after it."""
    found, moved = list[Chapter](), list[StoryLine]()
    for chapter in chapters:
        lines = [*moved, *chapter.lines]
        is_short = chapter.kind is BarKind.WAITS and chapter.end_ms - chapter.start_ms < SHORT_MS
        if is_short and not chapter.ended_by and chapter is not chapters[-1]:
            moved = lines
        else:
            found.append(replace(chapter, lines=lines))
            moved = []
    return found


def last_lines(chapters: Sequence[Chapter], most: int) -> list[Chapter]:
    """The last chapters, with at most `most` lines in all: the last ones."""
    found, left = list[Chapter](), most
    for chapter in reversed(chapters):
        if left <= 0:
            break
        found.append(replace(chapter, lines=chapter.lines[-left:]))
        left -= len(chapter.lines)
    return found[::-1]


def _line(entry: Mapping[str, Any], task: TaskRecord, since_ms: int, steps: Mapping[int, StoryStep]) -> StoryLine:
    named = _STEP.match(entry["text"]) if entry["event"] == "step" else None
    if named and entry["text"].startswith("question", named.end()):
        named = None  # its value would repeat the question
    return StoryLine(
        at=moment(entry["at_ms"]) or "",
        offset="" if entry["event"] == "accepted" else _offset(entry["at_ms"] - task.created_ms),
        event=entry["event"],
        text=UUID.sub(lambda found: found[1], entry["text"]),
        gap=span(since_ms) if since_ms >= GAP_MS else "",
        led_to=task.retried_as if entry["event"] == TaskEvent.RETRIED and task.retried_as in entry["text"] else "",
        step=steps.get(int(named[1]) - 1) if named else None,
    )


def _offset(ms: int) -> str:
    """The time since the task was accepted. Lines within a minute of it are compared, so they have hundredths."""
    return f"+{ms / 1000:.2f}s" if 1000 <= ms < 60_000 else f"+{span(ms)}"


# The history as a picture.

WIDTH = 1000  # of the picture, in units of the SVG
NARROWEST = 3.0  # width of the narrowest bar that a user can see
SHORT_PICTURE_MS = 60_000
MARK = 4.0  # marks that are closer than this become one


class BarKind(StrEnum):
    """The kind of a bar in the picture of the history; each kind has its colour."""

    WAITS = "waits"  # in its lane, for a worker
    RUNS = "runs"
    LATER = "later"  # waits for a time, or for other tasks
    STOPS = "stops"  # waits for somebody: paused, or asks for something
    UNKNOWN = "unknown"  # the store no longer keeps this part of the history


class Ending(StrEnum):
    """How a run ended, as a colour in the picture of the history."""

    FINE = "fine"
    BAD = "bad"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time in the picture. `text`: its tooltip. `ending`: how a run ended; None for other bars."""

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
    """One row of the picture, with bars for stretches of time and marks for moments. `length`: of all its bars, in
    words. `task`: the id of the task whose row it is, if that is another one."""

    title: str
    bars: list[Bar] = field(default_factory=list[Bar])
    marks: list[Mark] = field(default_factory=list[Mark])
    length: str = ""
    task: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """The history of a task as a picture, from its submission to its end, or to now. `tracks`: the rows that are not
    empty. `keys`: the kinds of bars that it has, each with its meaning in words."""

    start_ms: int
    end_ms: int
    tracks: list[Track]
    keys: list[tuple[BarKind, str]]

    @property
    def length(self) -> str:
        return span(self.end_ms - self.start_ms)

    @property
    def is_short(self) -> bool:
        """True if a reader wants the length rather than the times of both ends."""
        return self.end_ms - self.start_ms < SHORT_PICTURE_MS

    @property
    def is_single(self) -> bool:
        """True if one run fills the picture, which then says nothing."""
        bars = [bar for track in self.tracks for bar in track.bars]
        runs = [bar for bar in bars if bar.kind is BarKind.RUNS]
        is_plain = not any(track.marks or track.task for track in self.tracks)
        return is_plain and len(runs) == 1 and runs[0].width > 0.9 * WIDTH


_KINDS = {
    State.SUBMITTED: BarKind.WAITS,
    State.DELAYED: BarKind.LATER,
    State.WAITING: BarKind.LATER,
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
_END_WORDS: dict[str, str] = {
    TaskEvent.EXHAUSTED: "failed at the last attempt",
    TaskEvent.RETRY: "failed",
    TaskEvent.CRASHED: "worker died",
    TaskEvent.RECOVERED: "worker lost",
    TaskEvent.DEAD_LETTER: "dead letter",
}
_MARKED = {
    "step": "Steps",
    "message": "Messages",
    "message-waits": "Messages",
    "joined": "Messages",
    "crashed": "Deaths",
    "recovered": "Deaths",
    "suspected": "Deaths",
    "retry": "Retries",
}


_MEANINGS: dict[State | None, str] = {
    None: "not kept",
    State.SUBMITTED: "waits for a worker",
    State.DELAYED: "waits for its time",
    State.WAITING: "waits for other tasks",
    State.WORKING: "runs",
    State.INPUT_REQUIRED: "waits for an answer",
    State.AUTH_REQUIRED: "waits for an authorization",
    State.SUSPENDED: "paused",
}


@dataclass(frozen=True, slots=True)
class _Phase:
    """A stretch of time between two changes of state. `state`: None if the store no longer keeps it."""

    start_ms: int
    end_ms: int
    state: State | None
    text: str
    ended_by: str = ""

    @property
    def kind(self) -> BarKind:
        return _KINDS[self.state] if self.state else BarKind.UNKNOWN


def picture(
    task: TaskRecord, timeline: Sequence[Mapping[str, Any]], now_ms: int, parents: Iterable[TaskRecord] = ()
) -> Picture:
    """The picture of a task. `timeline`: the timeline of the `why` document; its steps and messages become marks.
    `parents`: the tasks for which this task waited. Each parent has a row: what it did while this task waited."""
    start, end = task.created_ms, max(task.finished_ms or now_ms, task.created_ms + 1)
    scale = WIDTH / (end - start)
    own = list(_phases(task, end))
    tracks, drawn = list[Track](), list(own)
    for parent in parents:
        phases = [each for each in _phases(parent, parent.finished_ms or now_ms) if start <= each.end_ms <= end]
        phases = [replace(each, start_ms=max(start, each.start_ms)) for each in phases]
        tracks.append(Track("", _bars(phases, start, scale), task=parent.task_id))
        drawn += phases
    for title, is_run in (("Waits", False), ("Runs", True)):
        phases = [each for each in own if (each.state is State.WORKING) is is_run]
        length = span(sum(each.end_ms - each.start_ms for each in phases))
        tracks.append(Track(title, _bars(phases, start, scale), length=length))
    for title in dict.fromkeys(_MARKED.values()):
        marked = [entry for entry in timeline if _MARKED.get(entry["event"]) == title and entry["at_ms"] <= end]
        tracks.append(Track(title, marks=_marks(marked, start, scale)))
    return Picture(start, end, [track for track in tracks if track.bars or track.marks], _keys(drawn))


def _keys(phases: Sequence[_Phase]) -> list[tuple[BarKind, str]]:
    """The kinds of these phases, in the order of BarKind, each with the meanings of its states."""
    found = {kind: [each.state for each in phases if each.kind is kind] for kind in BarKind}
    return [
        (kind, " or ".join(dict.fromkeys(_MEANINGS[state] for state in states)))
        for kind, states in found.items()
        if states
    ]


def _phases(task: TaskRecord, end_ms: int) -> Iterator[_Phase]:
    """The phases of the task: each lasts from one change of state to the next."""
    changes = [(step, step.word) for step in read_trail(task.trail) if step.word in AFTER]
    is_cut = len(task.trail) >= KEPT
    start = task.created_ms
    state, text = (None, "not kept") if is_cut else (State.SUBMITTED, "submitted")
    for step, word in changes:
        if step.at_ms > start or state is State.WORKING:
            yield _Phase(start, step.at_ms, state, text, word)
        state = AFTER[word]
        if state in TERMINAL:
            return
        start, text = step.at_ms, _title(step, state)
    yield _Phase(start, end_ms, state, text)


def _title(step: TrailStep, state: State) -> str:
    if step.event == "claimed":
        return f"delivery {step.delivery}"
    return f"{state}: {step.event}" if step.event != state else str(state)


def _bars(phases: Iterable[_Phase], start_ms: int, scale: float) -> list[Bar]:
    bars: list[Bar] = []
    for each in phases:
        x, width = (each.start_ms - start_ms) * scale, max(NARROWEST, (each.end_ms - each.start_ms) * scale)
        text, ending = f"{each.text}, {span(each.end_ms - each.start_ms)}", None
        if each.kind is BarKind.RUNS and each.ended_by:
            text, ending = f"{text}, then {each.ended_by}", _ENDINGS.get(each.ended_by, Ending.OTHER)
        bars.append(Bar(round(min(x, WIDTH - width), 1), round(width, 1), each.kind, text, ending))
    return bars


def _marks(entries: Iterable[Mapping[str, Any]], start_ms: int, scale: float) -> list[Mark]:
    """The marks in the picture for these entries. Entries at about the same place share one mark, whose text says how
    many there are."""
    marks: list[Mark] = []
    for place, close in groupby(entries, key=lambda entry: int((entry["at_ms"] - start_ms) * scale / MARK)):
        texts = [entry["text"] for entry in close]
        more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
        marks.append(Mark(min(place * MARK, WIDTH - MARK), f"{texts[0]}{more}"))
    return marks
