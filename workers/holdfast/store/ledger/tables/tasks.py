"""The tasks of the ledger and their turns, in the form in which Redis gives and takes them.

The outcome of a turn is written once. A task that has ended stays ended. After the task was removed, its id may be used
for another task. Each of these tasks is called a life of the id.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from holdfast.store.redis.decode import pairs
from holdfast.store.redis.ledger import PAGE_BYTES, Dump, Dumps, Removal
from holdfast_config import library_log

# The removals of tasks: which life of an id is gone, and how late that is among the changes after its end.
#
# A row has no content. It is kept as long as PostgreSQL keeps ended tasks: a Redis that was set back to a moment before
# the removal has the task again, and gives it up. Another life of the id is another task. A task whose retention is
# over leaves no row.

_KEEP_REMOVAL = "ON CONFLICT (queue, task_id, created_ms) DO UPDATE SET seen_ms = greatest(r.seen_ms, EXCLUDED.seen_ms)"
_NOTE = f"""
INSERT INTO holdfast_removals AS r (queue, task_id, created_ms, epoch, number, seen_ms)
SELECT $1, n.*, $6 FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS n ORDER BY 2, 3
{_KEEP_REMOVAL}"""  # noqa: S608 - of our own words
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
{_KEEP_REMOVAL} RETURNING 1"""  # noqa: S608 - of our own words


_REMOVE = _remove("true")
_REMOVE_ENDED = _remove("finished_ms IS NOT NULL")
_REMOVE_DEAD = _remove("dead <> ''")
_OF = "SELECT task_id, created_ms, epoch, number FROM holdfast_removals WHERE queue = $1 AND task_id = ANY($2)"
_SINCE = """
SELECT task_id, created_ms, epoch, number, seen_ms FROM holdfast_removals
WHERE queue = $1 AND seen_ms >= $2 AND (seen_ms, task_id, created_ms) > ($3, $4, $5)
ORDER BY seen_ms, task_id, created_ms LIMIT $6"""
_TRIM_REMOVALS = "DELETE FROM holdfast_removals WHERE queue = $1 AND seen_ms < $2"


async def note_removals(sql: Any, queue: str, some: Sequence[Removal], seen_ms: int) -> None:
    """Record that tasks with these ids were removed from Redis, and delete their data here. Each removal names the life
    of the id: the task that was removed, and no later task with the same id."""
    if not some:
        return
    ids, lives = [one.task_id for one in some], [one.created_ms for one in some]
    epochs, numbers = [one.epoch for one in some], [one.number for one in some]
    await sql.execute(_FORGET, queue, ids, lives)
    await sql.execute(_NOTE, queue, ids, lives, epochs, numbers, seen_ms)


async def remove(sql: Any, queue: str, task_ids: Sequence[str], seen_ms: int) -> None:
    """Delete the data of the tasks that had these ids before, because new tasks with the same ids have taken their
    place."""
    await sql.execute(_REMOVE, queue, list(task_ids), 0, seen_ms)


async def remove_ended(sql: Any, queue: str, task_ids: Sequence[str], epoch: int, seen_ms: int) -> int:
    """Remove the tasks in this list that have ended; returns their number. `epoch`: the number of the ledger's
    epoch."""
    return len(await sql.fetch(_REMOVE_ENDED, queue, list(task_ids), epoch, seen_ms))


async def remove_dead(sql: Any, queue: str, task_ids: Sequence[str], epoch: int, seen_ms: int) -> int:
    """Remove the dead letters in this list of tasks; returns their number."""
    return len(await sql.fetch(_REMOVE_DEAD, queue, list(task_ids), epoch, seen_ms))


async def removals_of(sql: Any, queue: str, task_ids: Sequence[str]) -> list[Removal]:
    """The removed tasks that had these ids; several removed tasks may have had the same id."""
    return [Removal(*row) for row in await sql.fetch(_OF, queue, list(task_ids))]


