"""Records the steps of one delivery in the store, under the claim that its task has by then.

A store that has lost writes may give the task to this worker anew: then the handler runs on under the new claim.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
    """`lose` stops the handler, if it still runs under this claim: others own its task by now."""

    context: WorkerContext
    delivery: Delivery
    lose: Callable[[str], None]

    async def recorded(self) -> dict[int, StepRecord]:
        read = partial(recorded_steps, self.context.store, self.delivery.task_id)
        return {step.place: step for step in await self.context.retries.call("steps", read)}

    async def keep(self, place: int, name: str, result: bytes) -> StepKept:
        with anyio.move_on_after(KEPT_WITHIN, shield=True):
            return await self._keep(place, name, result)
        return await self._keep(place, name, result)  # the store has been away for long: a stop counts now

    async def sleep(self, place: int, name: str, milliseconds: int) -> SleepKept:
        def sleep(claim: str) -> Awaitable[SleepKept]:
            return self.context.store.sleep(self.delivery.task_id, claim, place, name, milliseconds)

        return await self._record("sleep", sleep)

    def stuck(self) -> None:
        self.context.stuck.set()

    async def _keep(self, place: int, name: str, result: bytes) -> StepKept:
        def keep(claim: str) -> Awaitable[StepKept]:
            return self.context.store.step(self.delivery.task_id, claim, place, name, result)

        return await self._record("step", keep)

    async def _record(self, what: str, record: Callable[[str], Awaitable[Kept]]) -> Kept:
        while True:
            claim = self.context.exchange.claim_of(self.delivery)
            kept = await self.context.retries.call(what, partial(record, claim))
            if kept.verdict is not StepVerdict.LOST:
                return kept
            if claim == self.context.exchange.claim_of(self.delivery):  # else it was given another one meanwhile
                self.lose(claim)
                return kept
