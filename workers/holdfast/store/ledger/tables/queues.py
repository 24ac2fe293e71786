"""The row of a queue: the Redis that the ledger follows, and its position there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from holdfast.core.counts import RebuildPhase


@dataclass(frozen=True, slots=True)
class Queue:
    """The row of a queue. The columns are described in the migrations."""

    epoch: str
    phase: RebuildPhase
    cursor: str
    position: str
    witness: str
    since_ms: int
    losses: int
    restored: int

    @property
    def is_followed(self) -> bool:
        """True if the ledger follows its Redis; False while Redis is rebuilt."""
        return self.phase is RebuildPhase.FOLLOWING

    @property
    def position_ms(self) -> int:
        """The moment of the last event that was ingested; 0: there was none."""
        return moment(self.position)

    @property
    def seen(self) -> str:
        """The last event that Redis had when it was last read. A Redis without this event has lost data."""
        return self.witness if is_before(self.position, self.witness) else self.position

    def is_stranger(self, owner: str) -> bool:
        """True if this epoch, found in a Redis, is an epoch of another ledger."""
        return owner not in {"", self.epoch} and not is_earlier(owner, self.epoch)

    def saw(self, event: str) -> Queue:
        """The queue's row with `event` as the last event that Redis had when it was read; '' if Redis had none. An
        earlier event changes nothing."""
        return replace(self, witness=event) if is_before(self.seen, event) else self


def first_epoch() -> str:
    """The first epoch of a new ledger. An epoch is written as a number and the ledger's name. A later epoch has a
    higher number. Scripts read both parts."""
    return f"1-{uuid4().hex}"


def next_epoch(epoch: str) -> str:
    """The epoch after this one, of the same ledger."""
    return f"{epoch_number(epoch) + 1}-{epoch.rpartition('-')[2]}"


def is_earlier(epoch: str, other: str) -> bool:
    """True if both epochs are of the same ledger, and the first came before the second."""
    same = epoch.rpartition("-")[2] == other.rpartition("-")[2]
    return same and epoch_number(epoch) < epoch_number(other)


def epoch_number(epoch: str) -> int:
    """The number of an epoch; 0 if the text names no epoch."""
    number, mark, _ = epoch.partition("-")
    return int(number) if mark else 0


def moment(position: str) -> int:
    """The moment (Unix milliseconds) of an event, by its position; 0 without a position."""
    return int(position.partition("-")[0] or 0)


def is_before(position: str, other: str) -> bool:
    """True if the first of two events came before the second; an empty position comes before every event."""

    def number(one: str) -> tuple[int, int]:
        ms, _, part = one.partition("-")
        return int(ms or 0), int(part or 0)

    return number(position) < number(other)


_COLUMNS = "epoch, phase, cursor, position, witness, since_ms, losses, restored"
_READ = f"SELECT {_COLUMNS} FROM holdfast_queues WHERE queue = $1"  # noqa: S608 - of our own words
_LOCK = f"{_READ} FOR UPDATE SKIP LOCKED"
_HOLD = f"{_READ} FOR UPDATE"
_MAKE = "INSERT INTO holdfast_queues (queue, epoch, phase) VALUES ($1, $2, 'bounding') ON CONFLICT DO NOTHING"
_WRITE = f"UPDATE holdfast_queues SET ({_COLUMNS}) = ($2, $3, $4, $5, $6, $7, $8, $9) WHERE queue = $1"  # noqa: S608 - as above


async def read(sql: Any, queue: str) -> Queue | None:
    """The queue's row; None: no steward has kept this queue yet."""
    return _queue(await sql.fetchrow(_READ, queue))


async def lock(sql: Any, queue: str) -> Queue | None:
    """The queue's row, locked until the end of the transaction; None if there is none, or if another process holds the
    lock."""
    return _queue(await sql.fetchrow(_LOCK, queue))


async def hold(sql: Any, queue: str) -> Queue | None:
    """The queue's row, locked until the end of the transaction. This waits while a steward's round holds the lock."""
    return _queue(await sql.fetchrow(_HOLD, queue))


async def make(sql: Any, queue: str, epoch: str) -> None:
    await sql.execute(_MAKE, queue, epoch)


async def write(sql: Any, queue: str, row: Queue) -> None:
    place = (row.epoch, row.phase, row.cursor, row.position, row.witness)
    await sql.execute(_WRITE, queue, *place, row.since_ms, row.losses, row.restored)


def _queue(row: Any) -> Queue | None:
    if row is None:
        return None
    epoch, phase, *rest = row
    return Queue(epoch, RebuildPhase(phase), *rest)
