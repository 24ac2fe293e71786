"""The Redis calls about batches; their tasks are submitted with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.core.batches import ENDS, BatchPage, BatchRecord, BatchTask, Canceled, Sealed, batch_counts
from holdfast.errors import UnreadableRecordError
from holdfast.store.redis.connection import DAMAGED
from holdfast.store.redis.decode import pairs, read_position
from holdfast.store.redis.part import RedisPart


class RedisBatches(RedisPart):
    """The calls about batches; their tasks are submitted by `submit_with_options`."""

    async def batch(self, batch_id: str) -> BatchRecord | None:
        """The record of a batch; None for an unknown one. UnreadableRecordError where somebody has damaged it."""
        answer = await self._run("batch_show", batch_id)
        if answer == DAMAGED.encode():
            raise _damaged(batch_id)
        return batch_record(batch_id, answer) if answer else None

    async def batches(self, limit: int, cursor: str = "", beginning: str = "") -> BatchPage:
        """A page of batches, the latest first: those among `limit` whose ids begin so. It is taken by rank: while
        batches come and go a page may repeat or miss one."""
        start, found, unreadable = read_position(cursor), list[BatchRecord](), list[str]()
        total, ids = await self._run("batch_list", start, limit, beginning)
        for batch_id in (each.decode(errors="backslashreplace") for each in ids):
            try:
                record = await self.batch(batch_id)
            except UnreadableRecordError:
                unreadable.append(batch_id)
            else:
                found += [record] if record else []
        following = start + limit
        return BatchPage(tuple(found), str(following) if following < total else "", tuple(unreadable))

    async def batch_tasks(self, batch_id: str, after: int, limit: int) -> tuple[tuple[BatchTask, ...], bool]:
        """The tasks at the `limit` places behind `after`, in order; True if there are places behind these."""
        answer = await self._run("batch_tasks", batch_id, after, limit)
        if answer == DAMAGED.encode():
            raise _damaged(batch_id)
        more, rows = answer
        return tuple(map(_task, rows)), more == 1

    async def seal_batch(self, batch_id: str) -> Sealed:
        """Let a batch take no more tasks."""
        word = await self._word("batch_seal", batch_id)
        if word == DAMAGED:
            raise _damaged(batch_id)
        return Sealed(word)

    async def cancel_batch(self, batch_id: str, limit: int, reason: str) -> Canceled:
        """Cancel the callback and at most `limit` open tasks."""
        answer = await self._run("batch_cancel", batch_id, limit, reason)
        if answer == DAMAGED.encode():
            raise _damaged(batch_id)
        word, tasks, left = answer
        return Canceled(word.decode(), tasks, left)

    async def look_at_batches(self, limit: int) -> tuple[int, int | None]:
        """Count ends that were not counted, among at most `limit` open tasks of one batch; the number
        that was counted, and milliseconds until there is more to look at (None: no batch is open)."""
        counted, wait = await self._run("batch_look", limit)
        return counted, None if wait < 0 else wait


def batch_record(batch_id: str, answer: Sequence[Any]) -> BatchRecord:
    """Raises UnreadableRecordError if a fact is missing or has an impossible value."""
    flat, counts, now = answer
    facts = {name: value.decode(errors="replace") for name, value in pairs(flat)}
    try:
        return BatchRecord(
            batch_id=batch_id,
            counts=batch_counts(counts),
            expected=int(facts["expected"]),
            created_ms=int(facts["created"]),
            sealed_ms=_moment(facts, "sealed"),
            ended_ms=_moment(facts, "ended"),
            canceled_ms=_moment(facts, "canceled"),
            sealed_by=facts.get("sealed_by", ""),
            then=facts.get("callback", ""),
            now_ms=now,
        )
    except (KeyError, ValueError):
        raise _damaged(batch_id) from None


def _task(row: Sequence[Any]) -> BatchTask:
    place, band, task_id = row
    return BatchTask(place, task_id.decode(), ENDS[int(band)])


def _moment(facts: Mapping[str, str], name: str) -> int | None:
    return int(facts[name]) if facts.get(name) else None


def _damaged(batch_id: str) -> UnreadableRecordError:
    return UnreadableRecordError(f"the record of batch {batch_id!a} cannot be read: somebody else has changed its keys")
