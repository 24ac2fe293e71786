"""Executes the commands of the core: fork, send, signal, log, print. It makes no decisions."""

from __future__ import annotations

import errno
import random
import signal
from collections.abc import Callable
from typing import Any

import structlog

from holdfast.ipc.channel import encode
from holdfast.os.kill_points import Point, reached
from holdfast_config import ConfigError
from holdfastd.core.commands import Announce, Command, Fork, Kill, Log, MeasureHost, Print, ReadSettings, Send
from holdfastd.core.parent_events import Event, Forked, ForkFailed, HostMeasured, SettingsRead
from holdfastd.core.slots import LOADER
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.parent import fork, host
from holdfastd.parent.children import ChildProcess, Children
from holdfastd.parent.fork import ForkedChild
from holdfastd.parent.spawn import ChildFactory

_log = structlog.get_logger("holdfast.parent")


class CommandExecutor:
    """`watch` is called with each new child, so that the loop watches it; `announce` prints a line for people; `emit`
    takes the resulting events."""

    def __init__(
        self,
        children: Children,
        child_factory: ChildFactory,
        emit: Callable[[Event], None],
        watch: Callable[[ChildProcess], None],
        announce: Announce,
        kernel: fork.Kernel = fork.LINUX,
    ) -> None:
        self._children = children
        self._child_factory = child_factory
        self._emit = emit
        self._watch = watch
        self._announce = announce
        self._kernel = kernel
        self._do: dict[type, Callable[[Any], None]] = {
            Fork: self._fork,
            ReadSettings: self._read_settings,
            MeasureHost: self._measure_host,
            Send: self._send,
            Kill: self._kill,
            Log: self._log_event,
            Print: self._print,
        }

    def perform(self, command: Command) -> None:
        self._do[type(command)](command)

    def _fork(self, command: Fork) -> None:
        try:
            incarnation, forked_child = self._forked(command)
            reached(Point.FORKED)
        except (OSError, StoreLaunchError) as error:
            reason = errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else ""
            self._emit(ForkFailed(command.slot, f"{reason} {error}".strip(), random.uniform(-1, 1)))
            return
        self._child_factory.forked(command.slot)
        self._watch(self._children.adopt(command.slot, incarnation, forked_child))
        self._emit(Forked(command.slot, incarnation, forked_child.pid))

    def _forked(self, command: Fork) -> tuple[str, ForkedChild]:
        """A new child and its incarnation. A worker that the loader cannot fork is forked here, under another name."""
        if command.by_loader:
            try:
                return self._child_factory.fork_by_loader(command.slot, self._children.of_pid, self._kernel)
            except ConnectionError as error:
                self._children.signal(LOADER, signal.SIGKILL)  # what hangs here would hold up each restart
                _log.warning(
                    "the loader was ended: the worker imports the handler", slot=str(command.slot), reason=str(error)
                )
        setup = self._child_factory.create(command.slot, command.first, command.generation)
        return setup.incarnation, fork.fork(setup, self._kernel)

    def _read_settings(self, command: ReadSettings) -> None:
        error = ""
        try:
            self._child_factory.reread(command.generation, command.needed)
        except ConfigError as problems:
            error = str(problems)
        self._emit(SettingsRead(command.generation, error))

    def _measure_host(self, _: MeasureHost) -> None:
        self._emit(HostMeasured(host.measure()))

    def _send(self, command: Send) -> None:
        process = self._children.of_slot(command.slot)
        if process is not None and not process.lines.send(encode(command.message)):
            _log.warning(
                "a child does not read its channel: a message was dropped", slot=str(command.slot), pid=process.pid
            )

    def _kill(self, command: Kill) -> None:
        self._children.signal(command.slot, command.signal)

    def _log_event(self, command: Log) -> None:
        getattr(_log, command.level)(command.event, **command.fields)

    def _print(self, command: Print) -> None:
        self._announce(command.text, "error")
