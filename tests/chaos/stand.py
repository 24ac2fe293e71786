"""Where the play's store stands: a server with an append-only file, which may be killed and started again."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.servers import Server, serve

# `always`: with everysec a write that was answered may wait for a slow disk, and go with the process that is killed.
OPTIONS = ("--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "yes")


class Stand:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        self._folder = folder
        self._stack = stack
        self._server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return self._server.url

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    def start(self) -> None:
        self._server = self._stack.enter_context(serve(self._folder, *OPTIONS))

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
