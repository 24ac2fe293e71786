"""The Redis calls of producers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import msgspec

from holdfast.core.submit_options import SubmitOptions
from holdfast.core.tasks import Accepted, Receipt, Submission
from holdfast.store.redis.connection import DAMAGED, Connection, Value, given
from holdfast.store.redis.joined_submits import JoinedSubmits
from holdfast.store.redis.keys import Keys
from holdfast.store.redis.part import RedisPart, Run

_ACCEPTED = {str(word).encode(): word for word in Accepted}
_pack = msgspec.msgpack.Encoder().encode


def _packed(options: SubmitOptions | None, *, promised: bool) -> Value:
    if options is None and not promised:
        return ""
    options = options or SubmitOptions()
    expiry = (given(options.expires_ms), given(options.expires_in_ms))
    keys = (options.debounce, options.unique, given(options.unique_ms), options.webhook)
    batch = options.batch.text if options.batch else ""
    return _pack((options.after, options.if_parent_fails, *expiry, *keys, batch, int(promised)))


def submitted(keys: Keys, s: Submission) -> tuple[Value, ...]:
    """A submission as `submit` takes it."""
    return (
        s.task_id,
        s.message_id,
        f"o{s.digest}",
        s.operation,
        keys.name(s.lane),
        "" if s.due_ms is None else s.due_ms,  # not `given`: a call for each value takes time
        "" if s.delay_ms is None else s.delay_ms,
        s.name,
        "" if s.max_attempts is None else s.max_attempts,
        "" if s.timeout_ms is None else s.timeout_ms,
        s.concurrency_key,
    )


def submitted_with_options(keys: Keys, s: Submission, *, promised: bool = False) -> tuple[Value, ...]:
    """A submission as `submit_with_options` takes it. `promised`: a producer was told that it is accepted."""
    return (*submitted(keys, s), _packed(s.options, promised=promised))


class RedisProducer(RedisPart):
    def __init__(self, connection: Connection, run: Run | None = None) -> None:
        super().__init__(connection, run)
        self._joined = JoinedSubmits(self._submit)

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        for one in submissions:
            if one.options:
                raise ValueError("a submission with options: submit_with_options is for those")
        return [await self._joined.submit(*submissions)] if len(submissions) == 1 else await self._submit(submissions)

    async def _submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        args = [value for one in submissions for value in submitted(self._keys, one)]
        answers: list[bytes] = await self._run("submit", *args) if args else []
        return [_ACCEPTED[answer] for answer in answers]

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        args = [value for one in submissions for value in submitted_with_options(self._keys, one)]
        answers: list[list[bytes]] = await self._run("submit_with_options", *args) if args else []
        return [Receipt(Accepted(word.decode()), task_id.decode()) for word, task_id in answers]

    async def message(self, submission: Submission) -> Accepted:
        s = submission
        return Accepted(await self._word("message", s.task_id, s.message_id, f"o{s.digest}", s.operation))

    async def cancel(self, task_id: str, reason: str) -> str:
        return await self._order("cancel", task_id, reason)

    async def pause(self, task_id: str, reason: str) -> str:
        return await self._order("pause", task_id, reason)

    async def resume(self, task_id: str, reason: str) -> str:
        return await self._order("resume", task_id, reason)

    async def _order(self, name: str, task_id: str, reason: str) -> str:
        word = await self._word(name, task_id, reason)
        if word == DAMAGED:
            await self._connection.refuse_damaged(task_id)
        return word

    def settled(self, task_ids: Sequence[str]) -> AsyncIterator[str]:
        return self._connection.notices.settled(task_ids)

    def emitted(self, task_id: str) -> AsyncGenerator[str]:
        return self._connection.notices.emitted(task_id)
