"""Sends the parts that handlers emit to the store: the parts of all tasks together, at most every 50 ms.

The first part after a pause is sent at once, alone. Parts that come while the first is on its way, or within the next
50 ms, are sent together. So a handler does not wait for the store, and the store gets one command for hundreds of
tokens of several tasks. If a task has too many unsent parts, its handler waits for room. But while the store does not
answer, handlers do not wait: the oldest unsent parts are dropped, and readers see a gap in the positions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import anyio

from holdfast.core.delivery import Delivery, EmittedBatch, EmitVerdict, Holding
from holdfast.core.steps import SleepKept, StepKept, StepRecord, StepVerdict
from holdfast.errors import StoreError, StoreFullError
from holdfast.handler.run_notes import PartLog
from holdfast.handler.task_steps import StepLog
from holdfast.worker.context import WorkerContext
from holdfast_config import library_log

INTERVAL = 0.05  # seconds between two sends
UNSENT_BYTES = 262144  # of one task
UNSENT_PARTS = 2500  # of one task
SENT_AT_ONCE = 524288  # bytes of one send; one batch more may exceed it
ROOM_TIMEOUT = 1.0  # seconds that a handler waits for room
END_TIMEOUT = 5.0  # seconds that the end of a task waits for its last parts to be sent, if the store does not answer

_log = library_log.get_logger("holdfast.worker")


@dataclass(slots=True, eq=False)
class UnsentParts(PartLog):
    """The parts of one delivery that the store does not have. `claim`: the claim under which the last parts were sent;
    `sent`: how many parts were sent or dropped under this claim. `is_over`: the delivery has ended, or another worker
    has the task. `changed` is set when parts were sent."""

    sender: PartSender
    delivery: Delivery
    claim: str
    sent: int = 0
    values: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    is_over: bool = False
    is_on_way: bool = False
    changed: anyio.Event = field(default_factory=anyio.Event)
    progress: str = ""
    kept_progress: str = ""  # the progress that the store has confirmed
    is_remarked: bool = False

    def show(self, progress: str, remark: str) -> None:
        """Send the progress, together with that of other tasks."""
        if remark and not self.is_remarked:
            self.is_remarked = True
            _log.warning("progress is not shown as the handler gave it", task=self.delivery.task_id, reason=remark)
        if not self.is_over:
            self.progress = progress
            self.sender.progress.want(self)

    @property
    def unsent_progress(self) -> str:
        return "" if self.progress == self.kept_progress else self.progress

    @property
    def is_full(self) -> bool:
        return self.size > UNSENT_BYTES or len(self.values) > UNSENT_PARTS

    async def emit(self, value: bytes) -> None:
        """Take one part to be sent. If too many parts wait, wait until some have been sent."""
        if self.is_over:
            return
        self.values.append(value)
        self.size += len(value)
        self.sender.wanted.set()
        if self.is_full:
            await self._make_room()

    async def end(self) -> None:
        """Send the last parts. The worker calls this before it reports the delivery's end, because after this report
        the store takes no parts."""
        is_late = False
        while (self.values or self.is_on_way) and not (is_late and self.sender.is_degraded):
            self.sender.hurried.set()
            with anyio.move_on_after(END_TIMEOUT, shield=True) as waiting:
                await self.changed.wait()
            is_late = waiting.cancelled_caught
        self.lose()
        self.sender.forget(self)

    def take(self) -> EmittedBatch:
        """Take all unsent parts, to send them."""
        values, self.values, self.size = self.values, [], 0
        if self.claim != (claim := self.sender.claim_of(self.delivery)):
            self.claim, self.sent = claim, 0
        of, number = self.delivery, self.sent + 1
        self.sent += len(values)
        self.is_on_way = True
        return EmittedBatch(of.task_id, claim, of.run, number, len(values), b"[" + b",".join(values) + b"]")

    def gone(self) -> None:
        """Record that the parts returned by `take` are no longer on their way to the store."""
        self.is_on_way = False
        self.changed.set()
        self.changed = anyio.Event()

    def lose(self) -> None:
        """Drop the unsent parts and all later ones."""
        self.is_over = True
        self.values, self.size = [], 0

    async def _make_room(self) -> None:
        self.sender.hurried.set()
        if not self.sender.is_degraded:
            with anyio.move_on_after(ROOM_TIMEOUT):
                while self.is_full:
                    await self.changed.wait()
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        dropped = 0
        while self.size > UNSENT_BYTES or len(self.values) - dropped > UNSENT_PARTS:
            self.size -= len(self.values[dropped])
            dropped += 1
        del self.values[:dropped]
        self.sent += dropped


@dataclass(slots=True)
class PartSender:
    """Sends the parts of one worker. `wanted`: set if there are parts to send. `hurried`: set to send them now, without
    the pause."""

    context: WorkerContext
    wanted: anyio.Event = field(default_factory=anyio.Event)
    hurried: anyio.Event = field(default_factory=anyio.Event)
    progress: ProgressSender = field(init=False)
    _open: list[UnsentParts] = field(default_factory=list[UnsentParts])
    _is_closed: bool = False

    def __post_init__(self) -> None:
        self.progress = ProgressSender(self.context)

    @property
    def is_degraded(self) -> bool:
        return bool(self.context.retries.degraded)

    def claim_of(self, delivery: Delivery) -> str:
        """The present claim of the task."""
        return self.context.exchange.claim_of(delivery)

    def of(self, delivery: Delivery) -> UnsentParts:
        """Begin to collect the parts of a delivery. This is called when its handler emits the first part."""
        unsent = UnsentParts(self, delivery, self.claim_of(delivery), is_over=self._is_closed)
        self._open.append(unsent)
        return unsent

    def forget(self, unsent: UnsentParts) -> None:
        """Forget the parts of a delivery that has ended."""
        if unsent in self._open:
            self._open.remove(unsent)

    async def serve(self) -> None:
        """Send emitted parts; never returns."""
        try:
            while True:
                await self.wanted.wait()
                self.wanted = anyio.Event()
                while taken := self._take():
                    await self._send(taken)
                    with anyio.move_on_after(INTERVAL):
                        await self.hurried.wait()
                    self.hurried = anyio.Event()
        finally:
            self._close()

    def _take(self) -> list[tuple[UnsentParts, EmittedBatch]]:
        """The parts for one command to the store. If the command has no room for the parts of some tasks, the next
        command begins with these tasks."""
        taken, size = list[tuple[UnsentParts, EmittedBatch]](), 0
        for unsent in list(self._open):
            if unsent.values and size < SENT_AT_ONCE:
                size += unsent.size
                taken.append((unsent, unsent.take()))
                self._open.remove(unsent)
                self._open.append(unsent)
        return taken

    async def _send(self, taken: list[tuple[UnsentParts, EmittedBatch]]) -> None:
        batches = [batch for _, batch in taken]
        try:
            verdicts = await self.context.retries.call("emit", partial(self._emit, batches))
            for (unsent, batch), verdict in zip(taken, verdicts, strict=True):
                if verdict is not EmitVerdict.OK and batch.claim == self.claim_of(unsent.delivery):
                    unsent.lose()
        finally:
            for unsent, _ in taken:
                unsent.gone()

    async def _emit(self, batches: list[EmittedBatch]) -> list[EmitVerdict]:
        """Send parts. If the store has no memory left, the parts are dropped, and the handler gets no error."""
        try:
            return await self.context.store.emit(batches)
        except StoreFullError as error:
            _log.warning("the store is full: parts that handlers emitted were dropped", error=str(error))
            return [EmitVerdict.OK] * len(batches)

    def _close(self) -> None:
        self._is_closed = True
        for unsent in self._open:
            unsent.lose()
            unsent.gone()


# Sends the progress that handlers show: the latest of all tasks together, at most every 100 ms.
#
# The first progress after a pause is sent at once. Progress is no promise: what cannot be sent goes with the next
# renewal of the lease, and the last progress of a run goes with its settlement.

PROGRESS_INTERVAL = 0.1  # seconds between two sends


@dataclass(slots=True)
class ProgressSender:
    """Sends the progress of one worker's tasks. `_unsent`: the runs with new progress. Handlers in threads add to it,
    so it changes only by single calls of a dict."""

    context: WorkerContext
    _unsent: dict[UnsentParts, None] = field(default_factory=dict["UnsentParts", None])
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _is_woken: bool = False
    _loop: asyncio.AbstractEventLoop | None = None

    def want(self, run: UnsentParts) -> None:
        """Send the progress of this run soon. Any thread may call this."""
        self._unsent[run] = None
        if not self._is_woken and self._loop is not None:
            self._is_woken = True
            with suppress(RuntimeError):  # the loop has ended: nobody sends any more
                self._loop.call_soon_threadsafe(self._wanted.set)

    async def serve(self) -> None:
        """Send the progress; never returns."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            self._is_woken = False  # before the runs are taken, so that no later one is missed
            await self._send()
            await asyncio.sleep(PROGRESS_INTERVAL)

    async def _send(self) -> None:
        taken = dict[UnsentParts, Holding]()
        while self._unsent:
            run, _ = self._unsent.popitem()
            if not run.is_over:
                claim = self.context.exchange.claim_of(run.delivery)
                taken[run] = Holding(run.delivery.task_id, claim, run.progress)
        if taken:
            with suppress(StoreError):
                await self.context.store.show_progress([*taken.values()])
                for run, shown in taken.items():
                    run.kept_progress = shown.progress


# Records the steps of one delivery in the store, under the task's present claim.
#
# A store that has lost writes may give the task to this worker again. Then the handler runs on under the new claim.

Kept = TypeVar("Kept", StepKept, SleepKept)

KEPT_WITHIN = 5.0  # seconds that a stopped handler waits for the store to record a result, so that it is not lost


@dataclass(frozen=True, slots=True)
class StoredSteps(StepLog):
    """Records steps in the store. If another worker owns the task, `lose` is called with the claim: it stops the
    handler if the handler still runs under this claim."""

    context: WorkerContext
    delivery: Delivery
    lose: Callable[[str], None]

    async def recorded(self) -> dict[int, StepRecord]:
        read = partial(self.context.store.recorded_steps, self.delivery.task_id)
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
            if claim == self.context.exchange.claim_of(self.delivery):  # else the task has got a new claim meanwhile
                self.lose(claim)
                return kept