async def removals_since(sql: Any, queue: str, since_ms: int, cursor: str, limit: int) -> tuple[list[Removal], str]:
    """The removals that the ledger has seen since `since_ms`, and the next cursor."""
    after = msgspec.json.decode(cursor) if cursor else (-1, "", 0)
    rows = await sql.fetch(_SINCE, queue, since_ms, *after, limit)
    return [Removal(*row[:4]) for row in rows], _cursor(rows, "seen_ms", "task_id", "created_ms")


def _cursor(rows: Sequence[Any], *columns: str) -> str:
    """The cursor for the page after these rows, which are ordered by these columns. Empty without rows."""
    return msgspec.json.encode([rows[-1][column] for column in columns]).decode() if rows else ""


async def trim_removals(sql: Any, queue: str, before_ms: int) -> None:
    """Forget removals that were seen before this moment."""
    await sql.execute(_TRIM_REMOVALS, queue, before_ms)


_Turn = tuple[str, int, bytes, bytes | None]

_log = library_log.get_logger("holdfast.ledger")

PAGE_TASKS = 100

_pack = msgspec.msgpack.Encoder().encode
_record = msgspec.msgpack.Decoder(dict[str, bytes]).decode
_list = msgspec.msgpack.Decoder(tuple[bytes, ...]).decode

# OFFSET 0: each is looked up by itself. Of a table that was never analyzed the planner would read a whole queue's rows.
_EARLIER_LIVES = """
SELECT n.task_id FROM unnest($2::text[], $3::bigint[]) AS n (task_id, created_ms) WHERE EXISTS (
    SELECT FROM holdfast_tasks t
    WHERE t.queue = $1 AND t.task_id = n.task_id AND t.created_ms <> n.created_ms OFFSET 0)"""
# Both ends of the index of tasks to put back, because Redis may have lost the oldest or the newest ones. The limit
# counts the rows that are read, also those of dead letters.
_SAMPLE = """
SELECT task_id FROM (
    (SELECT task_id, finished_ms FROM holdfast_tasks
     WHERE queue = $1 AND (finished_ms IS NULL OR dead <> '' OR webhooks <> '\\x90')
     ORDER BY seq, created_ms, task_id LIMIT $2)
    UNION
    (SELECT task_id, finished_ms FROM holdfast_tasks
     WHERE queue = $1 AND (finished_ms IS NULL OR dead <> '' OR webhooks <> '\\x90')
     ORDER BY seq DESC, created_ms DESC, task_id DESC LIMIT $2)) AS ends
WHERE finished_ms IS NULL"""
_STILL_OPEN = """
SELECT task_id FROM holdfast_tasks
WHERE queue = $1 AND task_id = ANY($2) AND finished_ms IS NULL ORDER BY task_id"""
_BEGINNING = """
(SELECT task_id FROM holdfast_tasks WHERE queue = $1 AND task_id >= $2 AND task_id < $3 ORDER BY task_id LIMIT $4)
UNION
(SELECT task_id FROM holdfast_requests WHERE queue = $1 AND task_id >= $2 AND task_id < $3 AND verb = 'run'
    AND refused IS NULL ORDER BY task_id LIMIT $4)"""
_LISTS = ("trail", "ties", "webhooks", "steps", "parent_results")
_KEPT = (
    *("state", "seq", "created_ms", "finished_ms", "seen_ms", "asked", "turn", "dead", "message_ids", "digests"),
    *("record", "pending", "checkpoint", *_LISTS, "batch", "error", "amended_epoch", "amended"),
)
_KEEP = f"""
INSERT INTO holdfast_tasks AS t (queue, task_id, {", ".join(_KEPT)})
VALUES ({", ".join(f"${n + 1}" for n in range(len(_KEPT) + 2))})
ON CONFLICT (queue, task_id) DO UPDATE SET {", ".join(f"{name} = EXCLUDED.{name}" for name in _KEPT)}
WHERE EXCLUDED.turn >= t.turn AND (t.finished_ms IS NULL OR EXCLUDED.finished_ms IS NOT NULL
    AND (EXCLUDED.amended_epoch, EXCLUDED.amended) >= (t.amended_epoch, t.amended))"""  # noqa: S608 - of our own words
