"""Runs the tasks of a test by a worker in this process, until nothing is left to be done at the store's time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.core.delivery import Settle, Settlement, Verdict
from holdfast.handler.handler import Handler
from holdfast.testing.still_store import StillStore
from holdfast.worker.in_process import InProcessWorker, open_worker
from holdfast_config import Settings
from holdfast_config.lanes import Lane

PROMOTED = 1000  # delayed tasks that are submitted at once


@dataclass(slots=True)
class IdleRun:
    """`deferred`: tasks that found no place of their handler, and are to be offered again."""

    store: StillStore
    handler: Handler
    settings: Settings
    deferred: list[str] = field(default_factory=list[str])

    async def until_idle(self) -> int | None:
        """Run what can run now; milliseconds until something is due, None if nothing is."""
        async with open_worker(self.store, self.handler, self._settings(), on_verdict=self._note) as worker:
            with self.store.telling(lambda: self._serve_new_lanes(worker)):
                wait = await self._until_idle(worker)
        await self.store.recover(worker.incarnation, "left", charged=False, ordered=True)
        return wait

    def _settings(self) -> Settings:
        """The settings of a worker that serves all lanes that have tasks: in a test nobody else does."""
        known = self.settings.lane_names
        found = dict.fromkeys(task.lane for task in self.store.submitted if task.lane not in known)
        return self.settings.model_copy(update={"lanes": (*self.settings.lanes, *map(Lane, found))})

    def _serve_new_lanes(self, worker: InProcessWorker) -> None:
        context, settings = worker.context, self._settings()
        if settings.lanes != context.spec.settings.lanes:
            context.spec = replace(context.spec, settings=settings)
            context.state.want_pull()

    def _note(self, settlement: Settlement, _: Verdict) -> None:
        if settlement.kind is Settle.DEFER:
            self.deferred.append(settlement.task_id)

    async def _until_idle(self, worker: InProcessWorker) -> int | None:
        """Idle is a worker that has nothing, finds nothing, and has asked for nothing while the rest was looked at."""
        exchange, changed = worker.context.exchange, worker.context.state.changed
        while True:
            await changed.until(lambda: exchange.settled)
            before = exchange.answered
            await self._offer_deferred()
            fires_in = await self._fire()
            _, due_in = await self.store.promote(PROMOTED)
            if due_in != 0 and exchange.settled and exchange.answered == before:
                worker.context.state.want_pull()
                await changed.next(lambda: exchange.settled)
                if exchange.answered == before + 1:
                    return min((wait for wait in (fires_in, due_in) if wait is not None), default=None)

    async def _fire(self) -> int | None:
        """Make the fires that are due; milliseconds until the next one."""
        store, settings = self.store, self.settings
        firer = ScheduleFirer(store, settings.queue_name, settings.max_message_bytes, lambda: store.now_ms / 1000)
        await firer.round()
        return (await store.due_schedules(1)).wait

    async def _offer_deferred(self) -> None:
        deferred, self.deferred = self.deferred, []
        for task_id in deferred:
            await self.store.retry(task_id, "a place of its handler is free")
