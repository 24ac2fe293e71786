"""The parent process: it waits for events, asks the core what to do, and executes the core's commands. It has one
thread, in which nothing blocks.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.ipc.channel import Logged, encode
from holdfast_config import service_folders
from holdfast_config.logging import tell_left_out
from holdfast_config.standard_error import set_sink
from holdfastd.control import socket_protocol as protocol
from holdfastd.control.report import Moment, report
from holdfastd.control.server import ControlServer
from holdfastd.control.socket_protocol import Answer, ControlRequest, Refused
from holdfastd.core import parent_events as events
from holdfastd.core import reload, scale, stack_dump
from holdfastd.core.commands import Announce
from holdfastd.core.decisions import begin, decide, next_due
from holdfastd.core.slots import STEWARD, STORE
from holdfastd.core.view import View
from holdfastd.parent import host
from holdfastd.parent.children import CallbackSelector, ChildListener, Children
from holdfastd.parent.execute import ChildFactory, CommandExecutor
from holdfastd.parent.fork import LINUX, Kernel
from holdfastd.parent.received_signals import ReceivedSignals
from holdfastd.parent.service_spec import ServiceSpec
from holdfastd.parent.status import Stats, StatusNotifier
from holdfastd.parent.systemd_notify import Notifier

# LogRelay passes the parent's log on to the steward. The steward sends it to the collector, because the parent has no
# threads to do so.
#
# Records wait here while no steward lives, or while it does not read them. Only the newest records are kept.

MOST_WAITING = 256  # records
LONGEST_TEXT = 8192  # characters of one field
_EXACT = 1 << 53  # many readers of JSON cannot represent larger whole numbers exactly


class LogRelay:
    def __init__(self, children: Children) -> None:
        self._children = children
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)

    def take(self, event: Mapping[str, Any]) -> None:
        """Keep a log record until the steward can take it; returns at once. Called for each record that is logged."""
        self._waiting.append(encode(Logged({_text(name): _plain(value) for name, value in event.items()})))

    def pass_on(self) -> None:
        """Send waiting records to the steward, until its channel is full."""
        steward = self._children.of_slot(STEWARD)
        while steward is not None and self._waiting and not steward.lines.is_pending:
            steward.lines.send(self._waiting.popleft())


def _plain(value: object) -> str | bool | int | float:
    match value:
        case bool() | float() if math.isfinite(value):
            return value
        case int() if abs(value) < _EXACT:
            return value
        case str():
            return _text(value)
        case _:
            return _text(repr(value))


def _text(text: str) -> str:
    """The text in a form that JSON can hold, cut to LONGEST_TEXT characters."""
    return text[:LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()


CONTROLLING = "/dev/tty"


def has_terminal() -> bool:
    """True if this process has a controlling terminal; False once the terminal was closed."""
    try:
        os.close(os.open(CONTROLLING, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


STORE_CHECK_EVERY = 0.01  # seconds between two checks whether a starting store accepts connections
CHECK_EVERY = 5.0
KILLED_WITHIN = 5.0  # seconds that the kernel has to end killed children, if the service ends without a drain

clock = time.monotonic


class Parent:
    """Supervises one service from its first fork to the death of its last child."""

    def __init__(self, spec: ServiceSpec, announce: Announce, kernel: Kernel = LINUX) -> None:
        self._spec = spec
        self._inbox: deque[events.Event] = deque()
        self._began = self._checked_at = clock()
        policy = replace(
            spec.policy, embedded=spec.store is not None, watched=spec.watcher is not None, web=spec.web is not None
        )
        self.view: View = begin(policy, spec.workers, self._began)
        self._selector = CallbackSelector()
        self._signals = ReceivedSignals()
        self._had_terminal = has_terminal()
        self._children = Children()
        self._child_factory = ChildFactory(spec)
        self._listener = ChildListener(
            self._selector, self._children, self._inbox.append, self._child_factory.start_failure
        )
        self._executor = CommandExecutor(
            self._children, self._child_factory, self._inbox.append, self._listener.watch, announce, kernel
        )
        self._status_notifier = StatusNotifier(Notifier(), announce, spec.store_url)
        self._stats = Stats()
        control_socket = spec.runtime_dir / protocol.CONTROL_SOCKET
        self._control = ControlServer(control_socket, self._selector, self._answer, spec.group_verbs)
        self._log_relay = LogRelay(self._children)
        self._selector.watch(self._signals.descriptor, self._take_signals)

    def run(self) -> int:
        """Supervise until the service has ended; returns its exit status. Even after an error, no child survives this
        call."""
        try:
            if self._spec.sends_logs:
                set_sink(self._log_relay.take)
            self._child_factory.prepare()
            self._finish_turn()
            while self.view.over is None:
                self._selector.turn(self._timeout())
                self._finish_turn()
            return self.view.over
        finally:
            self._end()

    def _finish_turn(self) -> None:
        """Handle all events that have arrived, then a Tick. Then tell the clients and systemd what has changed."""
        self._check_store()
        self._inbox.append(events.Tick())
        before = self.view
        while self._inbox:
            self.view, commands = decide(self.view, self._inbox.popleft(), clock())
            for command in commands:
                self._executor.perform(command)
        self._log_relay.pass_on()
        now = clock()
        self._listener.watch_unsent()
        self._control.tick(now)
        self._answer_reload(before)
        self._status_notifier.update(self.view, now)
        self._check_all(now)
        tell_left_out()

    def _timeout(self) -> float:
        now = clock()
        due = next_due(self.view, now) - now
        return max(0.0, min(due, STORE_CHECK_EVERY) if self._store_boots() else due)

    def _store_boots(self) -> bool:
        store = self.view.child(STORE)
        return store is not None and store.ready_at is None

    def _check_store(self) -> None:
        store = self._spec.store
        if store is not None and self._store_boots() and service_folders.listens(store.path):
            self._inbox.append(events.StoreOpened())

    def _check_all(self, now: float) -> None:
        if now - self._checked_at >= CHECK_EVERY:
            self._checked_at = now
            self._listener.reaper.check_all()

    def _take_signals(self) -> None:
        self._listener.reaper.sweep()
        self._inbox.extend(map(self._signalled, self._signals.take()))

    def _signalled(self, number: int) -> events.Signalled:
        match number:
            case signal.SIGTTIN:
                return events.Signalled(number, host.measure())
            case signal.SIGHUP:
                return events.Signalled(number, terminal_gone=self._had_terminal and not has_terminal())
            case _:
                return events.Signalled(number)

    def _answer(self, request: ControlRequest) -> Answer:
        match request:
            case protocol.AskStatus():
                spec, usage = self._spec, self._stats.measure(self._children.pids())
                store = protocol.StoreStatus(spec.store_url, spec.store is not None, None, spec.queue, spec.storage)
                return report(self.view, store, usage, Moment(clock(), time.time(), self._began))
            case protocol.AskScale(workers=workers):
                return self._scale(workers)
            case protocol.AskStacks(incarnation=incarnation):
                return self._stacks(incarnation)
            case protocol.AskReload():
                return self._reload()
            case protocol.AskStop(now=now):
                self._inbox.append(events.StopAsked(now))
                return protocol.Begun()

    def _scale(self, workers: int) -> Answer:
        measured = host.measure()
        if why_not := scale.refusal(self.view, workers, measured):
            return Refused(why_not)
        self._inbox.append(events.ScaleAsked(workers, measured))
        return protocol.Scaled(workers)

    def _stacks(self, incarnation: str) -> Answer:
        worker = stack_dump.worker_of(self.view, incarnation)
        if worker is None:
            return Refused(f"no worker {incarnation[:80]} is ready here")
        self._inbox.append(events.StacksWanted(worker.slot))
        return protocol.StacksOrdered(worker.pid)

    def _reload(self) -> Answer:
        if why_not := reload.refusal(self.view):
            return Refused(why_not)
        self._inbox.append(events.ReloadAsked())
        return protocol.Begun()

    def _answer_reload(self, before: View) -> None:
        ended = self.view.reloaded
        if ended is not None and ended is not before.reloaded:
            still, waiting = reload.draining(self.view), list(self.view.not_applied)
            result = protocol.ReloadResult(ended.generation, still, ended.error, ended.traceback, waiting)
            self._control.answer_waiting(result)

    def _end(self) -> None:
        set_sink(None)
        self._listener.reaper.kill_all(within=KILLED_WITHIN)
        self._control.close(self.view.over)
        self._selector.close()
        self._signals.close()
        tell_left_out(is_end=True)
