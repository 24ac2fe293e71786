"""The terminal that a service was started from: while it is there HUP reloads, once it is closed HUP drains."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.exits import Exit
from tests.cli.commands import Cli, clean
from tests.cli.conftest import running
from tests.forked import SUPERVISOR

HANDLER = """
import os
from pathlib import Path

async def handle(messages):
    text = messages[-1]["parts"][0]["text"]
    if text == "wait":
        Path("runs").open("w").close()
        import anyio.to_thread
        return await anyio.to_thread.run_sync(Path("go").read_text)
    return text
"""
TERMINAL_RETRIES = 60  # seconds; reached only by a test that fails


@dataclass
class Session:
    """A process that leads a session on a terminal; its log is a file."""

    process: subprocess.Popen[bytes]
    terminal: int
    log: Path
    cli: Cli

    def close_terminal(self) -> None:
        os.close(self.terminal)
        self.terminal = -1

    def ended(self) -> str:
        """Its log, once it has ended with 0."""
        assert self.process.wait(TERMINAL_RETRIES) == Exit.OK, self.log.read_text()
        return self.log.read_text()


@contextmanager
def on_terminal(folder: Path, *command: str | Path) -> Iterator[Session]:
    """A command that leads a session; the terminal is its controlling one."""
    (folder / "agent.py").write_text(HANDLER)
    for name in ("runs", "go", "ready"):
        os.mkfifo(folder / name)
    ours, theirs = pty.openpty()

    def control() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    log = folder / "log"
    with log.open("wb") as told:
        process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=told,
            cwd=folder,
            env=clean({}),
            start_new_session=True,
            preexec_fn=control,
        )
    os.close(theirs)
    session = Session(process, ours, log, Cli(folder, ("--runtime-dir", str(folder / "run"))))
    try:
        yield session
    finally:
        process.kill()
        process.wait(TERMINAL_RETRIES)
        if session.terminal != -1:
            session.close_terminal()


def start(folder: Path) -> tuple[str | Path, ...]:
    places = ("--runtime-dir", str(folder / "run"), "--state-dir", str(folder / "state"))
    return (SUPERVISOR, "start", "agent:handle", "--workers", "1", *places)


def by_shell(folder: Path) -> tuple[str | Path, ...]:
    """The terminal belongs to a shell, which goes on after the service was started."""
    line = " ".join(map(str, start(folder)))
    return ("bash", "-c", f"{line}; exit $?")


def submitted(session: Session, text: str, *options: str) -> str:
    """The id of a task; it is submitted as soon as there is a store to take it."""
    while True:
        answer = session.cli("submit", text, *options)
        if answer.status == Exit.OK:
            return answer.out.strip()
        assert session.process.poll() is None, session.log.read_text()


@pytest.mark.parametrize("command", [start, by_shell])
def test_a_closed_terminal_drains(short_path: Path, command: Callable[[Path], tuple[str | Path, ...]]) -> None:
    with on_terminal(short_path, *command(short_path)) as session:
        submitted(session, "wait")
        (short_path / "runs").read_bytes()  # until its handler runs
        with (short_path / "go").open("w") as go:
            session.close_terminal()
            while '"event": "draining"' not in session.log.read_text():
                assert '"event": "reloading"' not in session.log.read_text()
                os.sched_yield()
            go.write("finished all the same")
        if command is start:
            text = session.ended()
        else:
            session.process.wait(TERMINAL_RETRIES)  # the shell has ended by HUP
            text = wait_for_end(session)
    assert text.count('"event": "draining"') == 1
    assert '"code": 0' in text
    assert "hastened" not in text


def wait_for_end(session: Session) -> str:
    while '"event": "ended"' not in (text := session.log.read_text()):
        os.sched_yield()
    return text


def test_hup_reloads_while_the_terminal_is_there(short_path: Path) -> None:
    with on_terminal(short_path, *start(short_path)) as session:
        submitted(session, "quick", "--wait")
        session.process.send_signal(signal.SIGHUP)
        assert session.cli("reload", "--wait").status == 0
        session.process.send_signal(signal.SIGTERM)
        text = session.ended()
    assert text.count('"event": "reloading"') >= 1
    assert '"event": "draining"' in text


def test_hup_that_was_ignored_at_the_start_stays_ignored(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    with running(short_path, "--workers", "1", before=("nohup",)) as (cli, process):
        process.send_signal(signal.SIGHUP)
        assert cli("submit", "quick", "--wait").status == 0
        status = cli("status", "--json").document
        assert {process["generation"] for process in status["processes"] if process["kind"] == "worker"} == {0}
        ignored = Path(f"/proc/{process.pid}/status").read_text()
    mask = int(ignored.partition("SigIgn:")[2].split()[0], 16)
    assert mask >> (signal.SIGHUP - 1) & 1


@pytest.mark.parametrize("command", ["work", "start"])
def test_a_service_of_one_process_drains_at_hup(short_path: Path, command: str) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    store = ("--scheduler-type", "memory") if command == "start" else ()
    with running(short_path, "--workers", "1") as (cli, _):
        options = store or cli.options
        process = subprocess.Popen(
            [SUPERVISOR, command, "agent:handle", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=short_path,
            env=clean({}),
        )
        assert process.stderr is not None
        for line in process.stderr:
            if b"1 worker ready" in line:
                break
        process.send_signal(signal.SIGHUP)
        process.stderr.read()
        process.stderr.close()
        assert process.wait(TERMINAL_RETRIES) == Exit.OK


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_service_of_one_process_ends_while_its_handler_hangs_in_its_import(
    short_path: Path, number: signal.Signals
) -> None:
    """The signal comes in the midst of a write to standard error: the pipe is full."""
    told = "import sys, threading\nprint('importing\\n' + '.' * (1 << 20), file=sys.stderr)\nthreading.Event().wait()\n"
    (short_path / "agent.py").write_text(told)
    (short_path / "tmp").mkdir()
    process = subprocess.Popen(
        [SUPERVISOR, "start", "agent:handle", "--scheduler-type", "memory", "--no-capture-output"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=short_path,
        env=clean({"TMPDIR": str(short_path / "tmp")}),
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if b"importing" in line:
                break
        process.send_signal(number)
        rest = process.stderr.read()
        assert (process.wait(60), b"stopped while the handler was imported" in rest) == (Exit.OK, True)
    finally:
        process.kill()
        process.stderr.close()
    assert list((short_path / "tmp").iterdir()) == []
