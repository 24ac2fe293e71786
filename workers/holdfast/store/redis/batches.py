"""The Redis calls about batches; their tasks are submitted with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.core.batches import ENDS, BatchPage, BatchRecord, BatchTask, Canceled, Sealed, batch_counts
from holdfast.errors import UnreadableRecordError
from holdfast.store.redis.connection import DAMAGED, RedisPart, Value
from holdfast.store.redis.decode import pairs, read_position


class RedisBatches(RedisPart):
    """The calls about batches; their tasks are submitted by `submit_with_options`."""

    async def batch(self, batch_id: str) -> BatchRecord | None:
        """The record of a batch; None for an unknown batch. Raises UnreadableRecordError if the record is damaged."""
        answer = await self._ask("batch_show", batch_id)
        return batch_record(batch_id, answer) if answer else None

    async def batches(self, limit: int, cursor: str = "", beginning: str = "") -> BatchPage:
        """A page of batches, the latest first. The store looks at the next `limit` batches; the page has those whose
        ids begin with `beginning`. While batches come and go, a page may repeat or miss one."""
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
        """The tasks at the `limit` places after the place `after`, in order; and True if there are further places."""
        more, rows = await self._ask("batch_tasks", batch_id, after, limit)
        return tuple(map(_task, rows)), more == 1

    async def seal_batch(self, batch_id: str) -> Sealed:
        """Seal a batch: it takes no more tasks."""
        return Sealed((await self._ask("batch_seal", batch_id)).decode())

    async def cancel_batch(self, batch_id: str, limit: int, reason: str) -> Canceled:
        """Cancel the callback and at most `limit` open tasks."""
        word, tasks, left = await self._ask("batch_cancel", batch_id, limit, reason)
        return Canceled(word.decode(), tasks, left)

    async def look_at_batches(self, limit: int) -> tuple[int, int | None]:
        """Look at up to `limit` open tasks of one batch, and count tasks whose end was missed, for example because
        their records were deleted. Returns the number of tasks counted now, and the milliseconds until the next look is
        due (None: no batch is open)."""
        counted, wait = await self._run("batch_look", limit)
        return counted, None if wait < 0 else wait

    async def _ask(self, name: str, batch_id: str, *args: Value) -> Any:
        """The answer of an operation about one batch. Raises UnreadableRecordError if the batch is damaged."""
        answer = await self._run(name, batch_id, *args)
        if answer == DAMAGED.encode():
            raise _damaged(batch_id)
        return answer


def batch_record(batch_id: str, answer: Sequence[Any]) -> BatchRecord:
    """Decode the record of a batch. Raises UnreadableRecordError if a fact is missing or has an impossible value."""
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
