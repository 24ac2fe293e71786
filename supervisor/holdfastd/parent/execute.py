"""Executes the commands of the core (fork, send, signal, log, print), and prepares each child to fork."""

from __future__ import annotations

import errno
import os
import random
import signal
import socket
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import structlog

from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed, encode
from holdfast.os.kill_points import Point, reached
from holdfast_config import ConfigError
from holdfastd.core.commands import Announce, Command, Fork, Kill, Log, MeasureHost, Print, ReadSettings, Send
from holdfastd.core.parent_events import Event, Forked, ForkFailed, HostMeasured, SettingsRead
from holdfastd.core.slots import CLAIMING, LOADER, ChildKind, Slot
from holdfastd.embedded.data_folder import StoreLaunchError
from holdfastd.embedded.launch import StoreLaunch
from holdfastd.parent import child_setup, fork, host
from holdfastd.parent.child_setup import Body, ChildSetup
from holdfastd.parent.children import ChildProcess, Children
from holdfastd.parent.fork import LINUX, ForkedChild, Kernel, fork_by_loader
from holdfastd.parent.loader import ForkRequest, Loader, LoaderClient
from holdfastd.parent.service_spec import ServiceSpec, WorkerCode

# Prepares children of all kinds: the function that a child runs, and its process name.

# The kernel keeps fifteen bytes of a process's name.
_SHORT = {
    ChildKind.WORKER: "w",
    ChildKind.QUARANTINE: "q",
    ChildKind.STEWARD: "stew",
    ChildKind.WATCHER: "watch",
    ChildKind.WEB: "web",
    ChildKind.LOADER: "load",
    ChildKind.STORE: "store",
}


class ChildFactory:
    """Makes the setup of each child. From `prepare` until the embedded store runs, it holds the store's command and
    descriptors."""

    def __init__(self, spec: ServiceSpec) -> None:
        self._spec = spec
        self._work: dict[int, WorkerCode] = {0: spec.worker}  # by generation
        self._launch: StoreLaunch | None = None
        self._loader = LoaderClient()
        self._requests: socket.socket | None = None  # the connection's end for a loader that is about to be forked

    def prepare(self) -> None:
        """Prepare the first run of the embedded store, if there is one. Raises StoreLaunchError."""
        if self._spec.store is not None:
            self._launch = self._spec.store.prepare(True)

    def reread(self, generation: int, needed: Collection[int]) -> tuple[str, ...]:
        """Read the settings for workers of this generation; returns the names of changed settings that need a restart.
        Settings of earlier generations are dropped, unless their generation is in `needed`.

        If it raises ConfigError, it changes nothing.
        """
        code = self._spec.reread()
        self._work = {known: work for known, work in self._work.items() if known in needed} | {generation: code}
        return code.not_applied

    def create(self, slot: Slot, first: bool, generation: int) -> ChildSetup:
        """The setup of a new child for this slot, with a new incarnation. Raises StoreLaunchError."""
        incarnation = uuid.uuid4().hex
        spec, code = self._spec, self._work[generation]
        match slot.kind:
            case ChildKind.WORKER | ChildKind.QUARANTINE:
                return worker_setup(code, incarnation, slot)
            case ChildKind.LOADER:
                return self._loader_setup(incarnation, slot, code)
            case ChildKind.STEWARD:
                return _setup(incarnation, slot, partial(spec.steward, first), spec.metrics.descriptors)
            case ChildKind.WATCHER:
                assert spec.watcher is not None
                return _setup(incarnation, slot, spec.watcher)
            case ChildKind.WEB:
                assert spec.web is not None
                return _setup(incarnation, slot, spec.web, spec.dashboard.descriptors)
            case ChildKind.STORE:
                return self._store(incarnation, slot)

    def forked(self, slot: Slot) -> None:
        """Close the parent's copies of the descriptors for this child, which now runs."""
        if slot.kind is ChildKind.STORE and self._launch is not None:
            for descriptor in self._launch.inherit:
                os.close(descriptor)
            self._launch = None
        if slot.kind is ChildKind.LOADER and self._requests is not None:
            self._requests.close()
            self._requests = None

    def fork_by_loader(
        self, slot: Slot, is_known: Callable[[int], object], kernel: Kernel = LINUX
    ) -> tuple[str, ForkedChild]:
        """Have the loader fork a worker. Returns its incarnation and the child. Raises OSError."""
        request = ForkRequest(uuid.uuid4().hex, slot.kind, slot.number)
        return request.incarnation, fork_by_loader(request, self._loader, is_known, kernel)

    def start_failure(self, slot: Slot, pid: int) -> BootFailed | None:
        """The error of a dead embedded store, read from its log because it sends no messages. None for other children,
        and if the log has no error."""
        store = self._spec.store
        words = store.start_failure(pid) if store is not None and slot.kind is ChildKind.STORE else ""
        return BootFailed(ChildExit.UNAVAILABLE, words) if words else None

    def _loader_setup(self, incarnation: str, slot: Slot, code: WorkerCode) -> ChildSetup:
        assert code.load is not None
        requests = self._requests = self._loader.connect()

        def make_setup(request: ForkRequest, kept: tuple[int, ...]) -> ChildSetup:
            return worker_setup(code, request.incarnation, request.slot, kept)

        return _setup(incarnation, slot, Loader(code.load, make_setup, requests).run, (requests.fileno(),))

    def _store(self, incarnation: str, slot: Slot) -> ChildSetup:
        assert self._spec.store is not None
        launch = self._launch = self._launch or self._spec.store.prepare(False)

        def serve(_: socket.socket) -> int:
            child_setup.execute(launch.argv, launch.inherit, incarnation)

        return _setup(incarnation, slot, serve, launch.inherit)


