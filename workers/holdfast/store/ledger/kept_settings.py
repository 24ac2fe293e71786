"""The table of kept settings: schedules, and limits and pauses of lanes and hosts, as they were read from Redis.

A setting is read together with all events up to that moment. So if a schedule counts a run, the ledger has the run's
task. A setting may be older than the tasks: if the ledger already has the task of a planned run, the schedule does not
create it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holdfast.store.redis.ledger import KeptSetting

BEFORE_TASKS = ("rules|", "quiet|", "webhook|")  # they apply to tasks, so they go back first

_pack = msgspec.msgpack.Encoder().encode
_content = msgspec.msgpack.Decoder(tuple[bytes, ...]).decode

_NOTE = """
INSERT INTO holdfast_facts AS f (queue, name, asked, unread) SELECT $1, name, asked, true
FROM unnest($2::text[], $3::bigint[]) AS n (name, asked) ORDER BY name
ON CONFLICT (queue, name) DO UPDATE SET unread = true, asked = greatest(f.asked, EXCLUDED.asked)"""
_UNREAD = "SELECT name FROM holdfast_facts WHERE queue = $1 AND unread ORDER BY name LIMIT $2"
_KEEP = """
INSERT INTO holdfast_facts AS f (queue, name, content, removed, seen_ms)
SELECT $1, n.*, $5 FROM unnest($2::text[], $3::bytea[], $4::boolean[]) AS n
ON CONFLICT (queue, name) DO UPDATE SET content = CASE WHEN EXCLUDED.removed THEN f.content ELSE EXCLUDED.content END,
    removed = EXCLUDED.removed, seen_ms = EXCLUDED.seen_ms, unread = false, doubtful = false"""
_CONFIRM = """
DELETE FROM holdfast_requests r USING holdfast_facts f
WHERE r.queue = $1 AND r.verb = 'change' AND r.task_id = ANY($2)
    AND f.queue = r.queue AND f.name = r.task_id AND r.id <= f.asked"""
_PAGE = """
SELECT name, content, removed FROM holdfast_facts WHERE queue = $1 AND (name = ANY($2)) = $3 AND name > $4
    AND seen_ms >= greatest($5::bigint, 1) AND NOT doubtful ORDER BY name LIMIT $6"""
_LOST = "UPDATE holdfast_facts SET doubtful = $2 AND NOT removed WHERE queue = $1"
_DOUBT = "UPDATE holdfast_facts SET doubtful = true WHERE queue = $1 AND NOT removed"
_GONE = "UPDATE holdfast_facts SET removed = true, doubtful = false, seen_ms = $2 WHERE queue = $1 AND doubtful"
_TRIM = "DELETE FROM holdfast_facts WHERE queue = $1 AND removed AND NOT unread AND seen_ms < $2"


async def note(sql: Any, queue: str, named: Mapping[str, int]) -> None:
    """Mark these settings as changed in Redis and not read yet. `named`: for each setting, the number of the last
    request that was carried out on it (0: none)."""
    if named:
        await sql.execute(_NOTE, queue, list(named), list(named.values()))


async def unread(sql: Any, queue: str, limit: int) -> list[str]:
    return [row["name"] for row in await sql.fetch(_UNREAD, queue, limit)]


async def keep(sql: Any, queue: str, settings: Sequence[KeptSetting], seen_ms: int) -> None:
    """Write these settings as they are in Redis now, and delete the requests whose effect they show.

    `seen_ms`: the moment of the last event in Redis when the settings were read.
    """
    names = [setting.name for setting in settings]
    await sql.execute(
        _KEEP,
        queue,
        names,
        [_pack(setting.content) for setting in settings],
        [setting.removed for setting in settings],
        seen_ms,
    )
    await sql.execute(_CONFIRM, queue, names)


async def before_tasks(sql: Any, queue: str, since_ms: int) -> list[KeptSetting]:
    """The settings that a rebuild puts back into Redis before any task: those of lanes and hosts, and the queue's
    webhook. Only settings that the ledger read at `since_ms` or later."""
    return await _page(sql, queue, since_ms, before=True, cursor="", limit=len(BEFORE_TASKS))


async def after_tasks(sql: Any, queue: str, since_ms: int, cursor: str, limit: int) -> list[KeptSetting]:
    """A page of the settings that a rebuild puts back after the tasks, in the order of their names."""
    return await _page(sql, queue, since_ms, before=False, cursor=cursor, limit=limit)


async def lost(sql: Any, queue: str, *, only_events: bool) -> None:
    """Record that Redis has lost data. `only_events`: Redis has lost only events. In this case, somebody has removed
    each setting that is missing in Redis."""
    await sql.execute(_LOST, queue, only_events)


async def doubt(sql: Any, queue: str) -> None:
    """Mark all settings as doubtful before the ledger reads every setting in Redis. A setting that is still doubtful
    after that was removed."""
    await sql.execute(_DOUBT, queue)


async def all_read(sql: Any, queue: str, now_ms: int) -> None:
    """Record that every setting in Redis was read. Settings that are still doubtful are not in Redis, and count as
    removed."""
    await sql.execute(_GONE, queue, now_ms)


async def trim(sql: Any, queue: str, before_ms: int) -> None:
    """Delete settings that were removed before `before_ms`."""
    await sql.execute(_TRIM, queue, before_ms)


async def _page(sql: Any, queue: str, since_ms: int, *, before: bool, cursor: str, limit: int) -> list[KeptSetting]:
    rows = await sql.fetch(_PAGE, queue, list(BEFORE_TASKS), before, cursor, since_ms, limit)
    return [KeptSetting(row["name"], _content(row["content"]), row["removed"]) for row in rows]
