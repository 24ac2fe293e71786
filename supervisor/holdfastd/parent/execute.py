"""Performing what the core has ordered: fork, send, signal, log, print. Nothing is decided here."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from typing import Any

import structlog

from holdfast.ipc.channel import encode
from holdfast.os.kill_points import Point, reached
from holdfast_config import ConfigError
from holdfastd.core.commands import Command, Fork, Kill, MeasureHost, ReadSettings, Say, Send, Show
from holdfastd.core.events import Event, Forked, ForkFailed, HostMeasured, SettingsRead
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.parent import fork, host
from holdfastd.parent.children import ChildProcess, Children
from holdfastd.parent.spawn import ChildFactory

_log = structlog.get_logger("holdfast.parent")


class CommandExecutor:
    """`attend` is called for each new child, so that it is watched; `announce` prints for humans."""

    def __init__(
        self,
        family: Children,
        births: ChildFactory,
        post: Callable[[Event], None],
        attend: Callable[[ChildProcess], None],
        announce: Callable[[str], None],
        kernel: fork.Kernel = fork.LINUX,
    ) -> None:
        self._family = family
        self._births = births
        self._post = post
        self._attend = attend
        self._announce = announce
        self._kernel = kernel
        self._do: dict[type, Callable[[Any], None]] = {
            Fork: self._fork,
            ReadSettings: self._read_settings,
            MeasureHost: self._measure_host,
            Send: self._send,
            Kill: self._kill,
            Say: self._say,
            Show: self._show,
        }

    def perform(self, command: Command) -> None:
        self._do[type(command)](command)

    def _fork(self, command: Fork) -> None:
        try:
            birth = self._births.of(command.slot, command.first, command.generation)
            newborn = fork.fork(birth, self._kernel)
            reached(Point.FORKED)
        except (OSError, StoreLaunchError) as error:
            reason = errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else ""
            self._post(ForkFailed(command.slot, f"{reason} {error}".strip(), random.uniform(-1, 1)))
            return
        self._births.born(command.slot)
        self._attend(self._family.adopt(command.slot, birth.incarnation, newborn))
        self._post(Forked(command.slot, birth.incarnation, newborn.pid))

    def _read_settings(self, command: ReadSettings) -> None:
        error = ""
        try:
            self._births.reread(command.generation, command.needed)
        except ConfigError as problems:
            error = str(problems)
        self._post(SettingsRead(command.generation, error))

    def _measure_host(self, _: MeasureHost) -> None:
        self._post(HostMeasured(host.measure()))

    def _send(self, command: Send) -> None:
        process = self._family.of_slot(command.slot)
        if process is not None and not process.lines.send(encode(command.message)):
            _log.warning("a child does not read its messages", slot=str(command.slot), pid=process.pid)

    def _kill(self, command: Kill) -> None:
        self._family.signal(command.slot, command.signal)

    def _say(self, command: Say) -> None:
        getattr(_log, command.level)(command.event, **command.fields)

    def _show(self, command: Show) -> None:
        self._announce(command.text)
