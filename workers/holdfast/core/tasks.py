"""The values that producers, workers and operators pass to a store, and those it answers with. Times are
milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

from holdfast.core.html_table import html_fields, html_table
from holdfast.core.outcomes import Failure
from holdfast.core.result_document import failure_in, read_result
from holdfast.core.served import ServedWork
from holdfast.core.submit_options import SubmitOptions
from holdfast.core.task_states import State

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    V = TypeVarWithDefault("V", default=Any, covariant=True)
else:
    V = TypeVar("V", covariant=True)


class Submission(msgspec.Struct, frozen=True):
    """One operation to accept. `digest` identifies the message's content whatever its trace ids are."""

    task_id: str
    message_id: str
    digest: str
    operation: bytes
    lane: str
    due_ms: int | None = None
    delay_ms: int | None = None
    name: str = ""
    max_attempts: int | None = None
    timeout_ms: int | None = None
    options: SubmitOptions | None = msgspec.field(default=None, name="terms")  # its name in PostgreSQL's requests
    concurrency_key: str = ""


class Accepted(StrEnum):
    """The answer to a submission."""

    NEW = "new"
    TURN = "turn"  # a parked task goes on with this message
    PENDING = "pending"  # waits for the running turn
    DUPLICATE = "duplicate"  # seen before; nothing changed
    CONFLICT = "conflict"  # the same message id with other content; nothing changed
    TERMINAL = "terminal"  # the task has ended; nothing changed
    FULL = "full"  # as many messages wait for the task as may; nothing changed
    UNKNOWN = "unknown"  # `message` alone: there is no such task; nothing changed
    NO_PARENT = "no-parent"  # a task that it is to wait for is not known; nothing changed
    NO_LIST = "no-list"  # its lane is a key that holds something else; nothing changed
    OTHER_BATCH = "other-batch"  # its batch was submitted before with other tasks; nothing changed
    BATCH_CLOSED = "batch-closed"  # an operator has sealed or canceled its batch; nothing changed
    TAKEN = "taken"  # the task is there and is not of this batch; nothing changed
    DAMAGED = "damaged"  # what it is to be tied to cannot be read: its batch, a task it is to wait for; nothing changed
    REJECTED = "rejected"  # to a ledger alone: a promised task that cannot be made; its record says why


class Receipt(msgspec.Struct, frozen=True):
    """The answer to a submission. `task_id`: the task that stands for it, which for a duplicate by its unique key is
    another one; or the unknown parent; or what is damaged."""

    accepted: Accepted
    task_id: str


MAX_CRASHES = 3  # runs of a task after its first death


class WorkerKind(StrEnum):
    """The kind of a worker: the tasks that it claims."""

    WORKER = "worker"  # of a supervisor's pool: all but suspects
    QUARANTINE = "quarantine"  # one suspect at a time, and nothing else
    SINGLE = (
        "single"  # of a process that cannot fork: also suspects of lanes without a supervisor, one at a time, alone
    )


