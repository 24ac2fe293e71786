"""Change requests: an operation on a schedule, on lanes or on hosts, with its arguments.

A change is accepted when PostgreSQL has it. It is then given to Redis, and its row is deleted when the ledger has read
its effect. The changes of one setting are carried out in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.store.ledger import request_order
from holdfast.store.redis.connection import Value

_pack = msgspec.msgpack.Encoder().encode
_change = msgspec.msgpack.Decoder(tuple[str, tuple[Any, ...]]).decode

_SCHEDULES = frozenset({"schedule_put", "schedule_pause", "schedule_resume", "schedule_remove"})
_LANES = frozenset({"pause_lane", "resume_lane"})
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
class ChangeReceipt:
    """An accepted change. `blocked`: earlier changes of the same setting wait and come first."""

    request: int
    blocked: bool


def setting_of(operation: str, args: Sequence[Value]) -> str:
    """The name of the setting that an operation changes; empty where the change is not written down first.

    Limits from a host's settings file are not: its steward sets them again when it starts.
    """
    if operation in _SCHEDULES:
        return "schedule|" + str(args[0])
    if operation in _HOSTS:
        return "quiet|"
    return "rules|" if operation in _LANES or (operation == "bound" and args[0] == "asked") else ""


async def enter(sql: Any, queue: str, setting: str, operation: str, args: Sequence[Value]) -> ChangeReceipt:
    """Accept a change. It is not entered twice if it equals the last one that waits."""
    await request_order.lock(sql, queue, [setting])
    content = _pack((operation, args))
    waiting = await sql.fetch(_WAIT, queue, setting)
    if waiting and waiting[-1]["content"] == content:
        return ChangeReceipt(waiting[-1]["id"], blocked=len(waiting) > 1)
    return ChangeReceipt(await sql.fetchval(_ENTER, queue, setting, content), blocked=bool(waiting))


async def waiting(sql: Any, queue: str, of: str, older_than: float, limit: int) -> list[Change]:
    """The oldest changes that wait to be given. `of`: the first letters of their settings' names."""
    rows = await sql.fetch(_WAITING, queue, of, older_than, limit)
    return [Change(row["id"], row["task_id"], *_change(row["content"])) for row in rows]


async def carried_out(sql: Any, queue: str) -> None:
    """Delete the changes that were given: their effects have been read with everything that Redis knows."""
    await sql.execute(_CARRIED_OUT, queue)
