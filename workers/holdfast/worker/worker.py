"""One worker, from its registration to its exit status. This module puts the worker's parts together, and decides when
the worker drains."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup

from holdfast.core.envelope import Run, UnreadableError, read
from holdfast.core.identity import sha1_hex
from holdfast.core.worker_records import Admission, LeftInbox
from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.handler import Handler
from holdfast.ipc.channel import MOST_SERVED, BootFailed, Drain, Drained, Link, Ready
from holdfast.os.main_thread import opened
from holdfast.telemetry.port import Telemetry
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext
from holdfast.worker.exit_work import do_exit_work, seconds_for
from holdfast.worker.lease_renewal import DeclaredSchedules, LeaseRenewal, WorkerRegistration
from holdfast.worker.lifespans import Lifespans
from holdfast.worker.parent_reports import Heartbeat, Recycler
from holdfast.worker.pull import HintListener, Puller
from holdfast.worker.run import TaskRunner
from holdfast.worker.samples import Samples
from holdfast_config import library_log

# Drains a worker: it claims no more, finishes, cancels handlers near the deadline, and gives back what is left.

LEAST_LEFT = 0.5  # seconds; the parent kills a worker a second after its deadline
ANSWER_TIMEOUT = 2.0  # seconds for the store to answer a worker that holds nothing: tasks claimed now are put back


@dataclass(slots=True)
class WorkerDrain:
    """The drain of one worker: it finishes its tasks, then ends. Times are CLOCK_MONOTONIC seconds. A later order can
    only shorten the time of the first."""

    context: WorkerContext
    ahead: ClaimsAhead
    _cancel_at: float = float("inf")
    _deadline: float = float("inf")

    def begin(self, order: Drain) -> None:
        """Drain as ordered. The next renewal tells the store that this worker drains, so that operators see it."""
        self._cancel_at = min(self._cancel_at, order.cancel_at)
        self._deadline = min(self._deadline, order.deadline)
        self.context.state.is_draining = True
        self.ahead.give_back("drain")
        self.context.state.want_renewal()

    def seconds_left(self) -> float:
        """The seconds that remain for exit work when all tasks are done."""
        return max(LEAST_LEFT, min(self._deadline - time.monotonic(), self.context.spec.settings.drain_timeout))

    async def serve(self) -> None:
        """Wait for an order and carry it out. Returns when all work is done or the deadline has passed."""
        state = self.context.state
        await state.changed.until(lambda: state.is_draining)
        await self._until_settled(lambda: self._cancel_at)
        self.ahead.runner.tasks.stop_all("drain")
        await self._until_settled(lambda: self._deadline)

    async def _until_settled(self, deadline: Callable[[], float]) -> None:
        exchange = self.context.exchange
        idle_at = float("inf")
        while not exchange.settled:
            now = time.monotonic()
            idle_at = min(idle_at, now + ANSWER_TIMEOUT) if exchange.is_idle else float("inf")
            if (left := min(deadline(), idle_at) - now) <= 0:
                return
            with anyio.move_on_after(left):
                await self.context.state.changed.next()


# Ends a quarantine worker that gets no suspect. Its parent forks another worker when there is a suspect again.

LIMIT = 5.0  # seconds without a suspect
ASK_EVERY = 0.5  # seconds: no bell is rung for suspects


async def idle_limit_reached(context: WorkerContext) -> None:
    """Ask the store for suspects again and again. Returns when the worker has had none for LIMIT seconds."""
    idle_since = time.monotonic()
    while time.monotonic() - idle_since < LIMIT:
        await anyio.sleep(ASK_EVERY)
        if context.exchange.held:
            idle_since = time.monotonic()
        else:
            context.state.want_pull()


# Reads entries that are too large for the store to read, and tells the store what each entry contains.

_log = library_log.get_logger("holdfast.worker")


def admission(raw: bytes, max_bytes: int) -> Admission:
    """The operation in this entry, or the reason why the entry cannot be read."""
    digest = sha1_hex(raw)
    try:
        operation = read(raw, max_bytes)
    except UnreadableError as error:
        return Admission(digest, "unreadable", reason=str(error))
    if isinstance(operation, Run):
        verb = "resume" if operation.resumes else "run"
        return Admission(digest, verb, operation.task_id, operation.message_id, name=operation.name or "")
    return Admission(digest, operation.verb, operation.task_id)


async def serve_inbox(context: WorkerContext) -> None:
    """Read the large entries in this worker's inbox and admit them to the queue; never returns."""
    state, store, incarnation = context.state, context.store, context.incarnation
    while True:
        await state.changed.until(lambda: state.inbox_waits)
        state.inbox_waits = False
        while entry := await context.retries.call("inbox", lambda: store.inbox(incarnation)):
            admitted = admission(entry[1], context.spec.settings.max_message_bytes)
            answer = await context.retries.call("admit", partial(store.admit, incarnation, admitted))
            if answer is LeftInbox.SET_ASIDE:
                _log.warning("a large entry was set aside", size=len(entry[1]), reason=admitted.reason)
        state.want_pull()


