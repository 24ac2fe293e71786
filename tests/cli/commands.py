"""The `supervisor` command as its users have it: a process, its output, its exit status."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structlog import get_config

from holdfastd.cli.main import run
from tests.forked import COMMAND, Kind, Program, popen

ROOT = Path(__file__).parents[2]
NOBODY = "supervisor: warning: accepted tasks must wait: no worker runs: supervisor start\n"
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
SERVICES = frozenset({"start", "demo"})
OURS = ("HOLDFAST_", "REDIS_", "SCHEDULER", "STORAGE", "DATABASE_URL", "NO_COLOR", "OTEL_")


@dataclass(frozen=True)
class Answer:
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Cli:
    """Runs commands with `options` at their end, in `folder`. `forked`: from a process that has made the imports."""

    folder: Path
    options: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    forked: bool = True

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Answer:
        process = self._started([*arguments, *self.options], clean(self.environ), **PIPES)
        try:
            out, err = process.communicate(stdin, 60)
        finally:
            process.kill()
        return Answer(process.wait(), out.decode(), err.decode())

    def on_terminal(self, *arguments: str) -> Answer:
        """Standard output and error are one terminal, of 100 columns."""
        ours, theirs = pty.openpty()
        environ = clean({"COLUMNS": "100", "TERM": "xterm-256color"} | dict(self.environ))
        words = [*arguments, *self.options]
        streams = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs}
        process = self._started(words, environ, **streams)
        os.close(theirs)
        shown = b"".join(_read(ours))
        os.close(ours)
        return Answer(process.wait(60), shown.decode().replace("\r\n", "\n"), "")

    def _started(self, words: Sequence[str], environ: Mapping[str, str], **streams: int) -> Program:
        kind: Kind = "commands" if SERVICES.isdisjoint(words) else "services"
        return popen(COMMAND, words, kind=kind, fork=self.forked, cwd=self.folder, env=environ, **streams)


@dataclass(frozen=True)
class Inside(Cli):
    """The same without a process of their own. Standard input is a file."""

    capsys: Any = None

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Answer:
        given = self.folder / "stdin"
        given.write_bytes(stdin)
        words = [str(given) if word == "-" else word for word in arguments]
        status = run([*words, *self.options])
        assert not get_config()["cache_logger_on_first_use"], "it configures the logs of its process: not inside"
        shown = self.capsys.readouterr()
        return Answer(status, shown.out, shown.err)


def clean(more: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would change settings. The examples can be imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]  # a copy of the tree is tried by its own code
    return kept | {"PYTHONPATH": os.pathsep.join(paths)} | dict(more)


def _read(descriptor: int) -> list[bytes]:
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(descriptor, 1 << 16)
        except OSError:  # EIO: the last process with the terminal has ended
            return parts
        if not part:
            return parts
        parts.append(part)
