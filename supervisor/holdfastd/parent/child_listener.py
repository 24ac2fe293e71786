"""Reads messages from the children's channels, and learns of their deaths from their pidfds."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from functools import partial

import structlog

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.ipc.channel import BootFailed, decode_from_child
from holdfastd.core.parent_events import Event, MessageReceived
from holdfastd.core.slots import Slot
from holdfastd.parent.children import ChildProcess, Children
from holdfastd.parent.reap import Reaper

# Waits for descriptors and calls their callbacks: one turn of the parent's loop. No threads, no asyncio.

Callback = Callable[[], None]

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE


class CallbackSelector:
    """Maps each watched descriptor to the callback for when it is ready."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, descriptor: int, callback: Callback, interest: int = READ) -> None:
        """Call `callback` whenever the descriptor is ready; a second call replaces callback and interest."""
        if descriptor in self._selector.get_map():
            self._selector.modify(descriptor, interest, callback)
        else:
            self._selector.register(descriptor, interest, callback)

    def forget(self, descriptor: int) -> None:
        """Stop watching the descriptor; call this before it is closed."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def turn(self, timeout: float) -> None:
        """Wait at most `timeout` seconds, then serve each ready descriptor once."""
        for key, _ in self._selector.select(timeout):
            registered = self._selector.get_map().get(key.fd)
            if registered is not None and registered.data is key.data:  # else an earlier callback has ended this one
                key.data()

    def close(self) -> None:
        self._selector.close()


_log = structlog.get_logger("holdfast.parent")


StartFailure = Callable[[Slot, int], BootFailed | None]


class ChildListener:
    """Watches each child's descriptors until its death. `start_failure` gives the error of a dead child that does not
    speak the channel protocol."""

    def __init__(
        self, selector: CallbackSelector, children: Children, emit: Callable[[Event], None], start_failure: StartFailure
    ) -> None:
        self._selector = selector
        self._children = children
        self._emit = emit
        self._start_failure = start_failure
        self.reaper = Reaper(children, emit, self._read_last_messages)

    def watch(self, process: ChildProcess) -> None:
        """Watch the channel and the pidfd of a new child."""
        self._selector.watch(process.lines.stream.fileno(), partial(self._listen, process))
        if process.pidfd is not None:
            self._selector.watch(process.pidfd, partial(self.reaper.collect, process))

    def watch_unsent(self) -> None:
        """Watch for room in the channels of children that have not taken all their messages."""
        for process in self._children:
            if process.lines.is_pending and not process.lines.ended:
                self._selector.watch(process.lines.stream.fileno(), partial(self._listen, process), READ | WRITE)

    def _listen(self, process: ChildProcess) -> None:
        lines = process.lines
        was_pending = lines.is_pending
        lines.flush()
        for line in lines.receive():
            self._hear(process, line)
        if lines.overrun:
            lines.overrun = False
            _log.warning(
                "a child's message was longer than allowed and was dropped", slot=str(process.slot), pid=process.pid
            )
        if lines.ended:  # the child closed its end, which is no death: the pidfd reports that
            self._selector.forget(lines.stream.fileno())
        elif was_pending and not lines.is_pending:
            self.watch(process)

    def _hear(self, process: ChildProcess, line: bytes) -> None:
        try:
            message = decode_from_child(line)
        except UNREADABLE_JSON:
            _log.warning("a child's message cannot be decoded", slot=str(process.slot), line=line[:200])
            return
        self._emit(MessageReceived(process.slot, process.incarnation, message))

    def _read_last_messages(self, process: ChildProcess) -> None:
        if not process.lines.ended:
            self._listen(process)
        start_failure = self._start_failure(process.slot, process.pid)
        if start_failure is not None:
            self._emit(MessageReceived(process.slot, process.incarnation, start_failure))
        self._selector.forget(process.lines.stream.fileno())
        if process.pidfd is not None:
            self._selector.forget(process.pidfd)
