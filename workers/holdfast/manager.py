"""The producer's API: submit tasks, steer them, look at them, wait for them.

    async with open_store(settings.redis) as store:
        manager = TaskManager(store, queue=settings.queue_name)
        task_id = await manager.run_task("hello")
        record = await manager.wait(task_id, timeout=60)

Every argument is checked before anything is written. Every call may be made again when its answer was lost; while the
store cannot be reached it is made again here, with the same bytes, and then raises StoreUnavailableError.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from datetime import datetime

import anyio

from holdfast.arguments import check_id, check_lane, check_limit, check_states
from holdfast.broker.port import ProducerStore
from holdfast.core.records import Accepted, Page, Submission, TaskRecord
from holdfast.core.states import State
from holdfast.errors import StoreError, StoreUnavailableError, UnknownTaskError
from holdfast.letters import Letters
from holdfast.patience import Patience
from holdfast.submitting import raise_refusals, submission
from holdfast.taskspec import TaskSpec
from holdfast.waiting import outcomes

CHUNK = 100  # submissions in one call of the store, entries in one step of `clear_queue`


class TaskManager(Letters):
    """Producers and operators of one queue; needs a running event loop, starts nothing of its own."""

    def __init__(
        self,
        store: ProducerStore,
        *,
        queue: str,
        max_message_bytes: int = 1048576,
        patience: Patience | None = None,
    ) -> None:
        super().__init__(store, patience)
        self._queue = queue
        self._max_bytes = max_message_bytes

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
        metadata: dict[str, object] | None = None,
    ) -> str:
        """Submit one task, or one more message for the task `task_id`; its id. See TaskSpec for the arguments.

        Raises InvalidTaskError, MessageConflictError, TaskEndedError, StoreFullError, StoreUnavailableError.
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
            metadata=metadata,
        )
        return (await self.run_tasks([spec]))[0]

    async def run_tasks(self, specs: Iterable[TaskSpec]) -> list[str]:
        """Submit a batch, which is held in memory; the ids in its order. All are checked before the first is written.

        Those that the store refuses (MessageConflictError, TaskEndedError name the first) do not keep out the others.
        """
        batch = [self.prepare(spec) for spec in specs]
        raise_refusals(batch, await self.submit(batch))
        return [one.task_id for one in batch]

    def prepare(self, spec: TaskSpec) -> Submission:
        """Check `spec` and make what `submit` takes: the same bytes each time it is submitted. InvalidTaskError."""
        return submission(spec, self._queue, self._max_bytes)

    async def submit(self, batch: Sequence[Submission]) -> list[Accepted]:
        """What became of each, refusals included; the batch may be submitted again after an error."""
        answers: list[Accepted] = []
        try:
            for start in range(0, len(batch), CHUNK):
                answers += await self._call(self._store.submit, batch[start : start + CHUNK])
        except StoreError as error:
            error.add_note(f"{len(answers)} of {len(batch)} tasks were accepted before")
            raise
        return answers

    async def cancel_task(self, task_id: str, reason: str = "canceled by a producer") -> State:
        """End a task that has not ended; its state afterwards: `canceled`, or the one in which it had ended before."""
        return _known(task_id, await self._call(self._store.cancel, check_id(task_id), reason))

    async def pause_task(self, task_id: str, reason: str = "paused by a producer") -> State:
        """Park a task: at once if it waits, when its handler stops if it is `working`; its state afterwards."""
        return _known(task_id, await self._call(self._store.pause, check_id(task_id), reason))

    async def resume_task(self, task_id: str, text: str | None = None, *, data: object = None) -> State:
        """Let a parked task go on, with one more message if `text` or `data` is given; its state afterwards."""
        if text is not None or data is not None:
            await self.run_task(text, data=data, task_id=task_id)
            return (await self._get(task_id, payloads=False)).state
        return _known(task_id, await self._call(self._store.resume, check_id(task_id), "resumed by a producer"))

    async def get_task(self, task_id: str) -> TaskRecord:
        """The whole task; raises UnknownTaskError."""
        return await self._get(task_id, payloads=True)

    async def _get(self, task_id: str, payloads: bool) -> TaskRecord:
        record = await self._call(self._store.get, check_id(task_id), payloads=payloads)
        if record is None:
            raise UnknownTaskError(f"no task {task_id} in {self._queue}; one that ended long ago is forgotten")
        return record

    async def list_tasks(self, *states: State | str, limit: int = 100, cursor: str = "") -> Page:
        """Tasks in these states (none: in any), without their payloads, at most `limit`."""
        return await self._call(self._store.tasks, check_states(states), check_limit(limit), cursor)

    async def count_tasks(self, *states: State | str) -> int:
        """How many tasks are in these states (none: in any)."""
        wanted = check_states(states) or tuple(State)
        counts = await self._call(self._store.counts)
        return sum(counts.states.get(state, 0) for state in wanted)

    async def wait(self, task_id: str, timeout: float | None = None) -> TaskRecord:
        """The task once it has ended or asks for something; raises TimeoutError after `timeout` seconds."""
        with anyio.move_on_after(timeout):
            async with aclosing(self.wait_all([task_id])) as settled:
                return await anext(settled)
        raise TimeoutError(f"task {task_id} has not ended within {timeout:g} s")

    def wait_all(self, task_ids: Iterable[str]) -> AsyncGenerator[TaskRecord, None]:
        """Each of these tasks once it has ended or asks for something, in the order in which they do."""
        return outcomes(self._store, self._get, [check_id(task_id) for task_id in task_ids])

    async def queue_length(self, lane: str | None = None) -> int:
        """How many entries wait in a lane (None: in all lanes)."""
        lanes = (await self._call(self._store.counts)).lanes
        return sum(lanes.values()) if lane is None else lanes.get(check_lane(lane), 0)

    async def clear_queue(self, lane: str | None = None) -> int:
        """Cancel what waits in a lane (None: the public queue), in steps that do not hold up others; how many went."""
        cleared = 0
        while step := await self._call(self._store.clear, self._queue if lane is None else check_lane(lane), CHUNK):
            cleared += step
        return cleared

    async def health_check(self) -> bool:
        """Whether the store answers now."""
        try:
            await self._store.ping()
        except StoreUnavailableError:
            return False
        return True


def _known(task_id: str, state: str) -> State:
    if state == "unknown":
        raise UnknownTaskError(f"no task {task_id}; one that ended long ago is forgotten")
    return State(state)
