"""The parent: wait, ask the core, perform. One thread, nothing that blocks, nothing decided."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from holdfastd.control.protocol import (
    CONTROL_SOCKET,
    Answer,
    AskReload,
    AskScale,
    AskStatus,
    AskStop,
    Refused,
    ReloadAnswer,
    Reloading,
    Request,
    Scaled,
    StopAnswer,
    StoreStatus,
)
from holdfastd.control.report import Moment, report
from holdfastd.control.server import ControlServer
from holdfastd.core import reload, scale
from holdfastd.core.events import Event, ReloadAsked, ScaleAsked, Signalled, StopAsked, StoreOpened, Tick
from holdfastd.core.plan import begin, next_due, plan
from holdfastd.core.policy import SupervisionPolicy
from holdfastd.core.slots import STORE
from holdfastd.core.view import View
from holdfastd.parent import host, spawn
from holdfastd.parent.child_stats import Stats
from holdfastd.parent.children import Children
from holdfastd.parent.event_loop import EventLoop
from holdfastd.parent.execute import CommandExecutor
from holdfastd.parent.fork import LINUX, Kernel
from holdfastd.parent.listen import ChildListener
from holdfastd.parent.service_spec import ServiceSpec
from holdfastd.parent.signal_socket import Signals
from holdfastd.parent.spawn import ChildFactory
from holdfastd.parent.status import StatusNotifier
from holdfastd.parent.systemd_notify import Notifier
from holdfastd.parent.terminal import Terminal

STORE_LOOK = 0.01  # seconds between two looks whether a booting store serves
LOOK_AROUND = 5.0
KILLED_WITHIN = 5.0  # for the kernel to end killed children, when the service ends without having drained

clock = time.monotonic


class Parent:
    """Looks after a household from the first fork to the last death."""

    def __init__(self, household: ServiceSpec, announce: Callable[[str], None], kernel: Kernel = LINUX) -> None:
        self._household = household
        self._inbox: deque[Event] = deque()
        self._began = self._looked_around = clock()
        self.view: View = begin(_policy(household), household.workers, self._began)
        self._loop = EventLoop()
        self._signals = Signals()
        self._terminal = Terminal()
        self._family = Children()
        self._births = ChildFactory(household)
        self._ears = ChildListener(self._loop, self._family, self._inbox.append, self._births.complaint)
        self._hands = CommandExecutor(
            self._family, self._births, self._inbox.append, self._ears.attend, announce, kernel
        )
        self._herald = StatusNotifier(Notifier(), announce, household.store_url)
        self._stats = Stats()
        self._control = ControlServer(
            household.runtime_dir / CONTROL_SOCKET, self._loop, self._answer, household.group_verbs
        )
        self._loop.watch(self._signals.descriptor, self._take_signals)

    def run(self) -> int:
        """Supervise until the service has ended; its exit status. Whatever happens, no child is left behind."""
        try:
            self._births.prepare()
            self._settle()
            while self.view.over is None:
                self._loop.turn(self._timeout())
                self._settle()
            return self.view.over
        finally:
            self._end()

    def _settle(self) -> None:
        """One look at the whole after everything that has arrived, then what that brought about."""
        self._look_at_store()
        self._inbox.append(Tick())
        before = self.view
        while self._inbox:
            self.view, commands = plan(self.view, self._inbox.popleft(), clock())
            for command in commands:
                self._hands.perform(command)
        now = clock()
        self._ears.press_on()
        self._control.tick(now)
        self._tell_reloaded(before)
        self._herald.tell(self.view, now)
        self._look_around(now)

    def _timeout(self) -> float:
        now = clock()
        due = next_due(self.view, now) - now
        return max(0.0, min(due, STORE_LOOK) if self._store_boots() else due)

    def _store_boots(self) -> bool:
        store = self.view.child(STORE)
        return store is not None and store.ready_at is None

    def _look_at_store(self) -> None:
        store = self._household.store
        if store is not None and self._store_boots() and spawn.serves(store):
            self._inbox.append(StoreOpened())

    def _look_around(self, now: float) -> None:
        if now - self._looked_around >= LOOK_AROUND:
            self._looked_around = now
            self._ears.reaper.look_around()

    def _take_signals(self) -> None:
        self._ears.reaper.sweep()
        self._inbox.extend(map(self._signalled, self._signals.take()))

    def _signalled(self, number: int) -> Signalled:
        match number:
            case signal.SIGTTIN:
                return Signalled(number, host.measure())
            case signal.SIGHUP:
                return Signalled(number, terminal_gone=self._terminal.is_gone())
            case _:
                return Signalled(number)

    def _answer(self, request: Request) -> Answer:
        match request:
            case AskStatus():
                usage = self._stats.measure(self._family.pids())
                moment = Moment(clock(), time.time(), self._began)
                return report(self.view, _store(self._household), usage, moment)
            case AskScale(workers=workers):
                return self._scale(workers)
            case AskReload():
                return self._reload()
            case AskStop():
                self._inbox.append(StopAsked())
                return StopAnswer()

    def _scale(self, workers: int) -> Answer:
        measured = host.measure()
        why_not = scale.refusal(self.view, workers, measured)
        if why_not:
            return Refused(why_not)
        self._inbox.append(ScaleAsked(workers, measured))
        return Scaled(workers)

    def _reload(self) -> Answer:
        why_not = reload.refusal(self.view)
        if why_not:
            return Refused(why_not)
        self._inbox.append(ReloadAsked())
        return Reloading()

    def _tell_reloaded(self, before: View) -> None:
        ended = self.view.reloaded
        if ended is not None and ended is not before.reloaded:
            self._control.tell(ReloadAnswer(ended.generation, reload.draining(self.view), ended.error, ended.traceback))

    def _end(self) -> None:
        self._ears.reaper.kill_all(within=KILLED_WITHIN)
        self._control.close(self.view.over)
        self._loop.close()
        self._signals.close()


def _policy(household: ServiceSpec) -> SupervisionPolicy:
    return replace(household.policy, embedded=household.store is not None, watched=household.watcher is not None)


def _store(household: ServiceSpec) -> StoreStatus:
    embedded = household.store is not None
    return StoreStatus(household.store_url, embedded, queue=household.queue, storage=household.storage)
