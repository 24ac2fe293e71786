"""Commands as handlers, for tests: small shell scripts, run as a worker runs them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Outcome
from holdfast.handler.command.command_line import find
from holdfast.handler.command.command_runner import CommandRunner
from holdfast.handler.handler import Handler
from holdfast_config.environment import for_commands
from tests.handler.deliveries import document, run_handler

PATIENCE = 30.0  # seconds; reached only by a test that fails
GRACE = 10.0  # seconds; as long as no test waits for it


def program(line: str, *, grace: float = GRACE, environ: Mapping[str, str] = os.environ, **options: Any) -> Handler:
    return Handler(line, CommandRunner(find(line, os.environ["PATH"]), for_commands(environ), grace, **options))


def shell(script: str, **options: Any) -> Handler:
    return program(shlex.join(["sh", "-c", script]), **options)


async def run_shell(script: str, delivery: Delivery | None = None, **options: Any) -> Outcome:
    return await run_handler(shell(script), delivery, **options)


async def parts_of(script: str, delivery: Delivery | None = None, **options: Any) -> Any:
    """The parts of the result, each as its text or its data."""
    parts = document(await run_shell(script, delivery, **options))["parts"]
    return [part.get("text", part.get("data")) for part in parts]


class Ear:
    """A named pipe that commands write lines to, held open so that no writer waits and no reader meets an end."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ear"
        os.mkfifo(self.path)
        self._pipe = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        self._torn = b""

    async def line(self) -> str:
        """The next line, once it is there."""
        while b"\n" not in self._torn:
            with anyio.fail_after(PATIENCE):
                await anyio.wait_readable(self._pipe)
            self._torn += os.read(self._pipe, 65536)
        line, self._torn = self._torn.split(b"\n", 1)
        return line.decode()

    async def pids(self) -> list[int]:
        return [int(word) for word in (await self.line()).split()]

    def close(self) -> None:
        os.close(self._pipe)
