"""Tasks as rows of a list: the columns of the page of tasks and of `supervisor tasks list`, and arguments in brief."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any, cast

import msgspec
from pydantic_core import from_json

from holdfast.core import envelope
from holdfast.core.messages import Part, text_of
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskOutline, TaskRecord
from holdfast.core.trail import read_trail
from holdfast.core.words import duration
from holdfast.errors import InvalidTaskError
from holdfast.store import Store
from holdfast.why.document import TimesDocument, task_times
from holdfast.why.times import span

# The call of a handler in a task's operation. A user can edit the call and submit it again.

LARGEST = 16 << 20  # bytes; a larger operation is not read

Hide = Callable[[Any], Any]  # a JSON value without the secrets in it


@dataclass(frozen=True, slots=True)
class TaskCall:
    """The call of a handler. `name`: of the handler; empty for none. `text`, `data`: content of the message.
    `left_out`: kinds of parts that a form cannot hold."""

    name: str = ""
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""
    data: Any = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    context_id: str | None = None
    left_out: tuple[str, ...] = ()

    def brief(self, hide: Hide) -> str:
        """The arguments on one line, without secrets: `region=asia, copies=3`. Of a message its first words."""
        if given := self.kwargs or _object(self.data):
            words = arguments_in_brief(given, hide)
        else:
            content = self.text or ("" if self.data is None else self.data)
            words = brief_value(hide(_beginning(content, MOST_WORDS)), MOST_WORDS)
        return words if len(words) <= MOST_WORDS else f"{words[: MOST_WORDS - 1]}…"


def call_of(operation: bytes | None) -> TaskCall | None:
    """The call in the operation of a task's present turn; None if the operation is not a readable run."""
    run = envelope.kept_run(operation, LARGEST)
    if run is None or not run.messages:
        return None
    parts = run.messages[-1]["parts"]
    data = [each for each in parts if _is_data(each)]
    named = run.name or ""
    held = data[:1] if named or len(data) == 1 else []
    left = [each for each in parts if each not in held and not isinstance(each.get("text"), str)]
    return TaskCall(
        name=named,
        kwargs=run.kwargs,
        text=text_of(parts),
        data=None if named or not held else held[0]["data"],
        metadata=run.metadata,
        context_id=run.context_id,
        left_out=tuple(dict.fromkeys(str(each.get("kind", "unknown"))[:40] for each in left)),
    )


async def first_call(store: Store, task: TaskRecord) -> TaskCall | None:
    """The call of a task. The present turn of a named handler may be an answer; then the first turn has the call."""
    call = call_of(task.operation)
    if task.turn == 1 or not task.name or (call and call.name):
        return call
    items, _ = await store.earlier(task.task_id, 2)
    begun = call_of(items[0]) if items else None
    return begun if begun and begun.name else call


