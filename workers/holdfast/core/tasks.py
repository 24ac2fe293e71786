"""Tasks as a store has them: the record, the filter and the page of a list, the answers to a retry and a search. Times
are milliseconds. Submissions are in acceptance.py, numbers in counts.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from holdfast.core.html_table import html_fields, html_table
from holdfast.core.outcomes import Failure
from holdfast.core.result_document import failure_in, read_result
from holdfast.core.task_states import State

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    V = TypeVarWithDefault("V", default=Any, covariant=True)
else:
    V = TypeVar("V", covariant=True)


@dataclass(frozen=True, slots=True)
class TaskRecord(Generic[V]):
    """A task as the store has it. Payloads are bytes; `trail` lines are `<ms> <event> <detail>`.

    `runs`: hand-overs to a worker, the present one included, without those that were given back before they had begun.
    `attempts`: runs of this turn that raised. `progress`: the last progress that the handler has shown. `read` converts
    the JSON value to `value`. `batch`: its batch; with `is_callback` it is the callback of that batch. `refused`: the
    reason (a word of Accepted) if it was accepted while Redis was away and Redis could not take it. `duplicate_of`: the
    task that held its unique key.
    """

    task_id: str
    state: State
    lane: str
    turn: int
    message_id: str
    name: str
    origin: str
    created_ms: int
    due_ms: int | None
    finished_ms: int | None
    deliveries: int
    attempts: int
    crashes: int
    releases: int
    owner: str
    claim: str
    solo: bool
    progress: str
    reason: str
    dead: bool
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
    read: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> V:
        """The value that the handler returned: a text, a JSON value, None, or a list of several; for a task that asks
        for input, its question. None until there is a value. If you waited through the handler, the value has the
        annotated type; ReturnedValueError if it does not fit."""
        value = read_result(self.result).value
        is_returned = self.state is State.COMPLETED and self.read is not None
        return cast("V", self.read(value) if is_returned and self.read else value)

    @property
    def error(self) -> Failure | None:
        """The exception or the reason with which the task failed or was rejected."""
        return failure_in(self.result)

    @property
    def took_ms(self) -> int | None:
        """Milliseconds from its acceptance to its end; None before its end."""
        return None if self.finished_ms is None else self.finished_ms - self.created_ms

    def _repr_html_(self) -> str:
        """For notebooks."""
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
    """The answer to a retry."""

    NEW = "new"  # a new task runs what the ended one was asked
    AGAIN = "again"  # it was retried before; nothing changed
    DUE = "due"  # it waited for its time and is due now


@dataclass(frozen=True, slots=True)
class RetryAnswer:
    """`word`: one of Retried, and `task_id` the task that runs. Otherwise the obstacle: `unknown`, `long`, or the
    task's state."""

    word: str
    task_id: str


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a submitted task: how many entries of its lane (for a suspect: how many suspects) are before it,
    exactly or at least. None: its entry is missing in the lane; the steward will put it back."""

    before: int | None
    exact: bool


@dataclass(frozen=True, slots=True)
class TaskIds:
    """Ids of tasks among one page of all keys, some perhaps twice; `cursor` continues, empty at the end."""

    ids: tuple[str, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filter of a list of tasks: states (none: all), lane, handler's name, batch, `owner` (the worker that runs
    them; empty: any). Age: accepted at least `older_ms` and at most `newer_ms` ago (None: no limit). `newest_first`:
    within a state the newest first, else in the order in which workers take them."""

    states: tuple[State, ...] = ()
    lane: str = ""
    name: str = ""
    older_ms: int | None = None
    newer_ms: int | None = None
    batch: str = ""
    owner: str = ""
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list; `cursor` continues it, empty at its end. The number of tasks searched for a page is bounded. So
    a page may hold fewer tasks than asked for, even none, and more pages may follow. `unreadable`: ids of tasks of this
    page whose records cannot be read. `searched`: the number of tasks searched."""

    tasks: tuple[TaskRecord, ...]
    cursor: str
    unreadable: tuple[str, ...] = ()
    searched: int = 0

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [(one.task_id, one.state, one.name, one.lane, one.runs, one.reason) for one in self.tasks]
        more = "<p>there are more: <code>cursor=page.cursor</code></p>" if self.cursor else ""
        return html_table(("task", "state", "handler", "lane", "runs", "reason"), rows) + more