_KEEP_TURN = """
INSERT INTO holdfast_turns AS t (queue, task_id, turn, operation, result)
SELECT $1, n.* FROM unnest($2::text[], $3::integer[], $4::bytea[], $5::bytea[]) AS n
ON CONFLICT (queue, task_id, turn) DO UPDATE SET result = EXCLUDED.result
WHERE t.result IS NULL AND EXCLUDED.result IS NOT NULL"""

_COLUMNS = """
task_id, turn, dead, record, pending, checkpoint, trail, ties, webhooks, steps, parent_results, message_ids, digests,
    seq, created_ms, seen_ms
"""
# The size of a task, without reading it.
_BYTES = """
octet_length(record) + octet_length(pending) + octet_length(checkpoint) + octet_length(trail)
    + octet_length(steps) + octet_length(parent_results)
    + pg_column_size(message_ids) + pg_column_size(digests)
    + (SELECT coalesce(sum(octet_length(operation) + coalesce(octet_length(result), 0)), 0)
       FROM holdfast_turns u WHERE u.queue = t.queue AND u.task_id = t.task_id)"""


def _page(which: str, order: str, limit: int) -> str:
    """The SQL text that reads a page of tasks. Two parameters limit the number of tasks and, from the second task on,
    their bytes."""
    return f"""
SELECT {_COLUMNS} FROM (
    SELECT *, sum(bytes) OVER (ORDER BY {order}) - bytes AS before FROM (
        SELECT *, {_BYTES} AS bytes FROM holdfast_tasks t WHERE queue = $1 AND {which} ORDER BY {order} LIMIT ${limit}
    ) AS page) AS weighed
WHERE before < ${limit + 1} ORDER BY {order}"""  # noqa: S608 - of our own words


_OPEN = _page(
    "(finished_ms IS NULL OR dead <> '' OR webhooks <> '\\x90') AND (seq, created_ms, task_id) > ($2, $3, $4)",
    "seq, created_ms, task_id",
    5,
)
_ENDED_SINCE = _page(
    "finished_ms IS NOT NULL AND seen_ms >= $2 AND (seen_ms, task_id) > ($3, $4)", "seen_ms, task_id", 5
)
_ENDED_OF = _page("finished_ms IS NOT NULL AND task_id = ANY($2) AND task_id > $3", "task_id", 4)
_ENDED_OF_BATCHES = _page("finished_ms IS NOT NULL AND batch = ANY($2) AND task_id > $3", "task_id", 4)
_THESE = f"""
SELECT {_COLUMNS} FROM holdfast_tasks WHERE queue = $1 AND task_id = ANY($2)"""  # noqa: S608 - of our own words
_TURNS = """
SELECT task_id, turn, operation, result FROM holdfast_turns
WHERE queue = $1 AND task_id = ANY($2) ORDER BY task_id, turn"""
_ENDED = """
SELECT task_id, finished_ms FROM holdfast_tasks WHERE queue = $1 AND state = ANY($2) AND finished_ms IS NOT NULL
    AND (finished_ms, task_id) < ($3, $4) ORDER BY finished_ms DESC, task_id DESC LIMIT $5"""

_ENDED_WITH_ERROR = _ENDED.replace("finished_ms IS NOT NULL", "finished_ms IS NOT NULL AND error = $6 AND error <> ''")

_TRIM = """
DELETE FROM holdfast_tasks WHERE queue = $1 AND task_id IN (
    SELECT task_id FROM holdfast_tasks WHERE queue = $1 AND finished_ms < $2 ORDER BY finished_ms, task_id LIMIT $3)"""


async def keep(sql: Any, queue: str, dumps: Dumps) -> None:
    """Write the state that these tasks had at the time of the dump. A damaged task keeps its last known state."""
    whole = list(_whole(queue, dumps))
    if not whole:
        return
    dumped, rows, turns = zip(*whole, strict=True)
    lives = [(dump.task_id, dump.number("created")) for dump in dumped]
    earlier = await sql.fetch(_EARLIER_LIVES, queue, *map(list, zip(*lives, strict=True)))
    if earlier:
        await remove(sql, queue, [row["task_id"] for row in earlier], dumps.seen_ms)
    await sql.executemany(_KEEP, rows)
    last = {turn[:2]: turn for some in turns for turn in some}
    await sql.execute(_KEEP_TURN, queue, *map(list, zip(*last.values(), strict=True)))


