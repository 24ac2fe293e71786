"""The watcher process: it asks the parent for a reload when a file changes. It runs until the parent ends it."""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Collection
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

# The arguments with which a watcher is started.

CODE = ".py"
# Folders into which tools write. Changes in them need no reload.
SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True, slots=True)
class WatcherSpec:
    """The paths to watch: Python files in `folder` and its subfolders, and the settings files `files` in any folder."""

    folder: Path
    files: Collection[Path] = ()

    def wants(self, path: Path) -> bool:
        """True if a change of this path requires a reload."""
        if path in self.files:
            return True
        if path.suffix != CODE or not path.is_relative_to(self.folder):
            return False
        return not any(part in SKIPPED or part.startswith(".") for part in path.relative_to(self.folder).parts)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The paths to watch: the folder, and existing files outside it."""
        outside = (file for file in self.files if not file.is_relative_to(self.folder) and file.exists())
        return (self.folder, *outside)

    @classmethod
    def of(cls, folder: Path, files: Collection[Path]) -> WatcherSpec:
        """A spec with all symbolic links in the paths resolved. The kernel reports changes by these paths."""
        return cls(folder.resolve(), frozenset(Path(os.path.realpath(file)) for file in files))


BEAT_EVERY = 1.0  # seconds
NAMED = 20  # changed files that one message names
SAY_GOODBYE = 1.0  # seconds for the last message to reach the parent

_log = structlog.get_logger("holdfast.watcher")


def run(spec: WatcherSpec, channel: socket.socket) -> int:
    """Watch until the parent asks this process to leave, or is gone. Returns the exit status."""
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
        while not isinstance(message := await self.link.receive(), Leave | None):
            pass
        if message is None:
            self._code = ChildExit.ORPHANED
        self._enough.set()  # ends the library's thread at once; it would notice the cancellation only seconds later
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

        self.spec.folder.stat()  # raises OSError for a missing folder, which the library would ignore
        library: Any = importlib.import_module("watchfiles")  # installed with an extra, and needed only with --reload
        changes: AsyncIterator[set[tuple[object, str]]] = library.awatch(
            *self.spec.roots, watch_filter=wants, stop_event=self._enough, ignore_permission_denied=True
        )
        return changes

    async def _report(self) -> None:
        """Report that this process is ready, then send a heartbeat every second. `_watch` was started before: by now it
        watches all files, or it has failed."""
        if self._code is ChildExit.OK:
            self.link.send(Ready())
        while True:
            self.link.send(Beat())
            await anyio.sleep(BEAT_EVERY)
