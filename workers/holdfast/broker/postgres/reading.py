"""What Redis does not know (any more), told from the ledger in the words of the port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.broker.postgres import requests, tasks
from holdfast.broker.redis import rows
from holdfast.broker.redis.ledger import Dump
from holdfast.core.records import Submission, TaskRecord
from holdfast.core.states import TERMINAL, State

MARK = "ledger"  # begins a cursor
_NEWEST = (1 << 62, "")


async def task(sql: Any, queue: str, task_id: str, *, payloads: bool) -> TaskRecord | None:
    """A task that was read by the ledger, or one that is on its way to Redis."""
    found = await tasks.these(sql, queue, [task_id])
    if found:
        return record(found[0], payloads=payloads)
    accepted = await requests.first_of(sql, queue, task_id)
    return None if accepted is None else _accepted(accepted, payloads=payloads)


def ended_of(states: Sequence[State]) -> list[str]:
    """The terminal ones of these states (none: of all)."""
    return sorted(TERMINAL.intersection(states or TERMINAL))


async def ended(sql: Any, queue: str, states: Sequence[State], limit: int, cursor: str) -> tuple[str, list[TaskRecord]]:
    """The next cursor, and tasks without their payloads, newest first."""
    at, _, task_id = cursor.removeprefix(MARK).partition(":")
    ids = await tasks.ended(sql, queue, ended_of(states), (int(at), task_id) if at else _NEWEST, limit)
    found = {dump.task_id: dump for dump in await tasks.these(sql, queue, [each for each, _ in ids])}
    following = f"{MARK}{ids[-1][1]}:{ids[-1][0]}" if len(ids) == limit else ""
    return following, [record(found[each], payloads=False) for each, _ in ids]


def record(dump: Dump, *, payloads: bool) -> TaskRecord:
    """As `show` answers."""
    flat = [word for name, value in dump.record.items() for word in (name.encode(), value)]
    before = dump.history[-1] if dump.history else b""
    told = (list(dump.trail), dump.operation, dump.result or before, dump.checkpoint)
    bare: tuple[list[bytes], bytes, bytes, bytes] = ([], b"", b"", b"")
    return rows.task_record(
        dump.task_id, [flat, int(bool(dump.dead)), len(dump.pending), *(told if payloads else bare)]
    )


def _accepted(one: Submission, *, payloads: bool) -> TaskRecord:
    """Redis does not know it yet."""
    return TaskRecord(
        task_id=one.task_id,
        state=State.SUBMITTED,
        lane=one.lane,
        turn=1,
        message_id=one.message_id,
        name=one.name,
        origin="own",
        created_ms=0,
        due_ms=one.due_ms,
        finished_ms=None,
        deliveries=0,
        attempts=0,
        crashes=0,
        releases=0,
        owner="",
        claim="",
        solo=False,
        progress="",
        reason="waits in PostgreSQL until Redis can take it",
        dead=False,
        operation=one.operation if payloads else None,
        max_attempts=one.max_attempts,
    )
