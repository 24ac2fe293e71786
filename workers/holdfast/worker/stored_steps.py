"""Records the steps of one delivery in the store, under its claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import anyio

from holdfast.core.delivery import Delivery
from holdfast.core.steps import SleepKept, StepKept, StepRecord, StepVerdict
from holdfast.store.recorded_steps import recorded_steps
from holdfast.worker.context import WorkerContext

Kept = TypeVar("Kept", StepKept, SleepKept)

KEPT_WITHIN = 5.0  # seconds that a handler which is told to stop waits for the store: it has paid for the result


@dataclass(frozen=True, slots=True)
class StoredSteps:
    """`lose` stops the handler: others own its task by now."""

    context: WorkerContext
    delivery: Delivery
    lose: Callable[[], None]

    async def recorded(self) -> dict[int, StepRecord]:
        read = partial(recorded_steps, self.context.store, self.delivery.task_id)
        return {step.place: step for step in await self.context.retries.call("steps", read)}

    async def keep(self, place: int, name: str, result: bytes) -> StepKept:
        with anyio.move_on_after(KEPT_WITHIN, shield=True):
            return await self._keep(place, name, result)
        return await self._keep(place, name, result)  # the store has been away for long: a stop counts now

    async def sleep(self, place: int, name: str, milliseconds: int) -> SleepKept:
        sleep = partial(self.context.store.sleep, self.delivery.task_id, self.delivery.claim, place, name, milliseconds)
        return self._held(await self.context.retries.call("sleep", sleep))

    def stuck(self) -> None:
        self.context.stuck.set()

    async def _keep(self, place: int, name: str, result: bytes) -> StepKept:
        keep = partial(self.context.store.step, self.delivery.task_id, self.delivery.claim, place, name, result)
        return self._held(await self.context.retries.call("step", keep))

    def _held(self, kept: Kept) -> Kept:
        if kept.verdict is StepVerdict.LOST:
            self.lose()
        return kept
