"""Looks up tasks in the ledger that Redis does not know, or has forgotten."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from holdfast.core.acceptance import Submission
from holdfast.core.steps import StepHead, read_head
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord, TextSearch, Wanted
from holdfast.errors import InvalidTaskError
from holdfast.store.ledger.tables import requests, tasks
from holdfast.store.redis import decode
from holdfast.store.redis.task_dump import Dump

MARK = "ledger"  # begins a cursor
LARGEST_STEP = 100  # tasks that one step of a search reads, with all of their turns
_NEWEST = (1 << 62, "")
_CURSOR = re.compile(rf"{MARK}(?:(?P<at>\d{{1,15}}):(?P<id>[\w.@-]+))?", re.ASCII)


async def task(sql: Any, queue: str, task_id: str, *, payloads: bool) -> TaskRecord | None:
    """A task that the ledger has read, or one that waits to be given to Redis."""
    found = await tasks.these(sql, queue, [task_id])
    if found:
        return record(found[0], payloads=payloads)
    accepted = await requests.first_of(sql, queue, task_id)
    return None if accepted is None else _accepted(accepted, payloads=payloads)


async def step_names(sql: Any, queue: str, task_id: str) -> tuple[StepHead, ...]:
    """The steps that the ledger has read of a task, without their results, in the order of their places."""
    found = [
        read_head(int(place), head, len(result))
        for dump in await tasks.these(sql, queue, [task_id])
        for place, text in zip(dump.steps[::2], dump.steps[1::2], strict=True)
        for head, mark, result in [text.partition(b"\n")]
        if mark  # none: the sum of their bytes, which stands beside them
    ]
    return tuple(sorted(found, key=lambda step: step.place))


def ended_of(wanted: Wanted) -> list[str]:
    """The terminal states among these (none: all terminal states). Empty if the filter names a worker, because ended
    tasks have none."""
    return [] if wanted.owner else sorted(TERMINAL.intersection(wanted.states or TERMINAL))


async def ended(
    sql: Any, queue: str, wanted: Wanted, limit: int, cursor: str, now_ms: int, search: TextSearch | None = None
) -> tuple[str, list[TaskRecord], int]:
    """The next cursor, tasks without payloads (newest first, fewer than `limit` if some do not match), and the number
    of tasks searched."""
    place = _CURSOR.fullmatch(cursor)
    if place is None:
        raise InvalidTaskError(f"cursor {cursor!r}: the cursor of the page before is expected, or none to begin")
    before = (int(place["at"]), place["id"]) if place["at"] else _NEWEST
    ids = await tasks.ended(sql, queue, ended_of(wanted), before, limit)
    found = {dump.task_id: dump for dump in await tasks.these(sql, queue, [each for each, _ in ids])}
    following = f"{MARK}{ids[-1][1]}:{ids[-1][0]}" if len(ids) == limit else ""
    fitting = [
        task
        for task in (record(found[each], payloads=search is not None) for each, _ in ids)
        if _fits(task, wanted, now_ms - task.created_ms) and (search is None or search.fits(task))
    ]
    bare = [replace(task, operation=None, result=None, checkpoint=None, trail=()) for task in fitting]
    return following, bare, len(ids)


def _fits(task: TaskRecord, wanted: Wanted, age_ms: int) -> bool:
    of_place = wanted.lane in {"", task.lane} and wanted.name in {"", task.name} and wanted.batch in {"", task.batch}
    young_enough = wanted.newer_ms is None or age_ms <= wanted.newer_ms
    return of_place and young_enough and (wanted.older_ms is None or age_ms >= wanted.older_ms)


def record(dump: Dump, *, payloads: bool) -> TaskRecord:
    """Makes a task record from a dump."""
    flat = [word for name, value in dump.record.items() for word in (name.encode(), value)]
    before = next(filter(None, reversed(dump.history[1::2])), b"")
    content = (dump.operation, dump.result or before, dump.checkpoint) if payloads else (b"", b"", b"")
    parents = [parent.encode() for parent in dump.parents]
    return decode.task_record(
        dump.task_id, [flat, int(bool(dump.dead)), len(dump.pending), list(dump.trail), *content, parents]
    )


def _accepted(one: Submission, *, payloads: bool) -> TaskRecord:
    """A task that Redis does not know yet."""
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
