"""Keeps the order of requests: those for one task, or changes of one setting, are numbered in the order of their
commits, and each is given to Redis after those before it.

A number is drawn under a lock that is held until the commit, so requests with lower numbers were committed before.
Otherwise a lower number could be committed after a higher one was carried out, and would then count as carried out,
too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import anyio

from holdfast.store.ledger.database import Database

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


async def lock(sql: Any, queue: str, names: Collection[str]) -> None:
    """Lock these tasks or settings: until this transaction ends nobody else draws a number for them."""
    single = sorted(set(names)) if len(names) <= SINGLE_LOCKS else []
    await sql.execute(_LOCK, queue, single, not single)


async def wait(database: Database, queue: str, names: Sequence[str], request: int, ours: Collection[int] = ()) -> bool:
    """Wait until the requests for these names that were accepted before this one have been given. `ours` are given with
    it.

    False if one waits for longer than its producer may take: a steward gives it, and this request after it.
    """
    while True:
        async with database.transaction() as sql:
            found = await sql.fetchrow(_AHEAD, queue, list(names), request, list(ours), PRODUCER_TIMEOUT)
        if found["stuck"] or not found["ahead"]:
            return not found["stuck"]
        await anyio.sleep(POLL)
