"""Listening to children: their channels for messages, their pidfds for deaths."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
import structlog

from holdfast.ipc.channel import BootFailed, decode_from_child
from holdfastd.core.events import Event, Heard
from holdfastd.core.slots import Slot
from holdfastd.parent.children import ChildProcess, Children
from holdfastd.parent.event_loop import READ, WRITE, EventLoop
from holdfastd.parent.reap import Reaper

_log = structlog.get_logger("holdfast.parent")


Complaint = Callable[[Slot, int], BootFailed | None]


class ChildListener:
    """Puts each child's descriptors into the loop, and takes them out when it is dead. `complaint` says what a dead
    child could not say by itself."""

    def __init__(self, loop: EventLoop, family: Children, post: Callable[[Event], None], complaint: Complaint) -> None:
        self._loop = loop
        self._family = family
        self._post = post
        self._complaint = complaint
        self.reaper = Reaper(family, post, self._bid_farewell)

    def attend(self, process: ChildProcess) -> None:
        """Listen to a new child."""
        self._loop.watch(process.lines.stream.fileno(), partial(self._listen, process))
        if process.pidfd is not None:
            self._loop.watch(process.pidfd, partial(self.reaper.collect, process))

    def press_on(self) -> None:
        """Go on sending what a child had no room for, as soon as it reads."""
        for process in self._family:
            if process.lines.is_pending and not process.lines.ended:
                self._loop.watch(process.lines.stream.fileno(), partial(self._listen, process), READ | WRITE)

    def _listen(self, process: ChildProcess) -> None:
        lines = process.lines
        was_pending = lines.is_pending
        lines.flush()
        for line in lines.receive():
            self._hear(process, line)
        if lines.overrun:
            lines.overrun = False
            _log.warning("a child sent a line without end", slot=str(process.slot), pid=process.pid)
        if lines.ended:  # it closed its end, which means nothing: a pidfd tells of its death
            self._loop.forget(lines.stream.fileno())
        elif was_pending and not lines.is_pending:
            self.attend(process)

    def _hear(self, process: ChildProcess, line: bytes) -> None:
        try:
            message = decode_from_child(line)
        except msgspec.DecodeError:
            _log.warning("a child's message cannot be read", slot=str(process.slot), line=line[:200])
            return
        self._post(Heard(process.slot, process.incarnation, message))

    def _bid_farewell(self, process: ChildProcess) -> None:
        if not process.lines.ended:
            self._listen(process)
        complaint = self._complaint(process.slot, process.pid)
        if complaint is not None:
            self._post(Heard(process.slot, process.incarnation, complaint))
        self._loop.forget(process.lines.stream.fileno())
        if process.pidfd is not None:
            self._loop.forget(process.pidfd)