def _whole(queue: str, dumps: Dumps) -> Iterator[tuple[Dump, tuple[object, ...], list[_Turn]]]:
    """The rows of the tasks that can be read. Damaged tasks are left out, so that the others can still be copied."""
    damaged = list(dumps.damaged)
    for dump in dumps.tasks:
        try:
            found = (dump, _row(queue, dump, dumps.seen_ms), list(_turns(dump)))
        except (ValueError, OverflowError):
            damaged.append(dump.task_id)
        else:
            if dump.operation and dump.number("turn") > 0:
                yield found
            else:
                damaged.append(dump.task_id)
    for task_id in damaged:
        _log.warning("a task is damaged in Redis: it is not copied to PostgreSQL", task=task_id)


async def to_put_back(sql: Any, queue: str, cursor: str, limit: int) -> tuple[list[Dump], str]:
    """A page of tasks to put back into Redis, in the order of their lanes, and the next cursor: tasks that have not
    ended, dead letters, and tasks with a webhook that is not posted yet."""
    after = msgspec.json.decode(cursor) if cursor else (-1, 0, "")
    rows = await sql.fetch(_OPEN, queue, *after, limit, PAGE_BYTES)
    return await _dumps(sql, queue, rows), _cursor(rows, "seq", "created_ms", "task_id")


async def ended_since(sql: Any, queue: str, since_ms: int, cursor: str, limit: int) -> tuple[list[Dump], str]:
    """Tasks whose end the ledger has seen since this moment, and the next cursor."""
    after = msgspec.json.decode(cursor) if cursor else (-1, "")
    rows = await sql.fetch(_ENDED_SINCE, queue, since_ms, *after, limit, PAGE_BYTES)
    return await _dumps(sql, queue, rows), _cursor(rows, "seen_ms", "task_id")


async def open_sample(sql: Any, queue: str, each_end: int) -> list[str]:
    """The ids of open tasks among so many of the oldest and of the newest tasks that would be put back."""
    return [row["task_id"] for row in await sql.fetch(_SAMPLE, queue, each_end)]


async def still_open(sql: Any, queue: str, task_ids: Sequence[str]) -> list[str]:
    """Those of these tasks that have not ended and were not removed."""
    return [row["task_id"] for row in await sql.fetch(_STILL_OPEN, queue, list(task_ids))]


async def these(sql: Any, queue: str, task_ids: Sequence[str]) -> list[Dump]:
    return await _dumps(sql, queue, await sql.fetch(_THESE, queue, list(task_ids)))


async def beginning(sql: Any, queue: str, prefix: str, limit: int) -> list[str]:
    """The ids with this prefix of all tasks that the ledger has read, or that Redis has not got yet. No character of an
    id sorts behind `~`."""
    return [row["task_id"] for row in await sql.fetch(_BEGINNING, queue, prefix, f"{prefix}~", limit)]


async def known(sql: Any, queue: str, task_ids: Sequence[str]) -> set[str]:
    """The tasks in this list that the ledger has."""
    query = """SELECT n.task_id FROM unnest($2::text[]) AS n (task_id)
WHERE EXISTS (SELECT FROM holdfast_tasks t WHERE t.queue = $1 AND t.task_id = n.task_id OFFSET 0)"""  # as above
    return {row["task_id"] for row in await sql.fetch(query, queue, list(task_ids))}


def ended_parents(sql: Any, queue: str, dumps: Sequence[Dump]) -> AsyncIterator[list[Dump]]:
    """Those parents of these tasks that have ended. A child can begin in Redis only if Redis has its ended parents."""
    return ended_of(sql, queue, {parent for dump in dumps for parent in dump.parents})


def ended_of(sql: Any, queue: str, task_ids: Collection[str]) -> AsyncIterator[list[Dump]]:
    """The ended tasks among the ids in this list, in pages."""
    return _pages(sql, _ENDED_OF, queue, task_ids)


