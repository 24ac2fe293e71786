"""The producer's API: submit tasks, steer them, look at them, wait for them.

    async with open_store(settings.redis) as store:
        manager = TaskManager(store, queue=settings.queue_name)
        task_id = await manager.run_task("hello")
        record = await manager.wait(task_id, timeout=60)

Every argument is checked before anything is written. Every call may be made again when its answer was lost; while the
store cannot be reached it is made again here, with the same bytes, and then raises StoreUnavailableError.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from holdfast.client.arguments import check_batch, check_id, check_list, check_reason
from holdfast.client.queue_control import CHUNK, QueueControl
from holdfast.client.submission import raise_refusals, registered, submission
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.client.validate import check_parts
from holdfast.core.task_states import State
from holdfast.core.tasks import Receipt, Submission
from holdfast.errors import InvalidTaskError, StoreError, UnknownTaskError
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.client.schedules import Schedules
    from holdfast.handler.registry import Handlers

_log = logging.getLogger("holdfast.client.manager")  # the application's own logging, silent unless it asks for debug


class TaskManager(QueueControl):
    """Producers and operators of one queue; needs a running event loop, starts nothing of its own.

    `max_message_bytes` is the largest operation that may be submitted. A registry in `handlers` gives named tasks their
    lane, and their arguments are checked by it before anything is written.
    """

    def __init__(
        self,
        store: Store,
        *,
        queue: str,
        max_message_bytes: int = 1048576,
        patience: SubmitRetries | None = None,
        handlers: Handlers | None = None,
    ) -> None:
        check_parts(patience, handlers, max_message_bytes)
        super().__init__(store, queue, patience)
        self._max_bytes = max_message_bytes
        self._handlers = handlers
        self._whole = store
        self._patience = patience

    @cached_property
    def schedules(self) -> Schedules:
        """Set, look at, pause and remove what runs again and again."""
        from holdfast.client.schedules import (
            Schedules,  # what it brings along is not small, and not every producer needs it
        )

        return Schedules(self._whole, self._queue, self._max_bytes, self._patience)

    async def run_task(
        self,
        text: str | None = None,
        *,
        data: object = None,
        name: str | None = None,
        kwargs: dict[str, object] | None = None,
        task_id: str | None = None,
        context_id: str | None = None,
        message_id: str | None = None,
        lane: str | None = None,
        delay: float | None = None,
        at: datetime | float | None = None,
        max_attempts: int | None = None,
        timeout: float | None = None,
        concurrency_key: str | None = None,
        metadata: dict[str, object] | None = None,
        key: str | None = None,
        after: Sequence[str] | None = None,
        if_parent_fails: Literal["fail", "run"] | None = None,
        expires: datetime | float | None = None,
        debounce: str | None = None,
        unique: str | None = None,
        unique_for: float | None = None,
        webhook: str | None = None,
    ) -> str:
        """Submit one task, or one more message for the task `task_id`; its id. See TaskSpec for the arguments.

        Of a duplicate by its unique key it is the first one's id. Raises InvalidTaskError, MessageConflictError,
        TaskEndedError, UnknownTaskError (a task in `after`), StoreFullError, StoreUnavailableError.
        """
        spec = TaskSpec(
            text=text,
            data=data,
            name=name,
            kwargs=kwargs,
            task_id=task_id,
            context_id=context_id,
            message_id=message_id,
            lane=lane,
            delay=delay,
            at=at,
            max_attempts=max_attempts,
            timeout=timeout,
            concurrency_key=concurrency_key,
            metadata=metadata,
            key=key,
            after=after,
            if_parent_fails=if_parent_fails,
            expires=expires,
            debounce=debounce,
            unique=unique,
            unique_for=unique_for,
            webhook=webhook,
        )
        return (await self.run_tasks([spec]))[0]

    async def run_tasks(self, specs: Iterable[TaskSpec]) -> list[str]:
        """Submit a batch, which is held in memory; the ids in its order. All are checked before the first is written.

        Those that the store refuses (MessageConflictError, TaskEndedError, UnknownTaskError name the first) do not keep
        out the others.
        """
        batch = [self.prepare(spec) for spec in cast("list[TaskSpec]", check_list("specs", specs, "TaskSpec"))]
        receipts = await self.submit(batch)
        raise_refusals(batch, receipts)
        return [receipt.task_id for receipt in receipts]

    def prepare(self, spec: TaskSpec) -> Submission:
        """Check `spec` and make what `submit` takes: the same bytes each time it is submitted. InvalidTaskError."""
        if self._handlers is not None:
            spec = registered(spec, self._handlers)
        return submission(spec, self._queue, self._max_bytes)

    async def submit(self, batch: Sequence[Submission]) -> list[Receipt]:
        """What became of each, refusals included; the batch may be submitted again after an error."""
        batch, answers = check_batch(batch), list[Receipt]()
        try:
            for start in range(0, len(batch), CHUNK):
                answers += await self._submit(batch[start : start + CHUNK])
                if _log.isEnabledFor(logging.DEBUG):
                    _tell(batch[start : start + CHUNK], answers[start:])
        except StoreError as error:
            error.add_note(f"{len(answers)} of {len(batch)} tasks were accepted before")
            raise
        return answers

    async def _submit(self, chunk: Sequence[Submission]) -> list[Receipt]:
        if any(one.terms for one in chunk):
            return await self._call(self._store.submit_on_terms, chunk)
        answers = await self._call(self._store.submit, chunk)
        return [Receipt(answer, one.task_id) for one, answer in zip(chunk, answers, strict=True)]

    async def cancel_task(self, task_id: str, reason: str = "canceled by a producer") -> State:
        """End a task that has not ended; its state afterwards: `canceled`, or the one in which it had ended before.

        The cancel of an unknown task raises UnknownTaskError and is kept for ten minutes: if the task comes after all,
        as when another producer was slower, it is canceled and does not run.
        """
        return _known(task_id, await self._call(self._store.cancel, check_id(task_id), check_reason(reason)))

    async def pause_task(self, task_id: str, reason: str = "paused by a producer") -> State:
        """Park a task: at once if it waits, when its handler stops if it is `working`; its state afterwards."""
        return _known(task_id, await self._call(self._store.pause, check_id(task_id), check_reason(reason)))

    async def resume_task(
        self,
        task_id: str,
        text: str | None = None,
        *,
        data: object = None,
        message_id: str | None = None,
        reason: str = "resumed by a producer",
    ) -> State:
        """Let a parked task go on, with one more message if `text` or `data` is given; its state afterwards.

        A message for a task that is `working` waits until the turn that runs has ended; a pause that the task was asked
        for before, and has not carried out yet, is withdrawn. The same message twice is one;
        the same words again are another message if they get a `message_id` of their own.
        """
        told = check_reason(reason)
        if text is None and data is None:
            if message_id is not None:
                raise InvalidTaskError("message_id: there is no message; give text or data too")
            return _known(task_id, await self._call(self._store.resume, check_id(task_id), told))
        one = self.prepare(TaskSpec(text=text, data=data, task_id=check_id(task_id), message_id=message_id))
        answer = await self._call(self._store.message, one)
        raise_refusals([one], [Receipt(answer, task_id)])
        return (await self._get(task_id, payloads=False)).state


def _tell(chunk: Sequence[Submission], answers: Sequence[Receipt]) -> None:
    for one, answer in zip(chunk, answers, strict=True):
        _log.debug(
            "task scheduled: %s",
            answer.task_id,
            extra={"task": answer.task_id, "lane": one.lane, "answer": str(answer.accepted)},
        )


def _known(task_id: str, state: str) -> State:
    if state == "unknown":
        raise UnknownTaskError(f"no task {task_id}; one that ended long ago is forgotten")
    return State(state)
