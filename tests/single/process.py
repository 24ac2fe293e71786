"""`supervisor start` with the queue in memory, as a real process: what it prints is what tests wait for."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.cli.commands import clean
from tests.forked import SUPERVISOR

PATIENCE = 60.0  # seconds; reached only by a test that fails


@dataclass
class Single:
    process: subprocess.Popen[str]

    def until(self, text: str) -> str:
        """The lines up to one that has this text."""
        seen: list[str] = []
        with self._within() as stream:
            for line in stream:
                seen.append(line)
                if text in line:
                    return "".join(seen)
        raise AssertionError(f"it ended without {text!r}:\n{''.join(seen)}")

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str]:
        """Its exit status and its last words."""
        with self._within() as stream:
            rest = stream.read()
        return self.process.wait(PATIENCE), rest

    @contextmanager
    def _within(self) -> Iterator[IO[str]]:
        """Its output, which ends in any case: a process that hangs is killed."""
        assert self.process.stdout is not None
        alarm = threading.Timer(PATIENCE, self.process.kill)
        alarm.start()
        try:
            yield self.process.stdout
        finally:
            alarm.cancel()


@contextmanager
def single(folder: Path, program: str, *flags: str, **environ: str) -> Iterator[Single]:
    """Serves `program`, an agent.py; what it and its handler print is one stream."""
    (folder / "agent.py").write_text(program)
    process = subprocess.Popen(
        [SUPERVISOR, "start", "--scheduler-type", "memory", *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=clean({"PYTHONUNBUFFERED": "1", "HOLDFAST_STATE_DIR": str(folder), **environ}),
    )
    try:
        yield Single(process)
    finally:
        process.kill()
        process.communicate()