def _object(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object; else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_data(part: Part) -> bool:
    return part.get("kind") == "data" and "data" in part


MOST_BRIEF = 40  # characters of one argument
MOST_WORDS = 160  # characters of the arguments in brief
MOST_NAMES = 20  # arguments
BEGINNING = 4096  # bytes of an operation that a list reads


def arguments_in_brief(given: Mapping[str, Any], hide: Hide) -> str:
    some = {name: _beginning(value, MOST_BRIEF) for name, value in islice(given.items(), MOST_NAMES)}
    return ", ".join(f"{name}={brief_value(value)}" for name, value in hide(some).items())


def _beginning(value: object, most: int) -> object:
    """The part of a value that `brief_value` needs. It is longer than the part that is shown, so that a secret is still
    recognized. The search for secrets takes some microseconds for each character."""
    match value:
        case str():
            return value[: 2 * most]
        case list() | dict():
            return brief_value(cast("object", value))
        case _:
            return value


def brief_value(value: object, most: int = MOST_BRIEF) -> str:
    """A value in a few characters: `[3]` stands for a list of three items."""
    match value:
        case str():
            words = " ".join(value.split())
        case list():
            words = f"[{len(cast('list[object]', value))}]"
        case dict():
            words = "{…}"
        case _:
            words = json.dumps(value)
    return words if len(words) <= most else f"{words[: most - 1]}…"


def brief_of(beginning: bytes, hide: Hide) -> str:
    """The arguments in brief, from the first BEGINNING bytes of an operation. Values that are cut there count as far as
    they go."""
    if len(beginning) == BEGINNING:
        beginning = msgspec.json.encode(decoded_beginning(beginning))
    call = call_of(beginning)
    return call.brief(hide) if call else ""


def decoded_beginning(beginning: bytes) -> Any:
    """The value in the beginning of a JSON document, as far as it goes."""
    try:
        return from_json(beginning.decode("utf-8", "ignore"), allow_partial="trailing-strings")
    except (ValueError, RecursionError):  # bytes that are no JSON, or nested too deeply
        return None


# The rows of a list, and its columns. The page and the command show the same columns under the same names.

STEP = 100  # tasks whose outlines one call of the store reads


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task in a list. `arguments`: in brief. `times`: how long it has waited for a worker and run."""

    task: TaskRecord
    arguments: str
    times: TimesDocument
    now_ms: int

    @classmethod
    def of(cls, task: TaskRecord, outline: TaskOutline, hide: Hide, now_ms: int) -> TaskRow:
        times = task_times(task.state, task.created_ms, read_trail(outline.trail), now_ms)
        return cls(task, brief_of(outline.operation, hide), times, now_ms)

    @property
    def state(self) -> str:
        return f"{self.task.state} (dead letter)" if self.task.dead else str(self.task.state)

    @property
    def age(self) -> str:
        return duration((self.now_ms - self.task.created_ms) / 1000)

    @property
    def wait(self) -> str:
        is_known = self.times["waited_ms"] or self.times["runs"] or self.task.state is State.SUBMITTED
        return span(self.times["waited_ms"]) if is_known else ""

    @property
    def duration(self) -> str:
        return span(self.times["ran_ms"]) if self.times["runs"] else ""


async def read_rows(store: Store, tasks: Sequence[TaskRecord], hide: Hide) -> list[TaskRow]:
    """The rows of these tasks. `hide` removes secrets from their arguments."""
    now_ms, outlines = await store.clock_ms(), dict[str, TaskOutline]()
    for at in range(0, len(tasks), STEP):
        outlines |= await store.outlines([task.task_id for task in tasks[at : at + STEP]], BEGINNING)
    return [TaskRow.of(task, outlines[task.task_id], hide, now_ms) for task in tasks]


@dataclass(frozen=True, slots=True)
class TaskColumn:
    """A column of a list of tasks. `cell`: the value of a row for a command; a page shows it as a link, a badge or a
    time where it has one. `is_usual`: shown unless the reader chooses."""

    name: str
    cell: Callable[[TaskRow], str | int | None]
    is_usual: bool = True
    is_number: bool = False


def _of_task(name: str, of: str = "", *, is_usual: bool = False, is_number: bool = False) -> TaskColumn:
    return TaskColumn(name, attrgetter(f"task.{of or name}"), is_usual, is_number)


TASK_COLUMNS = {
    column.name: column
    for column in (
        _of_task("task", "task_id", is_usual=True),
        _of_task("handler", "name", is_usual=True),
        TaskColumn("arguments", attrgetter("arguments")),
        TaskColumn("state", attrgetter("state")),
        _of_task("lane", is_usual=True),
        TaskColumn("age", attrgetter("age")),
        TaskColumn("wait", attrgetter("wait"), is_number=True),
        TaskColumn("duration", attrgetter("duration"), is_number=True),
        _of_task("runs", is_usual=True, is_number=True),
        _of_task("reason", is_usual=True),
        _of_task("progress"),
        _of_task("turn", is_number=True),
        _of_task("attempts", is_number=True),
        _of_task("deliveries", is_number=True),
        _of_task("crashes", is_number=True),
        _of_task("batch"),
        _of_task("worker", "owner"),
    )
}
USUAL_COLUMNS = tuple(name for name, column in TASK_COLUMNS.items() if column.is_usual)


def chosen_columns(texts: Sequence[str]) -> tuple[TaskColumn, ...]:
    """The columns with these names, which may also stand in one text with commas between them; the usual ones if there
    is no name. Raises InvalidTaskError."""
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()] or list(USUAL_COLUMNS)
    for name in names:
        if name not in TASK_COLUMNS:
            raise InvalidTaskError(f"no column {name[:40]!a}; the columns are {', '.join(TASK_COLUMNS)}")
    return tuple(TASK_COLUMNS[name] for name in dict.fromkeys(names))
