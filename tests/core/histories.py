"""Playing histories to the parent's core: events in, commands out, a clock that is a number."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from holdfast.ipc.channel import Acknowledged, Beat, BootFailed, Drained, FromChild, Ready
from holdfastd.core.capacity import BOUNDLESS, Host
from holdfastd.core.commands import Command, Fork, Kill, Log, MeasureHost, Print, ReadSettings, Send
from holdfastd.core.decisions import begin, decide, next_due
from holdfastd.core.parent_events import (
    Event,
    Exited,
    Forked,
    ForkFailed,
    HostMeasured,
    MessageReceived,
    SettingsRead,
    Signalled,
    StoreOpened,
    Tick,
)
from holdfastd.core.slots import LOADER, STEWARD, STORE, Child, ChildKind, Slot, SupervisionPolicy
from holdfastd.core.view import View

TERM = Signalled(signal.SIGTERM)
POLICY = SupervisionPolicy(drain_timeout=90.0, hang_timeout=60.0, boot_timeout=60.0)


def worker(number: int) -> Slot:
    return Slot(ChildKind.WORKER, number)


def quarantine(number: int) -> Slot:
    return Slot(ChildKind.QUARANTINE, number)


class History:
    """A parent without a shell: forks succeed at once unless `fork_fails`, with pids that count up. `known`: the
    generations whose settings the shell still has; a fork of any other generation is a fault."""

    def __init__(self, workers: int = 2, policy: SupervisionPolicy = POLICY) -> None:
        self.now = 1000.0
        self.view: View = begin(policy, workers, self.now)
        self.done: list[Command] = []
        self.fork_fails = False
        self.settings_error = ""
        self.host: Host = BOUNDLESS
        self.known = {0}
        self._pid = 100

    def started(self) -> History:
        """Everybody is ready and has lived a while."""
        self.tick()
        if self.view.policy.embedded:
            self.event(StoreOpened())
            self.tick()
        self.hear(STEWARD, Ready())
        if self.view.policy.preloaded:
            self.hear(LOADER, Ready())
        self.tick()
        for slot in self.workers():
            self.hear(slot, Ready())
        self.pass_time(5.0)
        self.done.clear()
        return self

    def event(self, event: Event) -> list[Command]:
        """The commands that follow from this event alone; forks are answered."""
        before = len(self.done)
        self.view, commands = decide(self.view, event, self.now)
        self.done += commands
        for command in commands:
            if isinstance(command, Fork):
                self._fork(command)
            if isinstance(command, ReadSettings):
                if not self.settings_error:
                    self.known = {*self.known.intersection(command.needed), command.generation}
                self.event(SettingsRead(command.generation, self.settings_error))
            if isinstance(command, MeasureHost):
                self.event(HostMeasured(self.host))
        return self.done[before:]

    def _fork(self, command: Fork) -> None:
        assert command.generation in self.known, f"the settings of generation {command.generation} are gone"
        self._pid += 1
        if self.fork_fails:
            self.event(ForkFailed(command.slot, "EAGAIN", 0.0))
        else:
            self.event(Forked(command.slot, f"life-{self._pid}", self._pid))

    def tick(self, after: float = 0.0) -> list[Command]:
        self.now += after
        return self.event(Tick())

    def pass_time(self, seconds: float, *, silent: Iterable[Slot] = (), every: float = 0.01) -> list[Command]:
        """Time in which everybody reports each second, but the silent; the parent looks whenever it has to, or after
        `every` seconds if that is later."""
        before, end, quiet = len(self.done), self.now + seconds, set(silent)
        while self.now < end and self.view.over is None:
            self.now = min(end, max(next_due(self.view, self.now), self.now + every))
            for slot in [slot for slot in self.view.seats if slot not in quiet]:
                child = self.view.child(slot)
                if child is not None and child.ready_at is not None and slot is not STORE:
                    self.hear(slot, Beat(list(child.running), child.settled))
            self.event(Tick())
        return self.done[before:]

    def hear(self, slot: Slot, message: FromChild) -> list[Command]:
        return self.event(MessageReceived(slot, self.child(slot).incarnation, message))

    def die(self, slot: Slot, status: int, *, oom: bool = False, jitter: float = 0.0) -> list[Command]:
        """The death and what the parent does at the end of that turn."""
        before = len(self.done)
        self.event(Exited(slot, self.child(slot).incarnation, status, oom, jitter))
        self.tick()
        return self.done[before:]

    def leave(self, slot: Slot, released: int = 0) -> list[Command]:
        """A worker that was asked to drain does so."""
        self.hear(slot, Drained(released))
        return self.die(slot, 0)

    def boot_failed(self, slot: Slot, code: int = 78, error: str = "no agent", traceback: str = "") -> list[Command]:
        self.hear(slot, BootFailed(code, error, traceback))
        return self.die(slot, code)

    def acknowledge(self, incarnation: str, recovered: int = 1) -> list[Command]:
        return self.hear(STEWARD, Acknowledged(incarnation, recovered))

    def child(self, slot: Slot) -> Child:
        child = self.view.child(slot)
        assert child is not None, f"nobody lives in {slot}"
        return child

    def workers(self) -> list[Slot]:
        return sorted(slot for slot, seat in self.view.workers() if isinstance(seat, Child))

    def quarantined(self) -> list[Slot]:
        return sorted(child.slot for child in self.view.living(ChildKind.QUARANTINE))

    def cause(self) -> str:
        return str(self.view.deaths[-1].cause)


def forks(commands: Iterable[Command]) -> list[Slot]:
    return [command.slot for command in commands if isinstance(command, Fork)]


def kills(commands: Iterable[Command], slot: Slot | None = None) -> list[int]:
    return [each.signal for each in commands if isinstance(each, Kill) and slot in (None, each.slot)]


def sent(commands: Iterable[Command], slot: Slot) -> list[object]:
    return [command.message for command in commands if isinstance(command, Send) and command.slot == slot]


def events_logged(commands: Iterable[Command]) -> list[str]:
    return [command.event for command in commands if isinstance(command, Log)]


def shown(commands: Iterable[Command]) -> list[str]:
    return [command.text for command in commands if isinstance(command, Print)]


__all__ = [
    "History",
    "POLICY",
    "STEWARD",
    "STORE",
    "TERM",
    "forks",
    "kills",
    "quarantine",
    "events_logged",
    "sent",
    "shown",
    "worker",
]
