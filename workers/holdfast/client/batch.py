"""One batch, seen from Python: its counts, its tasks, its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio

from holdfast.client.arguments import check_batch_id, check_reason, check_seconds
from holdfast.client.query import QUIET, next_notice, subscription
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.batches import BatchRecord, BatchTask, TaskEnd
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError, StoreUnavailableError, UnknownBatchError
from holdfast.store.protocol import Store

PAGE = 500  # tasks in one call of the store
CANCELED = 50  # tasks in one step of a cancel: a millisecond or two of the store


class Batch:
    """A batch by its id, which `TaskManager.batch` answers without asking the store."""

    def __init__(self, store: Store, retries: SubmitRetries, batch_id: str) -> None:
        self._store = store
        self._call = retries.call
        self.id = check_batch_id(batch_id)

    def __repr__(self) -> str:
        return f"Batch({self.id!r})"

    async def record(self) -> BatchRecord:
        """Its state and counts now; raises UnknownBatchError."""
        record = await self._call(self._store.batch, self.id)
        if record is None:
            raise UnknownBatchError(f"no batch {self.id}; one that ended long ago is forgotten")
        return record

    async def wait(self, timeout: float | None = None) -> BatchRecord:
        """Its record once it has ended: it is sealed, and so have all its tasks. Its callback is then due, and not
        waited for. Raises TimeoutError after `timeout` seconds, and UnknownBatchError."""
        if timeout is not None:
            check_seconds("timeout", timeout)
        with anyio.move_on_after(timeout):
            return await self._ended()
        raise TimeoutError(f"batch {self.id} has not ended within {timeout:g} s")

    async def _ended(self) -> BatchRecord:
        """The subscription stands before the look, so an end between the two is seen by one of them."""
        while True:
            try:
                async with subscription(self._store.settled([f"batch|{self.id}"])) as notices:
                    while await next_notice(notices, QUIET) is not None:
                        if (record := await self.record()).ended_ms is not None:
                            return record
            except StoreUnavailableError:
                await self.record()  # it retries until the store is back, or gives up

    async def tasks(self, *ends: TaskEnd | str) -> AsyncGenerator[BatchTask, None]:
        """Its tasks in the order in which they were submitted, read page by page: those that have ended so
        (`completed`, `failed`, `rejected`, `canceled`, `gone`; `open`: not yet); none named: all. A retry stands at the
        place of its task. Raises UnknownBatchError."""
        wanted, after, more = _checked(ends), 0, True
        while more:
            page, more = await self._call(self._store.batch_tasks, self.id, after, PAGE)
            if not page and not after:
                await self.record()  # unknown?
            for task in page:
                if task.end in wanted:
                    yield task
            after += PAGE

    async def seal(self) -> BatchRecord:
        """Seal a batch whose producer is gone: it takes no more tasks, and ends when those that it has have ended. Its
        record; raises UnknownBatchError."""
        await self._call(self._store.seal_batch, self.id)
        return await self.record()

    async def cancel(self, reason: str = "its batch was canceled") -> BatchRecord:
        """Cancel its callback and its tasks that have not ended, in steps; it takes no more tasks. Its record; raises
        UnknownBatchError."""
        why = check_reason(reason)
        while (await self._call(self._store.cancel_batch, self.id, CANCELED, why)).left:
            pass
        return await self.record()


def _checked(ends: tuple[object, ...]) -> frozenset[TaskEnd]:
    known = {str(end): end for end in TaskEnd if end is not TaskEnd.RETRIED}
    for end in ends:
        if not isinstance(end, str) or end not in known:
            raise InvalidTaskError(f"end {shown(end)}: {', '.join(known)} are allowed")
    return frozenset(known[str(end)] for end in ends) or frozenset(known.values())
