"""A home with XDG folders of its own, and the projects of its user: real pools that name no folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from threading import Thread

import pytest

from tests.cli.commands import Cli, clean
from tests.forked import COMMAND, popen

HANDLER = "async def handle(messages):\n    return messages[-1]['parts'][0]['text'].upper()\n"


@dataclass(frozen=True)
class Home:
    """`folder` holds everything of one user."""

    folder: Path

    @property
    def sockets(self) -> Path:
        return self.folder / "run" / "holdfast"

    @property
    def data(self) -> Path:
        return self.folder / "state" / "holdfast"

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.sockets.parent),
            "XDG_STATE_HOME": str(self.data.parent),
        }

    def project(self, name: str) -> Cli:
        """The commands of a project, with a handler in agent.py."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "agent.py").write_text(HANDLER)
        return self.at(folder)

    def at(self, folder: Path, *options: str) -> Cli:
        """Commands in this folder."""
        return Cli(folder, options, self.environ)

    def own(self, base: Path) -> list[Path]:
        """The folders of projects below the base."""
        return sorted(note.parent for note in base.glob("*/project.json"))

    def filled(self, cli: Cli, task_id: str) -> list[str]:
        """A pool has run here, has completed this task and was stopped; what `start` has printed for people."""
        with pool(cli) as lines:
            assert cli("submit", "x", "--wait", "--task-id", task_id).status == 0
        return lines


@pytest.fixture
def home(short_path: Path) -> Home:
    for name in ("run", "state"):
        (short_path / name).mkdir(0o700)
    return Home(short_path)


@contextmanager
def pool(cli: Cli, *options: str) -> Iterator[list[str]]:
    """`supervisor start` in the folder of these commands, ready; the lines for people that it prints."""
    words = ["start", "--workers", "1", *cli.options, *options]
    process = popen(COMMAND, words, cwd=cli.folder, env=clean(cli.environ), stdin=DEVNULL, stderr=PIPE, text=True)
    assert process.stderr is not None
    lines: list[str] = []

    def read() -> Iterator[str]:
        for line in process.stderr or ():
            lines.append(line)
            yield line

    reading = read()
    is_ready = any("worker ready" in line for line in reading)
    rest = Thread(target=lambda: [*reading])
    rest.start()
    try:
        assert is_ready, "".join(lines)
        yield lines
    finally:
        process.terminate()
        process.wait(60)
        rest.join()
        process.stderr.close()
