"""`supervisor start --reload`: a saved file is loaded, broken code leaves the old one serving."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from tests.cli.commands import Cli, clean
from tests.cli.conftest import until_replaced
from tests.forked import SUPERVISOR

SAVED = 1_700_000_000
TERMINAL_RETRIES = 60.0  # seconds until a test that hears nothing is ended

WITHOUT_LIBRARY = """
import sys
sys.modules["watchfiles"] = None
from holdfastd.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


class ReloadingSupervisor:
    """A supervisor with --reload in `folder`, and what it says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        places = ("--runtime-dir", str(folder / "run"))
        self.cli = Cli(folder, places)
        self.process = subprocess.Popen(
            [SUPERVISOR, "start", "--workers", "2", "--reload", *places, "--state-dir", str(folder / "state")],
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=clean({"PYTHONDONTWRITEBYTECODE": ""}),
        )

    def until(self, words: str) -> str:
        """The output up to a line with these words."""
        assert self.process.stderr is not None
        text = ""
        for line in self.process.stderr:
            text += line
            if words in line:
                return text
        raise AssertionError(f"never said {words!r}:\n{text}")

    def save(self, body: str) -> None:
        """Within the same second as ever, as an editor can: file times alone do not tell one version from another."""
        path = self.folder / "agent.py"
        path.write_text(f"def handle(messages): {body}\n")
        os.utime(path, (SAVED, SAVED))

    def answer(self) -> object:
        (line,) = self.cli("submit", "x", "--wait").lines
        return line["result"]


@contextmanager
def reloading(folder: Path) -> Iterator[ReloadingSupervisor]:
    (folder / "agent.py").write_text("def handle(messages): return 1\n")
    os.utime(folder / "agent.py", (SAVED, SAVED))
    (folder / "supervisor.toml").write_text('log_format = "json"\n')
    supervisor = ReloadingSupervisor(folder)
    guard = Timer(TERMINAL_RETRIES, supervisor.process.kill)
    guard.start()
    try:
        supervisor.until("submit work with")
        yield supervisor
    finally:
        guard.cancel()
        supervisor.process.terminate()
        supervisor.process.communicate()


def test_what_is_saved_is_loaded_and_what_is_broken_changes_nothing(short_path: Path) -> None:
    with reloading(short_path) as supervisor:
        assert supervisor.answer() == 1
        supervisor.save("return 2")
        supervisor.until('"event": "reloaded"')
        until_replaced(supervisor.cli)
        assert supervisor.answer() == 2
        supervisor.save("return (")
        line = supervisor.until('"event": "reload failed')
        assert line.count("SyntaxError: '(' was never closed") >= 1
        assert supervisor.answer() == 2
        supervisor.save("return 3")
        supervisor.until('"event": "reloaded"')
        until_replaced(supervisor.cli)
        assert supervisor.answer() == 3
        (short_path / "supervisor.toml").write_text('log_format = "json"\nconcurrency = 3\n')
        assert "supervisor.toml" in supervisor.until('"event": "reloaded"')
        assert supervisor.process.poll() is None
        status = supervisor.cli("status", "--json").document
        serving = [process for process in status["processes"] if process["generation"] == status["generation"]]
        assert [one["kind"] for one in serving if one["kind"] == "worker"] == ["worker", "worker"]
        assert {process["kind"] for process in status["processes"]} == {"store", "steward", "watcher", "worker"}
        assert supervisor.cli("stop").status == 0


def test_without_the_library_the_line_says_how_to_install_it(alone: Cli) -> None:
    (alone.folder / "agent.py").write_text("def handle(messages): ...\n")
    arguments = ("start", "--reload", *alone.options, "--state-dir", str(alone.folder / "state"))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARY, *arguments],
        capture_output=True,
        text=True,
        cwd=alone.folder,
        env=clean({}),
    )
    assert (done.returncode, done.stderr.count("\n")) == (78, 1)
    assert "watchfiles: pip install 'holdfast-supervisor[reload]'" in done.stderr


def test_a_preloaded_handler_is_not_watched(alone: Cli) -> None:
    (alone.folder / "agent.py").write_text("def handle(messages): ...\n")
    for command in ("start", "check"):
        answer = alone(command, "--reload", "--preload", "--state-dir", str(alone.folder / "state"))
        assert (answer.status, answer.err.count("\n")) == (78, 1)
        assert "leave out --preload or --reload" in answer.err
