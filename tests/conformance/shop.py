"""A worker in the test's own process: it runs handlers as a worker does, and settles what came of them, when told to.

shop = Shop(stand, handlers)
await shop.work()            # everything that waits, and what comes of it, until nothing is left to do now
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from holdfast.core.delivery import Delivery, Holding
from holdfast.core.outcomes import HandlerStopped, Outcome
from holdfast.core.settle import RetryPolicy, settlement
from holdfast.handler.handler import Handler, callee
from holdfast.handler.registry import Handlers
from holdfast.handler.run_handler import run
from holdfast.handler.task import Task
from holdfast.handler.threads import Threads
from tests.conformance.stand import Stand

NAME = "shop"
POLICY = RetryPolicy(max_attempts=3, base=1.0, cap=1.0)


class Shop:
    """`handler`: a function, or a registry. It runs one task after the other."""

    def __init__(self, stand: Stand, handler: Callable[..., Any] | Handlers) -> None:
        self.stand = stand
        if isinstance(handler, Handlers):
            self.handler = handler.frozen("tests:handlers")
        else:
            self.handler = Handler("tests:handle", callee(handler, "tests:handle", named=False))
        self._threads = Threads(anyio.CapacityLimiter(1), lambda: None)
        self._registered = False

    async def take(self, *lanes: str) -> list[Delivery]:
        """Tasks that are claimed and not yet begun."""
        if not self._registered:
            await self.stand.register(NAME)
            self._registered = True
        return list((await self.stand.pull(NAME, 10, lanes=lanes)).deliveries)

    async def work(self, *lanes: str) -> int:
        """How many deliveries were run."""
        ran = 0
        while deliveries := await self.take(*lanes):
            for delivery in deliveries:
                await self.finish(delivery)
            ran += len(deliveries)
        return ran

    async def finish(self, delivery: Delivery, stopped: str = "", task: Task | None = None) -> str:
        """Run it to its end, or to where somebody stopped it; what the store says to its outcome."""
        task = task or Task(delivery)
        outcome: Outcome = HandlerStopped(stopped)
        if not stopped:
            with anyio.fail_after(30):
                outcome = await run(self.handler, delivery, task, self._threads, None)
        own = self.handler.options(task.operation.name).max_attempts
        policy = RetryPolicy(own or POLICY.max_attempts, POLICY.base, POLICY.cap)
        report = settlement(outcome, delivery, policy, 0.0, task.notes.checkpoint)
        return (await self.stand.pull(NAME, 0, report)).verdicts[0] if report else "not reported"

    async def renew(self, delivery: Delivery, task: Task) -> None:
        """A sign of life, with what the handler has noted so far."""
        held = Holding(delivery.task_id, delivery.claim, task.notes.progress, task.notes.unstored_checkpoint)
        await self.stand.store.renew(NAME, "live", 1000, [held])
