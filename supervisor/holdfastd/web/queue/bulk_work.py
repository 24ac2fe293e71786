"""The bulk changes that this process carries out, each as a task of its event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import structlog
from starlette.requests import Request

from holdfast.client.bulk_steps import BulkSteps
from holdfast.core.bulk_changes import BulkChange
from holdfast.errors import HoldfastError, StoreUnavailableError
from holdfastd.operations.many_tasks import ended
from holdfastd.web.queue.queue_access import QueueAccess

AGAIN = 1.0  # seconds between two tries while the store is away

_log = structlog.get_logger("holdfast.web")


@dataclass(slots=True)
class BulkWork:
    """`_running`: by the id of the change, the work on it that began last."""

    access: QueueAccess
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])

    def start(self, change: BulkChange) -> None:
        """Carry it out from where it is."""
        change_id = change.change_id
        work = self._running[change_id] = asyncio.create_task(self._carry_out(change, self._running.get(change_id)))

        def forget(_: object) -> None:
            if self._running.get(change_id) is work:
                del self._running[change_id]

        work.add_done_callback(forget)

    async def _carry_out(self, change: BulkChange, before: asyncio.Task[None] | None) -> None:
        """Carry out a change until it is done or stopped, or another process continues it. An earlier run here ends its
        step first: two runs that change the same tasks would both count them."""
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
        await ended(store, change)


def bulk_work_of(request: Request) -> BulkWork:
    """The bulk changes of the application that answers this request."""
    work = request.app.state.bulk_work
    assert isinstance(work, BulkWork)
    return work
