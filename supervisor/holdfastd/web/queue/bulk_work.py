"""The bulk changes that this process carries out, each as a task of its event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from starlette.requests import Request

from holdfast.client.bulk_steps import BulkSteps
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import NOT_RUNNING, NOT_STOPPED, BulkChange, BulkState
from holdfast.errors import HoldfastError, StoreError, StoreUnavailableError
from holdfastd.operations.errors import NotPossibleError
from holdfastd.web.queue.queue_access import QueueAccess

AGAIN = 1.0  # seconds between two tries while the store is away

_log = structlog.get_logger("holdfast.web")


@dataclass(slots=True)
class BulkWork:
    """`_running`: by the id of the change, the work on it that began last."""

    access: QueueAccess
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])

    async def begin(self, change: BulkChange) -> BulkChange:
        begun = await self.access.store.begin_bulk(change)
        self._start(begun)
        return begun

    async def stop(self, change_id: str) -> None:
        """Raises NotPossibleError."""
        if not await self.access.store.stop_bulk(change_id):
            raise NotPossibleError(_refusal(change_id, NOT_RUNNING))

    async def go_on(self, change_id: str) -> BulkChange:
        """Raises NotPossibleError."""
        change = await self.access.store.resume_bulk(change_id)
        if change is None:
            raise NotPossibleError(_refusal(change_id, NOT_STOPPED))
        self._start(change)
        return change

    def _start(self, change: BulkChange) -> None:
        change_id = change.change_id
        work = self._running[change_id] = asyncio.create_task(self._carry_out(change, self._running.get(change_id)))

        def forget(_: object) -> None:
            if self._running.get(change_id) is work:
                del self._running[change_id]

        work.add_done_callback(forget)

    async def _carry_out(self, change: BulkChange, before: asyncio.Task[None] | None) -> None:
        """Until it is done, somebody stops it, or another process goes on with it. The step in which an earlier run of
        it here was stopped ends first: two that change the same tasks would both count them."""
        if before is not None:
            await asyncio.wait((before,))
        store = self.access.store
        steps = BulkSteps(store, self.access.manager.retries, self.access.redaction.value)
        going_on = True
        while going_on:
            try:
                change, going_on = await steps.noted_step(change)
            except StoreUnavailableError:
                await asyncio.sleep(AGAIN)
            except HoldfastError as error:
                _log.error("a change of many tasks has failed", reason=str(error))
                await store.stop_bulk(change.change_id)
                return
        if change.state is BulkState.DONE:
            await self._note(change)

    async def _note(self, change: BulkChange) -> None:
        with suppress(HoldfastError):  # other runs of it have counted, too
            change = await self.access.store.bulk_change(change.change_id) or change
        outcome = f"done: {change.outcome}"
        activity = Activity(change.who, change.origin, f"bulk/{change.verb}", change.change_id, outcome)
        with suppress(StoreError):
            await self.access.store.note_activity(activity)


def bulk_work_of(request: Request) -> BulkWork:
    """The bulk changes of the application that answers this request."""
    work = request.app.state.bulk_work
    assert isinstance(work, BulkWork)
    return work


def _refusal(change_id: str, why: str) -> str:
    return f"change of many tasks {change_id[:50]!r}: {why}"
