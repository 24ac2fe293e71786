"""Runs the watcher process, from the fork to its exit status."""

from __future__ import annotations

import faulthandler
import importlib
import signal
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import structlog
from anyio import CancelScope

from holdfast.exits import ChildExit
from holdfast.ipc.channel import Beat, BootFailed, Changed, Leave, Ready
from holdfast.ipc.child_end import ParentLink
from holdfast_config.standard_error import STREAM
from holdfastd.watcher.spec import WatcherSpec

BEAT_EVERY = 1.0  # seconds
NAMED = 20  # changed files in one message
SAY_GOODBYE = 1.0  # seconds for the last message to reach the parent

_log = structlog.get_logger("holdfast.watcher")


def run(spec: WatcherSpec, channel: socket.socket) -> int:
    """Watch until told to leave, or until the parent is gone; the exit status."""
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    try:
        return anyio.run(FileWatcher(spec, ParentLink(channel)).live)
    except Exception:
        _log.exception("the watcher failed")
        return ChildExit.BUG


@dataclass(slots=True)
class FileWatcher:
    spec: WatcherSpec
    link: ParentLink
    _code: ChildExit = ChildExit.OK
    _enough: anyio.Event = field(default_factory=anyio.Event)

    async def live(self) -> ChildExit:
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, group.cancel_scope)
            group.start_soon(self._report)
            group.start_soon(self._heed_parent, group.cancel_scope)
        await self.link.flush(SAY_GOODBYE)
        return self._code

    async def _heed_parent(self, scope: CancelScope) -> None:
        message = await self.link.receive()
        while not isinstance(message, Leave | None):
            message = await self.link.receive()
        if message is None:
            self._code = ChildExit.ORPHANED
        self._enough.set()  # the library waits in a thread, which notices a cancellation seconds later
        scope.cancel()

    async def _watch(self, scope: CancelScope) -> None:
        try:
            async for changes in self._changes():
                self.link.send(Changed(sorted({path for _, path in changes})[:NAMED]))
        except OSError as error:
            self._code = ChildExit.BOOT_FAILED
            self.link.send(BootFailed(self._code, f"cannot watch {self.spec.folder} for changes: {error}"))
            scope.cancel()

    def _changes(self) -> AsyncIterator[set[tuple[object, str]]]:
        def wants(_: object, path: str) -> bool:
            return self.spec.wants(Path(path))

        self.spec.folder.stat()  # a folder that is missing would be passed over, as those that must not be read are
        library: Any = importlib.import_module("watchfiles")  # an extra, needed only with --reload
        changes: AsyncIterator[set[tuple[object, str]]] = library.awatch(
            *self.spec.roots, watch_filter=wants, stop_event=self._enough, ignore_permission_denied=True
        )
        return changes

    async def _report(self) -> None:
        """Report ready and then heartbeats. It starts after `_watch`, which by then watches all files or has failed."""
        if self._code is ChildExit.OK:
            self.link.send(Ready())
        while True:
            self.link.send(Beat())
            await anyio.sleep(BEAT_EVERY)