REGISTER_TIMEOUT = 5.0  # seconds; if the store is away longer, the worker is ready before it is registered
CANCEL_SHARE = 0.1  # this share of the drain timeout is left for cancelled handlers to save a checkpoint
NO_HURRY = 366 * 86400.0  # seconds
OPEN_SHARE = 0.8  # of the boot timeout is for lifespans; then there is time to report which one was not opened
LAST_MESSAGES_TIMEOUT = 1.0  # seconds for the last messages to reach store and parent


class QueueWorker:
    """One worker. `group` is the task group in which every part runs; the owner of the group cancels it at the end.
    `own_process`: this process belongs to the worker, signals included, and the worker may end it. Otherwise other code
    shares the process."""

    def __init__(
        self,
        context: WorkerContext,
        handler: Handler,
        link: Link,
        telemetry: Telemetry,
        group: TaskGroup,
        *,
        own_process: bool = True,
    ) -> None:
        self._context, self._link, self._group = context, link, group
        self._own_process = own_process
        self._exit = ChildExit.OK
        self._heartbeat = Heartbeat(context, link)
        self._recycler = Recycler(context.state, self._heartbeat)
        self._samples = Samples(context)
        self._runner = TaskRunner(context, handler, telemetry, self._heartbeat, self._recycler, self._samples)
        self._ahead = ClaimsAhead(context, self._runner)
        self._drain = WorkerDrain(context, self._ahead)
        self._renewal = LeaseRenewal(context, self._ahead)
        self._registration = WorkerRegistration(context, handler)
        self._puller = Puller(context, self._ahead, telemetry.fires)
        self._listener = HintListener(context, self._puller, self._ahead)
        self._declared_schedules = DeclaredSchedules(context, handler)
        names = [] if handler.default else sorted(handler.named)
        self._ready = Ready(names[:MOST_SERVED], len(names[MOST_SERVED:]))
        # If a lifespan ends early, the object that handlers share is gone, so the worker ends.
        self._lifespans = Lifespans(handler.lifespans, partial(self._end, ChildExit.BUG, 0.0))

    async def run(self) -> ChildExit:
        """Serve until the worker has drained, the store has declared it dead, a thread does not stop, or the parent is
        gone. Returns the exit status."""
        self._begin(
            self._runner.serve,
            self._runner.parts.serve,
            self._runner.parts.progress.serve,
            self._ahead.watch_long,
            self._heed_parent,
            self._heed_fence,
            self._heed_stuck,
            self._heartbeat.serve,
        )
        if self._own_process:
            self._begin(self._heed_signals)
        if too_heavy := self._recycler.measure_first():
            return await self._refuse(HandlerError(too_heavy))
        if failure := await self._open_lifespans():
            return await self._refuse(failure)
        await self._register()
        self._link.send(self._ready)
        self._begin(self._registration.serve, self._puller.serve, partial(serve_inbox, self._context))
        self._begin(self._renewal.serve, self._renewal.tend_lanes)
        self._begin(self._recycler.serve, self._recycler.try_first_task, self._samples.serve)
        self._begin(self._end_when_idle if self._context.spec.quarantine else self._declared_schedules.serve)
        await self._serve_until_drained()
        await self._leave()
        await self._lifespans.close(self._drain.seconds_left())
        return self._exit

    def _begin(self, *parts: Callable[[], Coroutine[Any, Any, None]]) -> None:
        for part in parts:
            self._group.start_soon(part)

    async def _open_lifespans(self) -> HandlerError | None:
        """Open the lifespans, before the worker can claim a task. Returns the error if one cannot be opened, else
        None."""
        lifespans = self._lifespans
        if lifespans.lifespans:
            async with anyio.create_task_group() as opening:
                self._group.start_soon(lifespans.serve)
                opening.start_soon(self._open_until_drained)
                await lifespans.opened(self._context.spec.settings.boot_timeout * OPEN_SHARE)
                opening.cancel_scope.cancel()
        if lifespans.values and not lifespans.failure:
            self._runner.handler = self._runner.handler.given(lifespans.values)
        return lifespans.failure

    async def _open_until_drained(self) -> None:
        state = self._context.state
        await state.changed.until(lambda: state.is_draining)
        self._lifespans.give_up("was not opened: the worker is told to stop")

    async def _refuse(self, failure: HandlerError) -> ChildExit:
        """Report `failure` to the parent, and end before the first task. If the parent has ordered a drain in the
        meantime, report a drain instead."""
        if self._context.state.is_draining:
            self._link.send(Drained(0))
        else:
            self._exit = ChildExit.BOOT_FAILED
            self._link.send(BootFailed(self._exit, str(failure), failure.traceback))
        await self._link.flush(LAST_MESSAGES_TIMEOUT)
        return self._exit

    async def _register(self) -> None:
        with anyio.move_on_after(REGISTER_TIMEOUT) as scope:
            await self._registration.register()
        if scope.cancelled_caught:
            self._context.unknown.set()

    async def _serve_until_drained(self) -> None:
        async with anyio.create_task_group() as listening:
            listening.start_soon(self._listener.serve)
            listening.start_soon(self._listener.wake)
            listening.start_soon(self._listener.pull_when_idle)
            listening.start_soon(self._listener.withdraw)
            self._context.state.want_pull()
            await self._drain.serve()
            listening.cancel_scope.cancel()

    async def _leave(self) -> None:
        """Tell the store that this worker leaves. If the worker took a bell's signal at the last moment, its last pull
        makes the store ring the bell again for other workers."""
        if not self._context.fenced.is_set():
            with anyio.move_on_after(LAST_MESSAGES_TIMEOUT):
                await self._puller.pull_now()
                await self._samples.send()
        held = self._context.exchange.held
        self._link.send(Drained(self._runner.released, len(held)))
        await self._link.flush(LAST_MESSAGES_TIMEOUT)
        if held and self._own_process:
            do_exit_work(self._exit, self.exit_seconds())
            os._exit(self._exit)  # a thread that will not stop would keep the process from ending

    def exit_seconds(self) -> float:
        """How many seconds files and exit functions may take at the end of the process."""
        left = 0.0 if self._exit is ChildExit.BOOT_FAILED else self._drain.seconds_left()
        return seconds_for(left, self._context.spec.settings.hang_timeout)

    def _end(self, status: ChildExit, seconds: float) -> None:
        """Drain within `seconds`, without an order of the parent. If several calls name a `status` that is not OK, the
        first of these becomes the exit status."""
        self._exit = self._exit or status
        now = time.monotonic()
        self._drain.begin(Drain(now + seconds * (1 - CANCEL_SHARE), now + seconds))

    async def _end_when_idle(self) -> None:
        await idle_limit_reached(self._context)
        _log.debug("no suspect waits any more: this quarantine worker ends")
        self._end(ChildExit.OK, NO_HURRY)  # a suspect that was claimed at the last moment has all the time it needs

    async def _heed_parent(self) -> None:
        while message := await self._link.receive():
            if isinstance(message, Drain):
                self._drain.begin(message)
        self._end(ChildExit.ORPHANED, self._context.spec.settings.drain_timeout)

    async def _heed_signals(self) -> None:
        drain = partial(self._end, ChildExit.OK, self._context.spec.settings.drain_timeout)
        if (main_thread := opened()) is not None:  # it receives the signals of this process
            main_thread.heed(drain)
            return
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                drain()

    async def _heed_fence(self) -> None:
        """When the store has declared this worker dead, end it. Other workers own the tasks, so the handlers are
        stopped and nothing is reported."""
        await self._context.fenced.wait()
        _log.error("the store has declared this worker dead; it cancels everything and ends")
        self._ahead.drop()
        self._runner.tasks.stop_all("fenced")
        self._end(ChildExit.FENCED, 0.0)

    async def _heed_stuck(self) -> None:
        await self._context.stuck.wait()
        seconds = self._context.spec.settings.drain_timeout
        for running in self._runner.tasks.by_id.values():
            if running.task.notes.cancelled:
                _log.error(
                    "a task was told to stop, but its thread goes on: this worker takes no more tasks and ends",
                    task=running.task.id,
                    handler=running.task.name or "",
                    seconds=seconds,
                    remedy=f"supervisor stacks {running.task.id} shows its line; check task.cancelled there",
                )
        self._end(ChildExit.STUCK, seconds)
