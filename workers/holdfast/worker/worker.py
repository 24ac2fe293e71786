"""One life of a worker: its parts put together, and how it ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup

from holdfast.core.delivery import Delivery
from holdfast.core.lease import Lease
from holdfast.exits import ChildExit
from holdfast.handler.handler import Handler
from holdfast.ipc.channel import BootFailed, Drain, Drained, Link, Ready
from holdfast.telemetry.port import Telemetry
from holdfast.worker.context import WorkerContext
from holdfast.worker.declared_schedules import DeclaredSchedules
from holdfast.worker.drain import WorkerDrain
from holdfast.worker.heartbeat import Heartbeat
from holdfast.worker.idle_limit import IdleLimit
from holdfast.worker.inbox import Inbox
from holdfast.worker.lease_renewal import LeaseRenewal, clock
from holdfast.worker.listen import HintListener
from holdfast.worker.pull import Puller
from holdfast.worker.recycler import Recycler
from holdfast.worker.registration import Registration
from holdfast.worker.run import RunningTasks

REGISTER_PATIENCE = 5.0  # seconds; a store that is away longer does not keep a worker from being ready
CANCEL_SHARE = 0.1  # of the drain timeout is left for handlers to save a checkpoint
NO_HURRY = 366 * 86400.0  # seconds
SAY_GOODBYE = 1.0  # seconds for the last messages to reach store and parent

_log = structlog.get_logger("holdfast.worker")


class Worker:
    """`group` is what everything of this life runs in; whoever made it cancels it at the end. `own_process`: its
    signals are for this worker, and it may be ended; else others live in it."""

    def __init__(
        self,
        post: WorkerContext,
        handler: Handler,
        link: Link,
        telemetry: Telemetry,
        group: TaskGroup,
        *,
        own_process: bool = True,
    ) -> None:
        self._post, self._link, self._group = post, link, group
        self._own_process = own_process
        self._exit = ChildExit.OK
        self._hands = RunningTasks(post, handler, telemetry, self._ended)
        self._renewal = LeaseRenewal(
            post, self._hands, Lease(post.spec.settings.lease, clock()), self.seek, self._heed_quiet
        )
        self._registration = Registration(post, handler, self._renewal)
        self._claims = Puller(post, self._appetite, self._start, self._answered)
        self._listener = HintListener(post, self._claims, self._hands.stop, self._renewal.poll_timeout)
        self._inbox = Inbox(post, self._claims)
        self._wearing = Recycler.of(post.spec, self._tell_worn, self._claims.poke)
        self._report = Heartbeat(post, link, self._hands, self._wearing)
        self._draining = WorkerDrain(post, self._hands.stop_all)
        self._planning = DeclaredSchedules(post, handler)
        self._idle_limit = IdleLimit(post, self._claims, self._leave_idle)

    async def live(self) -> ChildExit:
        """Serve until drained, fenced, stuck or orphaned; the exit status."""
        self._begin(self._hands.serve, self._heed_parent, self._heed_fence, self._heed_stuck, self._report.serve)
        if self._own_process:
            self._begin(self._heed_signals)
        if too_heavy := self._wearing.begin():
            self._link.send(BootFailed(ChildExit.BOOT_FAILED, too_heavy))
            await self._link.flush(SAY_GOODBYE)
            return ChildExit.BOOT_FAILED
        with anyio.move_on_after(REGISTER_PATIENCE) as patience:
            await self._registration.register()
        if patience.cancelled_caught:
            self._post.unknown.set()
        self._link.send(Ready())
        self._begin(self._registration.serve, self._claims.serve, self._renewal.serve, self._inbox.serve)
        self._begin(self._wearing.serve, self._wearing.try_out, self._tell_draining)
        self._begin(self._idle_limit.serve if self._post.spec.quarantine else self._planning.serve)
        await self._until_drained()
        await self._leave()
        return self._exit

    def _begin(self, *parts: Callable[[], Coroutine[Any, Any, None]]) -> None:
        for part in parts:
            self._group.start_soon(part)

    async def _until_drained(self) -> None:
        async with anyio.create_task_group() as listening:
            listening.start_soon(self._listener.serve)
            listening.start_soon(self._listener.wake)
            self._claims.poke()
            await self._draining.serve()
            listening.cancel_scope.cancel()

    async def _leave(self) -> None:
        """A bell that was popped in the last moment must not be lost with us: the last request rings on."""
        if not self._post.fenced.is_set():
            with anyio.move_on_after(SAY_GOODBYE):
                await self._claims.ask_now()
        self._link.send(Drained(self._hands.released + len(self._post.exchange.held)))
        await self._link.flush(SAY_GOODBYE)
        if self._post.exchange.held and self._own_process:
            os._exit(self._exit)  # a thread that will not stop would keep the process from ending

    async def _tell_draining(self) -> None:
        """The store shows soon that this worker drains."""
        await self._post.draining.wait()
        self._renewal.soon()

    def _appetite(self) -> int:
        if self._post.draining.is_set() or not self._renewal.holds() or not self._post.ready():
            return 0
        return self._wearing.appetite(len(self._post.exchange.held))

    def seek(self) -> None:
        """Something may be had that was not seen, or can be begun now that could not: ask, if there is an appetite."""
        if self._claims.hungry:
            self._claims.poke()

    def _heed_quiet(self, quiet: bool) -> None:
        if quiet != self._claims.quiet:
            self._claims.poke()

    def _start(self, delivery: Delivery) -> None:
        self._wearing.begun()
        if self._post.spec.quarantine:
            self._report.beat()  # a death while it holds a suspect is no young death: the parent must know before
        self._hands.start(delivery)

    def _tell_worn(self) -> None:
        _log.info("worn: a successor is asked for", why=self._wearing.worn)
        self._report.beat()

    def _ended(self, begun: bool) -> None:
        if not begun:
            self._claims.poke()
            return
        self._wearing.ended()
        if self._hands.done == 1:
            self._report.beat()  # a worker that has settled something is no boot failure, however soon it dies
        self._claims.poke()

    def _answered(self) -> None:
        self._listener.answered()
        self._draining.progressed()

    def _drain(self, why: ChildExit, seconds: float) -> None:
        """Leave by ourselves, for `why`, within `seconds`."""
        self._exit = self._exit or why
        now = time.monotonic()
        self._draining.begin(Drain(now + seconds * (1 - CANCEL_SHARE), now + seconds))

    def _leave_idle(self) -> None:
        _log.debug("no suspect waits any more")
        self._drain(ChildExit.OK, NO_HURRY)  # a suspect that came in the last moment has all the time it needs

    async def _heed_parent(self) -> None:
        while message := await self._link.receive():
            if isinstance(message, Drain):
                self._draining.begin(message)
        self._drain(ChildExit.ORPHANED, self._post.spec.settings.drain_timeout)

    async def _heed_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                self._drain(ChildExit.OK, self._post.spec.settings.drain_timeout)

    async def _heed_fence(self) -> None:
        """Somebody else owns our tasks by now: stop what runs, report nothing, end."""
        await self._post.fenced.wait()
        _log.error("the store has declared this worker dead; it cancels everything and ends")
        self._hands.stop_all("fenced")
        self._drain(ChildExit.FENCED, 0.0)

    async def _heed_stuck(self) -> None:
        await self._post.stuck.wait()
        self._drain(ChildExit.STUCK, self._post.spec.settings.drain_timeout)
