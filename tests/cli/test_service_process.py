"""The process of a service: the one that was started, without what only the command line needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from holdfastd.cli import service_process
from holdfastd.cli.command_table import cli as commands
from holdfastd.cli.command_table import set_version
from tests.cli.conftest import SUPERVISOR, clean, running

HANDLER = """
import sys
from holdfast import Handlers

handlers = Handlers()

@handlers.default
def handle(messages):
    return sorted({name.partition(".")[0] for name in sys.modules})
"""
UNUSED = {"click", "rich_click", "rich", "pygments", "opentelemetry"}
USED = {"redis", "structlog", "uvloop"}


def test_workers_carry_nothing_of_the_command_line(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    with running(short_path, "agent:handlers", "--workers", "1", before=("env",)) as (cli, process):
        modules = cli("submit", "a", "--wait").lines[0]["result"]
        assert UNUSED & set(modules) == set()
        assert set(modules) >= USED
        assert cli("status", "--json").document["pid"] == process.pid
        title = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
        assert title[2] == "start"
        assert {"agent:handlers", "--workers", "1"} <= set(title)
        links = list(Path(f"/proc/{process.pid}/fd").iterdir())
        log = _target(
            Path(f"/proc/{process.pid}/fd/2"), above=1
        )  # opened once more, so that nothing waits for its reader
        assert {_target(link, above=2) for link in links if "pipe:" in _target(link, above=2)} <= {log}


def test_one_interpreter_is_started(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    (short_path / "sitecustomize.py").write_text("with open(__file__ + '.starts', 'a') as file: file.write('.')")
    with running(short_path, "agent:handlers", before=("env", f"PYTHONPATH={short_path}")):
        assert (short_path / "sitecustomize.py.starts").read_text() == "."


def test_what_a_start_imports_is_not_looked_through_for_garbage() -> None:
    program = (
        "import gc; from holdfastd.cli import service_process; service_process._import('start'); "
        "print(gc.isenabled(), len(gc.get_objects()), gc.get_freeze_count())"
    )
    enabled, to_look_at, left_alone = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert enabled == "True"
    assert int(to_look_at) < int(left_alone) / 20


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("start", "start"),
        ("start agent:handle --workers 8", "start"),
        ("-c start.toml start", "start"),
        ("--config status start", "start"),
        ("web 8081", "web"),
        ("-c web start", "start"),
        ("-c start status", ""),
        ("submit start", ""),
        ("web-user web", ""),
        ("start --help", ""),
        ("web -h", ""),
        ("--version", ""),
        ("", ""),
    ],
)
def test_only_the_arguments_of_a_service_are_read_in_a_child(arguments: str, wanted: str) -> None:
    assert service_process.wanted(arguments.split()) == wanted


def test_all_options_before_the_command_are_known() -> None:
    valued = [param for param in commands.params if isinstance(param, click.Option) and not param.is_flag]
    assert [name for param in valued for name in param.opts] == list(service_process.BEFORE_COMMAND)


def test_an_error_in_the_arguments_is_told_once(short_path: Path) -> None:
    command = [SUPERVISOR, "start", "--workers", "none"]
    done = subprocess.run(command, cwd=short_path, env=clean({}), capture_output=True, text=True)
    assert done.returncode == 78
    assert done.stderr.count("'none'") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_start_and_all_that_it_has_started(short_path: Path, number: signal.Signals) -> None:
    """The arguments are being read: their child waits for a settings file that nobody writes."""
    folder = short_path / "named.toml"
    subprocess.run(["mkfifo", folder], check=True)
    process = subprocess.Popen(
        [SUPERVISOR, "-c", folder, "start"],
        cwd=short_path,
        env=clean({}),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with folder.open("w"):  # returns once the child reads
        os.killpg(process.pid, number)
        err = process.communicate(timeout=60)[1]  # ends when all that hold standard error have ended
    assert "Traceback" not in err
    assert process.returncode in {-number, 128 + number}


def test_click_gets_the_version_that_is_installed() -> None:
    set_version()
    assert vars(click)["__version__"] == version("click")


def _target(link: Path, above: int) -> str:
    """The target of a descriptor, but of the standard streams none, nor of one that was closed meanwhile."""
    with suppress(FileNotFoundError):
        return str(link.readlink()) if int(link.name) > above else ""
    return ""
