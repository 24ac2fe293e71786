"""Workers: how they introduce themselves to a store, the work that they serve, and their records. Times are
milliseconds, limits are seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

MAX_CRASHES = 3  # runs of a task after its first death


@dataclass(frozen=True, slots=True)
class ServedLane:
    """A lane that a worker takes tasks from. `weight` None: the worker takes from the first lane that has tasks.
    `timeout`: seconds that one run may take."""

    name: str
    weight: int | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ServedLimits:
    """Settings that decide the fate of a task: its maximum of attempts, how long it waits for an unknown handler, and
    how long it is kept after its end."""

    max_attempts: int
    unknown_handler_timeout: float
    keep: float


@dataclass(frozen=True, slots=True)
class ServedWork:
    """The lanes of a worker in order, and the `names` of its handlers; the empty name is the default handler, None
    means any name. `schedules`: the ids of the schedules that its code declares; `application`: the name of the
    application that declares them, or empty. `limits`: None if they are unknown."""

    lanes: tuple[ServedLane, ...]
    names: frozenset[str] | None = None
    limits: ServedLimits | None = None
    application: str = ""
    schedules: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ServedState:
    """The workers that could run a handler's tasks in a lane. `living`: the number of live workers of the queue.
    `in_lane`: how many of them serve the lane. `able`: how many of the workers of the lane also have the handler.
    `servers`: the first of the able workers. `paused`: the reason why no task of the lane starts; None if it is open.
    `unserved_ms`: for how long no worker has had the handler while tasks wait. `limits`: the strictest limits that
    workers registered; None if no worker registered any."""

    lane: str
    name: str
    living: int
    in_lane: int
    able: int
    servers: tuple[str, ...] = ()
    paused: str | None = None
    unserved_ms: int | None = None
    limits: ServedLimits | None = None


def strictest(of_lane: Sequence[ServedLimits], of_all: Sequence[ServedLimits]) -> ServedLimits | None:
    """The strictest of the limits that workers have registered. `max_attempts` is taken from the workers of the lane,
    because they count attempts. The other limits are taken from all workers, because the steward of any supervisor may
    fail or delete a task."""
    if not of_all:
        return None
    return ServedLimits(
        max_attempts=min(one.max_attempts for one in of_lane or of_all),
        unknown_handler_timeout=min(one.unknown_handler_timeout for one in of_all),
        keep=min(one.keep for one in of_all),
    )


class WorkerKind(StrEnum):
    """The kind of a worker: the tasks that it claims."""

    WORKER = "worker"  # of a supervisor's pool: all but suspects
    QUARANTINE = "quarantine"  # one suspect at a time, and nothing else
    # Of a process that cannot fork: also suspects of lanes without a supervisor, one at a time, alone.
    SINGLE = "single"


@dataclass(frozen=True, slots=True)
class Startable:
    """The number of suspects that may start now. `alone`: how many of these may run only while no other quarantine
    worker of the host runs a task."""

    startable: int
    alone: int


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The clock of a host (Unix ms) and the version of Holdfast there, which its steward tells the store."""

    clock_ms: int
    version: str


@dataclass(frozen=True, slots=True)
class Introduction:
    """A worker's identity and the work it serves, for `register`. Without `service` the worker counts as serving every
    lane and every name. `halt`: for a process that ends at halts, the number of the last halt when it started.
    `concurrency`: how many tasks it runs at once; None: unknown. `answered`: the number of its last answered request; 0
    before the first."""

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
    """An entry of a worker's inbox, as the worker read it; the fields are in the order of the values that the script
    `admit` takes. `operation`: the verb, or `unreadable` with a reason. `message_id`: empty for an order without a
    message. `name`: the handler that the operation calls."""

    digest: str
    operation: str
    task_id: str = ""
    message_id: str = ""
    reason: str = ""
    name: str = ""


class LeftInbox(StrEnum):
    """The store's answer if an entry of the inbox became neither a task nor a message nor an order."""

    SET_ASIDE = "set-aside"  # it cannot be carried out; an operator finds it among the unreadable entries
    GONE = "gone"  # it was admitted before


class WorkerStage(StrEnum):
    """The state of a worker in the store."""

    LIVE = "live"
    DRAINING = "draining"  # it claims nothing more and ends
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """The store's record of an incarnation. `state`: a word of WorkerStage; empty for an unknown worker. `beat_ago_ms`:
    milliseconds since its last heartbeat. `quiet`: it must claim nothing. `concurrency`: how many tasks it runs at
    once; None: unknown. The store keeps the record of a dead worker for a day. It has the cause and the time of the
    death, and the first of the tasks that the worker held."""

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
    concurrency: int | None = None


class StrayCause(StrEnum):
    """The reason why nobody works on a stray task."""

    DEAD = "dead"  # its owner was declared dead
    UNKNOWN = "unknown"  # its owner is not known
    SILENT = "silent"  # its owner has sent no heartbeat for too long
    NOT_HELD = "not held"  # its owner lives and does not run it


@dataclass(frozen=True, slots=True)
class Stray:
    """A working task whose worker is gone."""

    task_id: str
    owner: str
    why: StrayCause


@dataclass(frozen=True, slots=True)
class Strays:
    """The strays (tasks whose worker is gone) that were found among one page of all keys. `cursor` continues the
    search; it is empty at the end."""

    found: tuple[Stray, ...]
    cursor: str
