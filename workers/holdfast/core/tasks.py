"""Tasks as a store has them: the record, the filter and the page of a list, the answer to a retry, the search by text.

Times are milliseconds. Submissions are in acceptance.py, numbers in counts.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

from holdfast.core.messages import Part
from holdfast.core.outcomes import Failure, Result, failure_in, read_result
from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.core.progress import Progress
from holdfast.core.task_states import State

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    V = TypeVarWithDefault("V", default=Any, covariant=True)
else:
    V = TypeVar("V", covariant=True)


@dataclass(frozen=True, slots=True)
class TaskRecord(Generic[V]):
    """A task as the store has it.

    Payloads are bytes; `trail` lines are `<ms> <event> <detail>`.

    `runs`: the number of hand-overs to a worker, the present one included. A hand-over that was given back before it
    had begun does not count. `attempts`: runs of this turn that raised. `progress`: the last progress that the handler
    has shown. `read` converts the JSON value to `value`. `batch`: the task's batch; with `is_callback` the task is the
    callback of that batch. `refused`: the reason (a word of Accepted) if the task was accepted while Redis was away and
    Redis could not take it. `duplicate_of`: the other task that held the unique key of this task. `error_kind`: the id
    of the kind of error with which its last failed run ended.
    """

    task_id: str
    state: State
    lane: str
    turn: int
    message_id: str
    name: str
    origin: str
    created_ms: int
    due_ms: int | None = None
    finished_ms: int | None = None
    deliveries: int = 0
    attempts: int = 0
    crashes: int = 0
    releases: int = 0
    owner: str = ""
    claim: str = ""
    solo: bool = False
    progress: str = ""
    reason: str = ""
    dead: bool = False
    operation: bytes | None = None
    result: bytes | None = None
    checkpoint: bytes | None = None
    pending: int = 0
    trail: tuple[str, ...] = ()
    max_attempts: int | None = None
    retry_of: str = ""
    retried_as: str = ""
    refused: str = ""
    duplicate_of: str = ""
    waits_for: tuple[str, ...] = ()
    if_parent_fails: str = ""
    expires_ms: int | None = None
    runs: int = 0
    batch: str = ""
    is_callback: bool = False
    error_kind: str = ""
    read: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> V:
        """The value that the handler returned: a text, a JSON value, None, or a list of several; for a task that asks
        for input, its question. None until there is a value. If you waited by a method of a registered handler, the
        value has the handler's annotated type; raises ReturnedValueError if it does not fit."""
        value = read_result(self.result).value
        is_returned = self.state is State.COMPLETED and self.read is not None
        return cast("V", self.read(value) if is_returned and self.read else value)

    @property
    def error(self) -> Failure | None:
        """The exception or the reason with which the task failed or was rejected."""
        return failure_in(self.result)

    @property
    def bar(self) -> Progress | None:
        """The last progress as numbers and text, for a bar; None if the handler has shown none."""
        return Progress.read(self.progress) if self.progress else None

    @property
    def took_ms(self) -> int | None:
        """Milliseconds from the task's acceptance to its end; None before the end."""
        return None if self.finished_ms is None else self.finished_ms - self.created_ms

    def _repr_html_(self) -> str:
        """The record as HTML, for notebooks."""
        value, error = read_result(self.result).value, self.error
        return html_fields(
            [
                ("task", self.task_id),
                ("state", self.state),
                ("handler", self.name),
                ("lane", self.lane),
                ("runs", self.runs),
                ("progress", self.progress),
                ("value", None if value is None else repr(value)),
                ("error", error and f"{error.type}: {error.message}"),
                ("reason", self.reason),
                ("took", None if self.took_ms is None else f"{self.took_ms} ms"),
            ]
        )


class Retried(StrEnum):
    """The store's answer to a retry that it has accepted."""

    NEW = "new"  # a new task runs the request of the ended one
    AGAIN = "again"  # it was retried before; nothing changed
    DUE = "due"  # it waited for its time and is due now


class TaskObstacle(StrEnum):
    """The store's answer if it cannot change a task: the reason."""

    UNKNOWN = "unknown"  # there is no such task; tasks that ended long ago are deleted
    DAMAGED = "damaged"  # its record cannot be read
    LONG = "long"  # to a retry alone: the id of the new task would have more than 128 characters


@dataclass(frozen=True, slots=True)
class RetryAnswer:
    """The answer to a retry. If `word` is one of Retried, `task_id` is the task that runs. Otherwise `word` is the
    obstacle, or the state in which the task cannot be retried."""

    word: Retried | State | TaskObstacle
    task_id: str


@dataclass(frozen=True, slots=True)
class PlaceInLane:
    """The place of a submitted task. `before`: the number of entries before it in its lane; for a suspect, the number
    of suspects. None: its entry is missing in the lane, and the steward will put it back. `exact`: False if `before` is
    only a lower bound."""

    before: int | None
    exact: bool