@dataclass(frozen=True, slots=True)
class Startable:
    """The number of suspects that may start now; `alone`: those of them that run while no other quarantine worker of
    their host does."""

    startable: int
    alone: int


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The clock of a host (Unix ms) and the version of Holdfast there, which its steward tells the store."""

    clock_ms: int
    version: str


@dataclass(frozen=True, slots=True)
class Introduction:
    """A worker's identity and the work it serves, for `register`; a worker without `service` counts as serving every
    lane and every name. `halt`: for a process that ends at halts, the number of the last halt when it started.
    `concurrency`: the number of tasks that it runs at once; None: it does not say. `answered`: the number of its last
    request that was answered; 0 before the first."""

    incarnation: str
    host: str
    boot: str
    pid: int
    slot: int
    service: ServedWork | None = None
    kind: WorkerKind = WorkerKind.WORKER
    halt: int | None = None
    concurrency: int | None = None
    answered: int = 0


@dataclass(frozen=True, slots=True)
class Admission:
    """The entry at the head of a worker's inbox, as the worker read it. `operation` is `unreadable` with a reason,
    or the verb; `message_id` is empty for an order without a message; `name` is that of the handler it calls."""

    digest: str
    operation: str
    task_id: str = ""
    message_id: str = ""
    reason: str = ""
    name: str = ""


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
class WorkerRecord:
    """An incarnation as the store has it; `beat_ago_ms`: since its last heartbeat; `quiet`: it is to claim nothing.
    A dead one is kept for a day: its cause, when it was recovered, and the first of the tasks it held then."""

    incarnation: str
    state: str
    host: str
    pid: int
    slot: int
    running: tuple[str, ...]
    beat_ago_ms: int
    cause: str = ""
    died_ms: int | None = None
    held: tuple[str, ...] = ()
    quiet: bool = False
    kind: str = WorkerKind.WORKER


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a submitted task: the number of entries of its lane before it (or, for a suspect, of suspects),
    exact or at least. None: its entry was taken from the lane, the steward will put it back."""

    before: int | None
    exact: bool


@dataclass(frozen=True, slots=True)
class UnreadableEntry:
    """An entry that was set aside: the reason, the moment, and its bytes (cut at 64 KiB; `size` is the whole).
    `address` names it as long as it is kept; `lane` is where it was found, empty for the public queue."""

    reason: str
    at_ms: int
    size: int
    raw: bytes
    address: str = ""
    lane: str = ""

    @property
    def is_cut(self) -> bool:
        return len(self.raw) < self.size


@dataclass(frozen=True, slots=True)
class Happening:
    """An event. `position`: of its entry in the stream, which may tell the same of several tasks; `subject`: a task's
    or a worker's id."""

    position: str
    event: str
    subject: str
    detail: str

    @property
    def at_ms(self) -> int:
        return int(self.position.partition("-")[0])


@dataclass(frozen=True, slots=True)
class Happenings:
    """A page of the events stream, oldest first. `missed`: some before them were trimmed unread."""

    events: tuple[Happening, ...]
    missed: bool


@dataclass(frozen=True, slots=True)
class Stray:
    """A working task whose owner is gone. `why`: dead, unknown, silent, not held."""

    task_id: str
    owner: str
    why: str


@dataclass(frozen=True, slots=True)
class Strays:
    """The strays among one page of all keys; `cursor` continues, empty at the end."""

    found: tuple[Stray, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class TaskIds:
    """Ids of tasks among one page of all keys, some perhaps twice; `cursor` continues, empty at the end."""

    ids: tuple[str, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class Obliterated:
    """One step of deleting a queue: the number of keys, and the next cursor ('' at the end). `workers`: so many are
    there, and nothing was deleted."""

    keys: int
    cursor: str
    workers: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """The namespace in numbers: `states` counts tasks, `lanes` entries per lane, `counters` since the beginning."""

    states: dict[State, int]
    lanes: dict[str, int]
    dead: int
    solo: int
    unreadable: int
    workers: int
    oldest_ms: int | None
    counters: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Epoch:
    """One life of the store, which keeps its name as long as it keeps anything, and the number of its tasks. If a
    steward saw it come back empty: how long ago, and how many tasks that steward knew of before."""

    name: str
    tasks: int
    emptied_ago_ms: int | None = None
    lost: int = 0


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


@dataclass(frozen=True, slots=True)
class KeptTask:
    """The result of a round of replication. `busy`: another steward was at it; `more`: there is more to do."""

    busy: bool = False
    more: bool = False
    rebuilding: bool = False


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The ledger's status: its phase, the age of the last event it has ingested while there are newer ones, requests
    that wait to be given to Redis, how often Redis had lost data, tasks put back, ever."""

    phase: str
    behind_ms: int
    waiting: int
    losses: int
    restored: int
