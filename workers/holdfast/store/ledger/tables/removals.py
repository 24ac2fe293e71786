"""The removals of tasks: which life of an id is gone, and the number of this change among the changes after its end. A
row has no content of the task. It is kept as long as PostgreSQL keeps ended tasks. If Redis is set back to before the
removal, it has the task again, and the row says to remove it. A new life of the id is another task. A task that ends
with its retention leaves no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.store.redis.ledger import Removal

_KEEP = "ON CONFLICT (queue, task_id, created_ms) DO UPDATE SET seen_ms = greatest(r.seen_ms, EXCLUDED.seen_ms)"
_NOTE = f"""
INSERT INTO holdfast_removals AS r (queue, task_id, created_ms, epoch, number, seen_ms)
SELECT $1, n.*, $6 FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS n ORDER BY 2, 3
{_KEEP}"""  # noqa: S608 - of our own words
_FORGET = """
DELETE FROM holdfast_tasks t USING unnest($2::text[], $3::bigint[]) AS n (task_id, created_ms)
WHERE t.queue = $1 AND t.task_id = n.task_id AND t.created_ms = n.created_ms"""


def _remove(which: str) -> str:
    return f"""
WITH gone AS (
    DELETE FROM holdfast_tasks WHERE queue = $1 AND task_id = ANY($2) AND {which}
    RETURNING task_id, created_ms, amended_epoch, amended)
INSERT INTO holdfast_removals AS r (queue, task_id, created_ms, epoch, number, seen_ms)
SELECT $1, task_id, created_ms, greatest(amended_epoch, $3), amended + 1, $4 FROM gone ORDER BY 2
{_KEEP} RETURNING 1"""  # noqa: S608 - of our own words


_REMOVE = _remove("true")
_REMOVE_ENDED = _remove("finished_ms IS NOT NULL")
_REMOVE_DEAD = _remove("dead <> ''")
_OF = "SELECT task_id, created_ms, epoch, number FROM holdfast_removals WHERE queue = $1 AND task_id = ANY($2)"
_SINCE = """
SELECT task_id, created_ms, epoch, number, seen_ms FROM holdfast_removals
WHERE queue = $1 AND seen_ms >= $2 AND (seen_ms, task_id, created_ms) > ($3, $4, $5)
ORDER BY seen_ms, task_id, created_ms LIMIT $6"""
_TRIM = "DELETE FROM holdfast_removals WHERE queue = $1 AND seen_ms < $2"


async def note(sql: Any, queue: str, some: Sequence[Removal], seen_ms: int) -> None:
    """Note that these lives were removed from Redis; nothing else is kept of them."""
    if not some:
        return
    ids, lives = [one.task_id for one in some], [one.created_ms for one in some]
    epochs, numbers = [one.epoch for one in some], [one.number for one in some]
    await sql.execute(_FORGET, queue, ids, lives)
    await sql.execute(_NOTE, queue, ids, lives, epochs, numbers, seen_ms)


async def remove(sql: Any, queue: str, task_ids: Sequence[str], seen_ms: int) -> None:
    """Delete the data of these lives, because new lives have taken their place."""
    await sql.execute(_REMOVE, queue, list(task_ids), 0, seen_ms)


async def remove_ended(sql: Any, queue: str, task_ids: Sequence[str], epoch: int, seen_ms: int) -> int:
    """Remove the ended tasks among these; returns their number. `epoch`: the number of the ledger's epoch."""
    return len(await sql.fetch(_REMOVE_ENDED, queue, list(task_ids), epoch, seen_ms))


async def remove_dead(sql: Any, queue: str, task_ids: Sequence[str], epoch: int, seen_ms: int) -> int:
    """Remove the dead letters among these tasks; returns their number."""
    return len(await sql.fetch(_REMOVE_DEAD, queue, list(task_ids), epoch, seen_ms))


async def of(sql: Any, queue: str, task_ids: Sequence[str]) -> list[Removal]:
    """All lives of these ids that were removed."""
    return [Removal(*row) for row in await sql.fetch(_OF, queue, list(task_ids))]


async def since(sql: Any, queue: str, since_ms: int, cursor: str, limit: int) -> tuple[list[Removal], str]:
    """Removals that were seen since that moment; and the next cursor."""
    after = msgspec.json.decode(cursor, type=tuple[int, str, int]) if cursor else (-1, "", 0)
    rows = await sql.fetch(_SINCE, queue, since_ms, *after, limit)
    last = (rows[-1]["seen_ms"], rows[-1]["task_id"], rows[-1]["created_ms"]) if rows else ()
    return [Removal(*row[:4]) for row in rows], msgspec.json.encode(last).decode() if rows else ""


async def trim(sql: Any, queue: str, before_ms: int) -> None:
    """Forget removals that were seen before that moment."""
    await sql.execute(_TRIM, queue, before_ms)