@dataclass(frozen=True, slots=True)
class TaskIds:
    """Ids of tasks, found among one page of all keys of the store; an id may occur twice. `cursor`: for the next page;
    empty at the end."""

    ids: tuple[str, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filter of tasks as a store takes it: states (none: all), lane, handler's name, batch, `owner` (the worker
    that runs the task), `error` (the kind of error of its last failed run). An empty value stands for any. Age:
    accepted at least `older_ms` and at most `newer_ms` ago (None: no limit). `newest_first`: within a state, the newest
    task comes first; otherwise the tasks come in the order in which workers take them."""

    states: tuple[State, ...] = ()
    lane: str = ""
    name: str = ""
    older_ms: int | None = None
    newer_ms: int | None = None
    batch: str = ""
    owner: str = ""
    error: str = ""
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list; `cursor` continues the list, empty at its end. The number of tasks searched for a page is
    bounded. So a page may hold fewer tasks than asked for, even none, and more pages may follow. `unreadable`: ids of
    tasks of this page whose records cannot be read. `searched`: the number of tasks searched."""

    tasks: tuple[TaskRecord, ...]
    cursor: str
    unreadable: tuple[str, ...] = ()
    searched: int = 0

    def _repr_html_(self) -> str:
        """The page as HTML, for notebooks."""
        rows = [(one.task_id, one.state, one.name, one.lane, one.runs, one.reason) for one in self.tasks]
        more = "<p>there are more: <code>cursor=page.cursor</code></p>" if self.cursor else ""
        return html_table(("task", "state", "handler", "lane", "runs", "reason"), rows) + more


@dataclass(frozen=True, slots=True)
class TaskOutline:
    """The parts of a task that a list shows beside its record: the beginning of its operation, and its trail (its
    history as lines)."""

    operation: bytes = b""
    trail: tuple[str, ...] = ()


# The search for tasks by a text: which tasks match, and a quick test that lets the store skip most others.

LONGEST_TEXT = 200  # characters that may be searched for

_PLAIN = re.compile(r"[A-Za-z0-9 _.@-]+")  # no encoder of JSON writes these in another way

_encode = msgspec.json.Encoder().encode


class _Message(msgspec.Struct):
    parts: list[Part] = []
    metadata: object = None


class _MessageHolder(msgspec.Struct):
    message: _Message | None = None


class _Operation(msgspec.Struct):
    params: _MessageHolder


_read_operation = msgspec.json.Decoder(_Operation).decode
_read_result = msgspec.json.Decoder(Result).decode


def as_it_is(value: Any) -> Any:
    """Return the value unchanged: the default of `shown`, which hides nothing."""
    return value


@dataclass(frozen=True, slots=True)
class TextSearch:
    """A search for tasks by a text; case does not matter. A task matches if its id, its handler's name or its reason
    contains the text. The arguments, result or error of its latest turn are searched, too: the text is compared with
    each text in them, as it is and as JSON spells it. `shown` first removes from a JSON value what the reader may not
    see."""

    text: str
    shown: Callable[[Any], Any] = as_it_is
    _wanted: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        lower = self.text.lower()
        object.__setattr__(self, "_wanted", tuple({lower, _encode(lower).decode()[1:-1]}))

    @property
    def probe(self) -> str:
        """A lower-case ASCII text that is in the bytes of every matching task: the store skips tasks without it."""
        return max(_PLAIN.findall(self.text), key=len, default="").lower()

    def fits(self, task: TaskRecord) -> bool:
        """True if the task matches. The record must hold the task's operation and result, or the beginning of them."""
        return any(wanted in text.lower() for text in self._texts(task) for wanted in self._wanted)

    def _texts(self, task: TaskRecord) -> Iterator[str]:
        yield from map(self.shown, (task.task_id, task.name, task.reason))
        if task.operation:
            yield from self._in_operation(task.operation)
        if task.result:
            yield from self._in_result(task.result)

    def _in_operation(self, document: bytes) -> Iterator[str]:
        """The texts of the arguments. The whole document if it cannot be read, for example because it was cut."""
        try:
            message = _read_operation(document).params.message
        except UNREADABLE_JSON:
            yield self._as_text(document)
            return
        if message is not None:
            yield from self._in_parts(message.parts)
            yield self._spelled(message.metadata)

    def _in_result(self, document: bytes) -> Iterator[str]:
        try:
            result = _read_result(document)
        except UNREADABLE_JSON:
            yield self._as_text(document)
            return
        yield from self._in_parts(result.parts)
        yield from (str(value) for value in self.shown(result.error or {}).values())

    def _in_parts(self, parts: list[Part]) -> Iterator[str]:
        for part in parts:
            text, data = part.get("text"), part.get("data")
            if isinstance(text, str):
                yield self.shown(text)
            else:
                yield self._spelled(_arguments(cast("dict[str, Any]", data)) if isinstance(data, dict) else data)

    def _as_text(self, document: bytes) -> str:
        text = self.shown(document.decode("utf-8", "replace"))
        assert isinstance(text, str)
        return text

    def _spelled(self, value: object) -> str:
        return "" if value in (None, {}) else _encode(self.shown(value)).decode()


def _arguments(data: dict[str, Any]) -> object:
    """The arguments of a named handler without its name, because the name is searched separately."""
    return data["kwargs"] if data.keys() == {"name", "kwargs"} else data


# HTML tables, which Jupyter shows in place of a value's repr.

LONGEST_CELL = 1000  # characters of one cell


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table with one line of heads. Texts are escaped, so that a task's text is never read as HTML."""
    lines = [_line("th", head), *(_line("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def html_fields(fields: Iterable[tuple[str, object]]) -> str:
    """An HTML table with one name and value on each line; fields without a value are left out."""
    lines = [_cell("th", name) + _cell("td", value) for name, value in fields if value not in (None, "")]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _line(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(_cell(tag, cell) for cell in cells)}</tr>"


def _cell(tag: str, value: object) -> str:
    from html import escape  # no worker needs its tables of names

    text = str(value)
    text = text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"
    return f'<{tag} style="text-align: left; white-space: pre-wrap">{escape(text)}</{tag}>'
