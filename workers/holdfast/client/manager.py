"""The producer's API: submit tasks, control them, read them, wait for them.

    async with open_store(settings.redis) as store:
        manager = TaskManager(store, queue=settings.queue_name)
        task_id = await manager.run_task("hello")
        record = await manager.wait(task_id, timeout=60)

The manager checks every argument before it writes anything. A call whose answer was lost may be repeated. While the
store cannot be reached, the manager repeats the call itself, with the same bytes. When the time for such repetitions
(`SubmitRetries`) is over, the manager raises StoreUnavailableError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from holdfast.client.arguments import check_cursor, check_lane, check_limit, check_list
from holdfast.client.batch import Batch, FlowTasks, drafts_of_batch
from holdfast.client.queue_control import DeadLetters, QueueControl, TaskControl
from holdfast.client.queue_views import QueueViews
from holdfast.client.submission import Registry, Submitter, raise_refusals
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec, keywords_of
from holdfast.core.acceptance import Receipt, Submission
from holdfast.core.batches import BatchPage
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError

if TYPE_CHECKING:
    from holdfast.client.schedules import Schedules
    from holdfast.store import Store


LARGEST = 536_870_912  # bytes: the size limit of a value in Redis


def check_parts(retries: object, handlers: object, max_message_bytes: object = LARGEST) -> None:
    """Check a manager's arguments at run time, because callers may not use a type checker. Raises InvalidTaskError."""
    if retries is not None and not isinstance(retries, SubmitRetries):
        raise InvalidTaskError(f"retries {shown(retries)}: a SubmitRetries is expected")
    if handlers is not None and not callable(getattr(handlers, "fitted", None)):
        raise InvalidTaskError(f"handlers {shown(handlers)}: a registry (holdfast.Handlers) is expected")
    if type(max_message_bytes) is not int or not 1 <= max_message_bytes <= LARGEST:
        raise InvalidTaskError(f"max_message_bytes {shown(max_message_bytes)}: 1 to {LARGEST} are allowed")


def _accepted(batch: Sequence[Submission], receipts: Sequence[Receipt]) -> list[str]:
    """The ids of the tasks. Raises an error for the first submission that the store refused."""
    raise_refusals(batch, receipts)
    return [receipt.task_id for receipt in receipts]


class TaskManager(TaskControl, DeadLetters, QueueControl, QueueViews):
    """The calls of producers and operators of one queue. A manager needs a running event loop, and starts no tasks or
    threads. `max_message_bytes` is the largest size that an operation may have. A registry in `handlers` gives named
    tasks their lane and checks their arguments before anything is written. `retries`: how long calls are repeated while
    the store cannot be reached. `trace_baggage`: tasks carry the OpenTelemetry baggage of the caller.
    """

    def __init__(
        self,
        store: Store,
        *,
        queue: str,
        max_message_bytes: int = 1048576,
        retries: SubmitRetries | None = None,
        handlers: Registry | None = None,
        trace_baggage: bool = False,
    ) -> None:
        check_parts(retries, handlers, max_message_bytes)
        self._max_bytes = max_message_bytes
        self.retries = retries or SubmitRetries()
        super().__init__(store, check_lane(queue), self.retries)
        self.submitter = Submitter(store, self._queue, self.retries, max_message_bytes, handlers, baggage=trace_baggage)

    @cached_property
    def schedules(self) -> Schedules:
        """Set, read, pause and remove schedules."""
        from holdfast.client.schedules import Schedules  # its imports are large, and not every producer needs them

        return Schedules(self._store, self._queue, self._max_bytes, self.retries)

    @keywords_of(TaskSpec)
    async def run_task(self, *content: Any, **options: Any) -> str:
        """Submit one task, or one more message for the task `task_id`; returns its id. See TaskSpec for the arguments.

        If another task holds the `unique` key, returns that task's id. Raises InvalidTaskError, MessageConflictError,
        TaskEndedError, UnknownTaskError (a task in `after`), StoreFullError, StoreUnavailableError.
        """
        return await self.submitter.run(TaskSpec(*content, **options))

    async def run_tasks(
        self, specs: Iterable[TaskSpec], *, batch: str | None = None, then: TaskSpec | None = None
    ) -> list[str]:
        """Submit many tasks; returns their ids in order. All tasks are held in memory, and checked before the first is
        written.

        If the store refuses some tasks, it still accepts the others. The error (MessageConflictError, TaskEndedError or
        UnknownTaskError) names the first refused task.

        With an id in `batch` the tasks form a batch (`TaskManager.batch`), sealed when the last task is submitted. When
        all tasks have ended, the task `then` begins, once. A task without an id gets the id `<batch>.1`, `<batch>.2`
        and so on; `then` gets `<batch>.then`. So a repeated call adds no task twice, and completes a call that was cut
        off. Also raises BatchConflictError and BatchClosedError.
        """
        drafts = [self.submitter.draft(spec) for spec in cast("list[TaskSpec]", check_list("specs", specs, "TaskSpec"))]
        if batch is not None:
            callback = None if then is None else self.submitter.draft(then)
            ids = _accepted(*await self.submitter.submit_drafts(drafts_of_batch(self._queue, batch, drafts, callback)))
            return ids[len(ids) - len(drafts) :]  # without the callback, which is the first if there is one
        if then is not None:
            raise InvalidTaskError("`then` needs `batch`: the id of the batch whose end the task waits for")
        return _accepted(*await self.submitter.submit_drafts(drafts))

    async def run_flow(self, flow: FlowTasks) -> list[str]:
        """Submit the tasks of a `chain` or a `gather`; returns their ids, parents before children. All tasks are
        checked before the first is written. A second submission of the same flow adds no tasks. Raises the errors of
        `run_tasks`."""
        if not isinstance(flow, FlowTasks):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
            raise InvalidTaskError(f"flow {shown(flow)}: a flow is expected, made by chain() or gather()")
        return await self.run_tasks(flow.specs(self._queue))

    def batch(self, batch_id: str) -> Batch:
        """The batch with this id. This call does not ask the store; the methods of the batch do."""
        return Batch(self._store, self.retries, batch_id)

    async def batches(self, limit: int = 100, cursor: str = "") -> BatchPage:
        """A page of batches, the latest first. The page's cursor continues the list; at the end it is empty."""
        return await self.retries.call(self._store.batches, check_limit(limit), check_cursor(cursor))

    def prepare(self, spec: TaskSpec) -> Submission:
        """Check `spec` and make the value that `submit` takes. Submitting this value again sends the same bytes and
        adds no second task. Raises InvalidTaskError."""
        return self.submitter.prepare(spec)

    async def submit(self, batch: Sequence[Submission]) -> list[Receipt]:
        """Submit a list of prepared values; returns the answer for each, refusals included. After an error, submit the
        same list again."""
        return await self.submitter.submit(batch)