def worker_setup(code: WorkerCode, incarnation: str, slot: Slot, kept: tuple[int, ...] = ()) -> ChildSetup:
    """The setup of a worker with this incarnation. `kept`: descriptors that its handler needs."""
    return _setup(incarnation, slot, partial(code.run, incarnation, slot), kept)


def _setup(incarnation: str, slot: Slot, body: Body, kept: tuple[int, ...] = ()) -> ChildSetup:
    name = f"holdfast: {_SHORT[slot.kind]}{slot.number if slot.kind in CLAIMING else ''}"
    return ChildSetup(incarnation, name, f"holdfast: {slot}", body, kept)


_log = structlog.get_logger("holdfast.parent")


@dataclass(frozen=True, slots=True)
class CommandExecutor:
    """Executes commands and passes the resulting events to `emit`. `watch` makes the parent's loop watch a new child;
    `announce` prints a line for people."""

    children: Children
    child_factory: ChildFactory
    emit: Callable[[Event], None]
    watch: Callable[[ChildProcess], None]
    announce: Announce
    kernel: Kernel = LINUX

    def perform(self, command: Command) -> None:
        match command:
            case Fork():
                self._fork(command)
            case ReadSettings():
                self._read_settings(command)
            case MeasureHost():
                self.emit(HostMeasured(host.measure()))
            case Send():
                self._send(command)
            case Kill():
                self.children.signal(command.slot, command.signal)
            case Log():
                getattr(_log, command.level)(command.event, **command.fields)
            case Print():
                self.announce(command.text, "error")

    def _fork(self, command: Fork) -> None:
        try:
            incarnation, forked_child = self._forked(command)
            reached(Point.FORKED)
        except (OSError, StoreLaunchError) as error:
            reason = errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else ""
            self.emit(ForkFailed(command.slot, f"{reason} {error}".strip(), random.uniform(-1, 1)))
            return
        self.child_factory.forked(command.slot)
        self.watch(self.children.adopt(command.slot, incarnation, forked_child))
        self.emit(Forked(command.slot, incarnation, forked_child.pid))

    def _forked(self, command: Fork) -> tuple[str, ForkedChild]:
        """Fork a child; returns its incarnation and the child. If the loader does not answer, the parent forks the
        worker itself, with another incarnation."""
        if command.by_loader:
            try:
                return self.child_factory.fork_by_loader(command.slot, self.children.of_pid, self.kernel)
            except ConnectionError as error:
                self.children.signal(LOADER, signal.SIGKILL)  # a loader that hangs would delay each fork of a worker
                _log.warning(
                    "the loader was ended: the worker imports the handler", slot=str(command.slot), reason=str(error)
                )
        setup = self.child_factory.create(command.slot, command.first, command.generation)
        return setup.incarnation, fork.fork(setup, self.kernel)

    def _read_settings(self, command: ReadSettings) -> None:
        try:
            read = SettingsRead(
                command.generation, not_applied=self.child_factory.reread(command.generation, command.needed)
            )
        except ConfigError as problems:
            read = SettingsRead(command.generation, str(problems))
        self.emit(read)

    def _send(self, command: Send) -> None:
        process = self.children.of_slot(command.slot)
        if process is not None and not process.lines.send(encode(command.message)):
            _log.warning(
                "a child does not read its channel: a message was dropped", slot=str(command.slot), pid=process.pid
            )