def ended_of_batches(sql: Any, queue: str, batches: Collection[str]) -> AsyncIterator[list[Dump]]:
    """The ended tasks of these batches, in pages. They are put back into Redis, so that Redis counts each batch's ended
    tasks correctly after a loss of data."""
    return _pages(sql, _ENDED_OF_BATCHES, queue, batches)


async def _pages(sql: Any, query: str, queue: str, names: Collection[str]) -> AsyncIterator[list[Dump]]:
    cursor = ""
    while names and (rows := await sql.fetch(query, queue, list(names), cursor, PAGE_TASKS, PAGE_BYTES)):
        yield await _dumps(sql, queue, rows)
        cursor = rows[-1]["task_id"]


async def ended(
    sql: Any, queue: str, states: Sequence[str], before: tuple[int, str], limit: int, error: str = ""
) -> list[tuple[str, int]]:
    """The ids of tasks in these terminal states, each with the moment of its end, newest first. `error`: only tasks
    whose last run failed with this kind of error."""
    query, kinds = (_ENDED_WITH_ERROR, [error]) if error else (_ENDED, [])
    rows = await sql.fetch(query, queue, list(states), *before, limit, *kinds)
    return [(row["task_id"], row["finished_ms"]) for row in rows]


async def trim(sql: Any, queue: str, before_ms: int, limit: int) -> None:
    """Delete tasks that ended before this moment, the oldest first, at most `limit`."""
    await sql.execute(_TRIM, queue, before_ms, limit)


def message_ids(dump: Dump) -> dict[str, str]:
    """The ids of all messages of the task, each with the digest of its content."""
    seen = {message: digest.decode() for message, digest in pairs(dump.messages)}
    return {dump.text("message"): dump.text("digest")} | seen


def _row(queue: str, dump: Dump, seen_ms: int) -> tuple[object, ...]:
    seen = message_ids(dump)
    finished = dump.number("finished") or None
    numbers = (dump.number("seq"), dump.number("created"), finished, seen_ms, dump.number("asked"), dump.number("turn"))
    messages = (dump.dead.decode(), list(seen), list(seen.values()))
    packed = (_pack(dump.record), _pack(dump.pending), dump.checkpoint, *(_pack(getattr(dump, of)) for of in _LISTS))
    return (
        queue,
        dump.task_id,
        dump.text("state"),
        *numbers,
        *messages,
        *packed,
        dump.batch,
        dump.error_kind,
        *dump.amended,
    )


def _turns(dump: Dump) -> Iterable[_Turn]:
    for turn, (operation, result) in enumerate(zip(dump.history[::2], dump.history[1::2], strict=True), 1):
        yield dump.task_id, turn, operation, result or None
    yield dump.task_id, dump.number("turn"), dump.operation, dump.result or None


async def _dumps(sql: Any, queue: str, rows: Sequence[Any]) -> list[Dump]:
    turns: dict[str, dict[int, tuple[bytes, bytes]]] = {row["task_id"]: {} for row in rows}
    for turn in await sql.fetch(_TURNS, queue, list(turns)) if rows else ():
        turns[turn["task_id"]][turn["turn"]] = (turn["operation"], turn["result"] or b"")
    return [_dump(row, turns[row["task_id"]]) for row in rows]


def _dump(row: Any, turns: dict[int, tuple[bytes, bytes]]) -> Dump:
    operation, result = turns[row["turn"]]
    history = tuple(part for turn in range(1, row["turn"]) for part in turns[turn])
    seen = zip(row["message_ids"], row["digests"], strict=True)
    several = len(row["message_ids"]) > 1  # as Redis keeps them
    return Dump(
        task_id=row["task_id"],
        record=_record(row["record"]),
        dead=row["dead"].encode(),
        operation=operation,
        history=history,
        result=result,
        pending=_list(row["pending"]),
        messages=tuple(word.encode() for pair in seen for word in pair) if several else (),
        checkpoint=row["checkpoint"],
        **{of: _list(row[of]) for of in _LISTS},
    )
