"""Change requests: an operation on a schedule, on lanes or on hosts, with its arguments.

A change is accepted when PostgreSQL has it. Then it is given to Redis. Its row in PostgreSQL is deleted when the ledger
has seen the effect of the change in Redis. Changes of the same setting are carried out in the order of acceptance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import msgspec

from holdfast.store.ledger.database import Database
from holdfast.store.redis.connection import Value

# Keeps the order of requests: those for one task, or changes of one setting, are numbered in the order of their
# commits, and each is given to Redis after those before it.
#
# A number is drawn under a lock that is held until the commit, so requests with lower numbers were committed before.
# Otherwise a lower number could be committed after a higher one was carried out, and would then count as carried out,
# too.

PRODUCER_TIMEOUT = 1.0  # seconds in which a producer gives its own request; after that a steward gives it
POLL = 0.01  # seconds between two looks at the requests of other producers
# A server has room for 64 locks a connection: a larger batch takes the whole queue.
SINGLE_LOCKS = 32

# The queue's lock first, then those of the names in the order of their keys: so there is no deadlock.
_LOCK = """
SELECT CASE WHEN place = 1 THEN pg_advisory_xact_lock(key) WHEN $3 THEN pg_advisory_xact_lock(key)
    ELSE pg_advisory_xact_lock_shared(key) END
FROM (
    SELECT 0 AS place, hashtextextended('holdfast ' || $1, 0) AS key
    UNION SELECT 1, hashtextextended('holdfast ' || $1 || ' ' || n.name, 0) FROM unnest($2::text[]) AS n (name)
    ORDER BY place, key OFFSET 0
) AS locks"""
_AHEAD = """
SELECT count(*) AS ahead,
    coalesce(bool_or(created < clock_timestamp() - $5::float8 * interval '1 second'), false) AS stuck
FROM holdfast_requests WHERE queue = $1 AND task_id = ANY($2) AND id < $3 AND id <> ALL($4)
    AND given IS NULL AND refused IS NULL"""


async def lock_order(sql: Any, queue: str, names: Collection[str]) -> None:
    """Lock these tasks or settings. Until this transaction ends, no other transaction gives a number to a request for
    them."""
    single = sorted(set(names)) if len(names) <= SINGLE_LOCKS else []
    await sql.execute(_LOCK, queue, single, not single)


async def wait_order(
    database: Database, queue: str, names: Sequence[str], request: int, ours: Collection[int] = ()
) -> bool:
    """Wait until earlier requests for these names have been given to Redis. `ours`: requests that are given together
    with this one, for which this does not wait.

    Returns False if the producer of an earlier request takes too long. Then a steward gives the earlier request to
    Redis, and this request after it.
    """
    while True:
        async with database.transaction() as sql:
            found = await sql.fetchrow(_AHEAD, queue, list(names), request, list(ours), PRODUCER_TIMEOUT)
        if found["stuck"] or not found["ahead"]:
            return not found["stuck"]
        await anyio.sleep(POLL)


_pack = msgspec.msgpack.Encoder().encode
_change = msgspec.msgpack.Decoder(tuple[str, tuple[Any, ...]]).decode

_LANES = frozenset({"bound", "pause_lane", "resume_lane"})
_HOSTS = frozenset({"quiet_host", "resume_host"})

_WAIT = "SELECT id, content FROM holdfast_requests WHERE queue = $1 AND task_id = $2 AND given IS NULL ORDER BY id"
_ENTER = "INSERT INTO holdfast_requests (queue, verb, task_id, content) VALUES ($1, 'change', $2, $3) RETURNING id"
_WAITING = """
SELECT id, task_id, content FROM holdfast_requests WHERE queue = $1 AND verb = 'change' AND given IS NULL
    AND task_id LIKE $2 || '%' AND created < clock_timestamp() - $3::float8 * interval '1 second'
ORDER BY id LIMIT $4"""
_CARRIED_OUT = "DELETE FROM holdfast_requests WHERE queue = $1 AND verb = 'change' AND given IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Change:
    request: int
    setting: str
    operation: str
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class EnteredRequest:
    """An accepted request. `blocked`: earlier requests for the same task or setting still wait, and come first."""

    request: int
    blocked: bool


def setting_of(operation: str, args: Sequence[Value]) -> str:
    """The name of the setting that an operation changes."""
    if operation in _HOSTS:
        return "quiet|"
    return "rules|" if operation in _LANES else "schedule|" + str(args[0])


async def enter(sql: Any, queue: str, setting: str, operation: str, args: Sequence[Value]) -> EnteredRequest:
    """Accept a change. If the last waiting change of the setting is equal, no second one is written, and the waiting
    one is returned."""
    await lock_order(sql, queue, [setting])
    content = _pack((operation, args))
    waiting = await sql.fetch(_WAIT, queue, setting)
    if waiting and waiting[-1]["content"] == content:
        return EnteredRequest(waiting[-1]["id"], blocked=len(waiting) > 1)
    return EnteredRequest(await sql.fetchval(_ENTER, queue, setting, content), blocked=bool(waiting))


async def waiting(sql: Any, queue: str, of: str, older_than: float, limit: int) -> list[Change]:
    """The oldest changes that still have to be given to Redis. `of`: only changes of settings whose names begin with
    this text. `older_than`: the least age of a change in seconds."""
    rows = await sql.fetch(_WAITING, queue, of, older_than, limit)
    return [Change(row["id"], row["task_id"], *_change(row["content"])) for row in rows]


async def carried_out(sql: Any, queue: str) -> None:
    """Delete the changes that were given to Redis. Call this when the ledger has read everything in Redis: then the
    ledger has also read the effects of these changes."""
    await sql.execute(_CARRIED_OUT, queue)
