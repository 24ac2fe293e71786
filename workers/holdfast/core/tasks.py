"""Tasks as a store has them: the record, the filter and the page of a list, the answers to a retry and a search.

Times are milliseconds. What a store is asked to accept is in acceptance.py, its numbers are in counts.py.
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

    `runs`: its hand-overs to a worker, the present one included, but for those that were given back before they had
    begun; `attempts`: the runs of this turn that raised. `progress` is what the handler has shown last. `read` makes
    `value` of the JSON value. `batch`: the batch that it is a task of, or, with `is_callback`, the callback of.

    `refused`: a task that was accepted while Redis was away and could not be made there, the word of Accepted that says
    why; `duplicate_of`: the task that held its unique key.
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
        """The value that the handler returned: a text, a JSON value, None; a list if it returned several; the question
        of a task that asks for input. None while there is none. Waited for through its handler, it is of the type that
        the handler's annotation says, or ReturnedValueError is raised."""
        value = read_result(self.result).value
        is_returned = self.state is State.COMPLETED and self.read is not None
        return cast("V", self.read(value) if is_returned and self.read else value)

    @property
    def error(self) -> Failure | None:
        """The exception, or the reason, that the task failed or was rejected with."""
        return failure_in(self.result)

    @property
    def took_ms(self) -> int | None:
        """Milliseconds from its acceptance to its end; None while it has not ended."""
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
    """`word`: one of Retried, with the task that runs; else the obstacle: `unknown`, `long`, or the task's state."""

    word: str
    task_id: str


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a submitted task: the number of entries of its lane before it (or, for a suspect, of suspects),
    exact or at least. None: its entry was taken from the lane, the steward will put it back."""

    before: int | None
    exact: bool


@dataclass(frozen=True, slots=True)
class TaskIds:
    """Ids of tasks among one page of all keys, some perhaps twice; `cursor` continues, empty at the end."""

    ids: tuple[str, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The tasks that a list is to hold: those in these states (none: in any), of this lane, handler's name, batch and
    worker that runs them (`owner`; empty: of any), accepted at least `older_ms` and at most `newer_ms` ago (None: no
    limit). `newest_first`: within each state the last ones first, else those first that a worker takes first."""

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
    """A page of a list; `cursor` continues it, empty at its end. A page may hold fewer tasks than asked for, even
    none, and not be the last one: the number of tasks looked at for one page is bounded. `unreadable`: ids of tasks
    that belong here and whose records cannot be read. `searched`: the number of tasks that were looked at."""

    tasks: tuple[TaskRecord, ...]
    cursor: str
    unreadable: tuple[str, ...] = ()
    searched: int = 0

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [(one.task_id, one.state, one.name, one.lane, one.runs, one.reason) for one in self.tasks]
        more = "<p>there are more: <code>cursor=page.cursor</code></p>" if self.cursor else ""
        return html_table(("task", "state", "handler", "lane", "runs", "reason"), rows) + more
