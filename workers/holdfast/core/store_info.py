"""The report about a store that was examined. None stands for a value that could not be read; `StoreInfo.unseen` says
why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from holdfast.core.counts import Counts, LedgerStatus
from holdfast.core.lanes import LaneState
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.schedule_records import Undeclared

MOST_PEEKS = 500  # lanes that one process blocks on; each takes a connection


class ServerAddress(NamedTuple):
    """The server of a store: host and port, or the path of a socket with port 0."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica of the server. `state` in the server's words; `behind`: bytes of the master's stream that the replica
    has not confirmed; `silent_seconds`: the time since the replica last confirmed any bytes."""

    address: str
    state: str
    behind: int
    silent_seconds: int


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The server of the store. `mode`: standalone, cluster or sentinel; `role`: master or slave, in the server's own
    words. `found_by`: url, sentinel or cluster; `careful`: the server takes writes only while a replica follows it."""

    engine: str
    version: str
    mode: str
    role: str
    found_by: str = "url"
    address: str = ""
    replicas: int = 0
    careful: bool = False
    followers: tuple[Replica, ...] = ()


@dataclass(frozen=True, slots=True)
class SlowCommand:
    """An entry of the slow log, without its arguments, which may hold contents of tasks. `command`: its name; for a
    script of Holdfast the name of its operation."""

    at_ms: int
    took_ms: float
    command: str


@dataclass(frozen=True, slots=True)
class SlowInfo:
    """The slow log of the server at a moment of its clock, newest first. `above_us`: the server notes commands that
    take more microseconds (negative: it notes none; None: this user may not read the setting)."""

    now_ms: int
    above_us: int | None
    commands: tuple[SlowCommand, ...]


@dataclass(frozen=True, slots=True)
class TimingInfo:
    """How fast the store answers, and its clock. `clock_ahead_ms`: the store's clock minus this host's clock, corrected
    by half a round trip."""

    round_trips_ms: tuple[float, ...]
    clock_ahead_ms: float


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """The server's memory in bytes. `limit` 0: no limit. `resident`: the machine's memory that the server occupies; 0:
    unknown."""

    used: int
    limit: int
    policy: str
    resident: int = 0


@dataclass(frozen=True, slots=True)
class KeyCount:
    """The number of keys in the database, and an estimate of how many of them belong to the queue. 0: unknown."""

    database: int
    queue: int


@dataclass(frozen=True, slots=True)
class Gauges:
    """Numbers of the queue at one moment of the store's clock. `silent`: workers without a heartbeat for a lease;
    `webhooks`: the number of webhook calls not delivered yet; `due_ms`: when the next schedule is due, None if none
    will be."""

    now_ms: int
    workers: int
    silent: int
    webhooks: int
    schedules: int
    due_ms: int | None
    memory: MemoryInfo


@dataclass(frozen=True, slots=True)
class PersistenceInfo:
    """How the server writes to disk. `fsync` and `save` are settings (None: this user may not read them); the others
    are the results of the last write of each kind."""

    aof: bool
    fsync: str | None
    save: str | None
    aof_write: str
    aof_rewrite: str
    snapshot: str


@dataclass(frozen=True, slots=True)
class ForeignClient:
    """A client that is not Holdfast's, and whose last command takes entries from lists. The server does not say from
    which list."""

    name: str
    address: str
    command: str
    idle_seconds: int


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The connections of the server. `idle_timeout` and `keepalive` are settings in seconds. `strangers`: foreign
    clients of the queue's database. `refused`: connections that the server has refused since its start, because `most`
    were open."""

    connected: int
    most: int
    idle_timeout: int | None
    keepalive: int | None
    strangers: tuple[ForeignClient, ...] | None
    refused: int = 0


@dataclass(frozen=True, slots=True)
class AclInfo:
    """The rights of the user in the store's URL. `forbidden`: commands that Holdfast needs and that this user may not
    run on its keys. `scripts`: the error if Holdfast's scripts cannot be loaded. `replay`: the rights that the user
    `default` lacks, as whom a server replays its AOF."""

    user: str
    forbidden: tuple[str, ...]
    scripts: str
    replay: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaneHead:
    """One look at the front of a lane. `first` and `second`: two entries near the front; the next look finds them
    again. `pushed`: the number of foreign entries that were pushed before these two since the earlier look. `before`:
    the small foreign entries that stand before `first`."""

    kind: str = "none"
    length: int = 0
    first: bytes = b""
    second: bytes = b""
    pushed: int = 0
    suspects: int = 0
    turned: bool = False
    before: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Tended:
    """The result of one call that tends lanes. The call has tended the first `lanes` of the given ones, carried out
    `orders`, and removed `stale` entries that no task needed."""

    lanes: int
    orders: int
    stale: int


@dataclass(frozen=True, slots=True)
class LaneInfo:
    """A lane as it was examined. `kind`: the type of its key, as Redis' TYPE names it. `pushed_at_head`: another
    producer pushed an entry at the front of the lane. `suspects`: entries that Holdfast has written and that are
    missing in the lane now. `turned`: the front of the lane is the tail of its list."""

    name: str
    kind: str
    length: int
    pushed_at_head: bool
    suspects: int
    turned: bool = False


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker of the namespace. `beats`: the number of its last heartbeat. `vouched_ago_ms`: how long ago a steward
    last confirmed that the worker lives; None if none ever did. Its steward also reports the version of Holdfast, and
    how far the host's clock is ahead of the store's; before this report, both are unknown."""

    incarnation: str
    host: str
    state: str
    beats: int
    beat_ago_ms: int
    vouched_ago_ms: int | None
    version: str = ""
    clock_ahead_ms: int | None = None


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """The queue in the store. `schema`: the version found; `our_schema`: the schema that this Holdfast needs.
    `members`: the first 256 workers, longest silent first. `emptied_ms`: when a steward saw the store come back empty;
    None if none did. `lost`: how many tasks this steward knew before."""

    schema: str | None
    our_schema: str
    now_ms: int
    counts: Counts
    members: tuple[WorkerInfo, ...]
    lanes: tuple[LaneInfo, ...]
    emptied_ms: int | None = None
    lost: int = 0
    states: tuple[LaneState, ...] = ()
    quiet: tuple[Quiet, ...] = ()
    undeclared: tuple[Undeclared, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """All that was found out about a store. `url` without its password; `unseen`: the values that could not be read,
    with the store's answers."""

    url: str
    server: ServerInfo | None
    timing: TimingInfo | None
    memory: MemoryInfo | None
    persistence: PersistenceInfo | None
    clients: ClientInfo | None
    rights: AclInfo | None
    queue: QueueInfo | None
    unseen: tuple[tuple[str, str], ...] = ()
    slow: SlowInfo | None = None


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """PostgreSQL, which keeps tasks beside Redis. `tables`: the present version (0: none); `needed`: the version that
    this Holdfast needs. `lacking`: rights that the user lacks, for example `SELECT on holdfast_tasks`. `standby`: the
    server takes no writes."""

    url: str
    server: str
    user: str
    tables: int
    needed: int
    lacking: tuple[str, ...]
    standby: bool


@dataclass(frozen=True, slots=True)
class ReplicationInfo:
    """The ledger's status, and two epochs: the one that the ledger names, and the one in this Redis. An epoch is empty
    if there is none. `missing`: open tasks of a sample from the ledger that Redis does not have; None: not compared."""

    ledger: LedgerStatus
    epoch: str
    followed: str
    missing: tuple[str, ...] | None = None
