"""`supervisor init`: writes files to begin with, namely a handler, its settings and a test."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from holdfastd.cli.common import CommandError, Session, options
from holdfastd.cli.common.output import command_name

# The files that `supervisor init` writes: a handler, the settings, a test.

_AGENT = '''\
"""Handlers of tasks. `supervisor start` runs them, `pytest` tests them."""

import asyncio

from holdfast import Handlers, Task

handlers = Handlers()


@handlers.register("greet")
async def greet(task: Task, name: str, greeting: str = "Hello") -> str:
    """Greet somebody. The worker passes `task`; the others are the task's arguments."""
    task.logger.info("greeting", name=name)
    return f"{greeting}, {name}!"


async def main() -> None:
    """Submit a task and wait for its result."""
    sent = await greet.submit("Ada", greeting="Good morning")
    record = await sent.wait(timeout=60, raise_failed=True)
    print(record.value)


if __name__ == "__main__":
    asyncio.run(main())
'''

_SETTINGS = """\
# Settings of `supervisor` in this folder. `supervisor config show` lists all of them, with the origin of each.

handler = "agent:handlers"
workers = 2

# Your own Redis, in place of the embedded store:
#redis_url = "redis://127.0.0.1:6379/0"
"""

_TEST = '''\
"""Tests of agent.py: the handlers run in this process, without a server."""

from holdfast.testing import MemoryBroker

from agent import greet


def test_greet_says_hello(holdfast_broker: MemoryBroker) -> None:
    sent = greet.submit_sync("Ada")
    holdfast_broker.assert_submitted(greet, name="Ada")
    assert sent.wait(raise_failed=True).value == "Hello, Ada!"


def test_a_delayed_greeting_waits_for_its_time(holdfast_broker: MemoryBroker) -> None:
    sent = greet.options(delay=3600).submit_sync("Ada")
    holdfast_broker.move_time_sync(minutes=59)
    assert sent.record().state == "delayed"
    holdfast_broker.move_time_sync(minutes=1)
    assert sent.record().value == "Hello, Ada!"
'''

FILES: Mapping[str, str] = {"agent.py": _AGENT, "supervisor.toml": _SETTINGS, "test_agent.py": _TEST}
EXAMPLE = """supervisor submit --wait --name greet --data '{"name": "Ada"}'"""


# Writes new files into a folder: either all of them or none. It never replaces a file.

NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})  # answers of a file system without hard links


def existing(folder: Path, names: Mapping[str, str]) -> list[str]:
    """Those of `names` that exist in this folder, also as a broken link."""
    return [name for name in names if os.path.lexists(folder / name)]


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write these files: name to text. If one of them exists already, raises FileExistsError and leaves none of them.

    Each file is first written in a temporary folder and then linked to its place. A link never replaces a file, and a
    command that is interrupted leaves no half-written file. (A file system without hard links gets a copy.)
    """
    placed: list[Path] = []
    with TemporaryDirectory(prefix=".supervisor-init-", dir=folder) as aside:
        for name, text in files.items():
            (Path(aside) / name).write_text(text, "utf-8")
        try:
            for name in files:
                _place(Path(aside) / name, folder / name)
                placed.append(folder / name)
        except BaseException:
            for path in placed:
                path.unlink()
            raise


def _place(source: Path, target: Path) -> None:
    """Put the file at `target`. Raises FileExistsError if something is there."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        with target.open("x", encoding="utf-8") as file:
            file.write(source.read_text("utf-8"))


@options.command(epilog="Examples:\n\nsupervisor init\n\nsupervisor init greetings")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@options.common
@options.pass_session
def init(session: Session, /, folder: Path) -> None:
    """Write a handler, its settings and a test to begin with: agent.py, supervisor.toml, test_agent.py.

    The files go into FOLDER (default: the current folder), which is created if it is missing. If one of the files
    exists already, nothing is written and the exit status is 1.
    """
    _write(folder)
    following = _following(folder)
    document = {"folder": str(folder), "written": list(FILES), "next": [line for line, _ in following]}
    width = max(len(line) for line, _ in following)
    lines = [f"  {line:<{width}}  # {meaning}" for line, meaning in following]
    session.answer(document, f"wrote {', '.join(FILES)} in {folder.resolve()}; next:", *lines)


def _write(folder: Path) -> None:
    """Write all files. If one cannot be written, leave no file and no new folder. Raises CommandError or
    PermissionError."""
    made = _make(folder)
    try:
        if found := existing(folder, FILES):
            raise CommandError(_in_the_way(folder, found))
        write_new(folder, FILES)
    except FileExistsError:
        raise CommandError(_in_the_way(folder, existing(folder, FILES))) from None
    except BaseException as error:
        for path in made:
            path.rmdir()
        if isinstance(error, OSError) and not isinstance(error, PermissionError):
            raise CommandError(f"{folder.resolve()}: {error.strerror}: nothing was written") from None
        raise


def _make(folder: Path) -> list[Path]:
    """Create the folder and its missing parents. Returns the folders that it created, the innermost first. Raises
    CommandError if a path is not a folder."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise CommandError(f"{folder} is not a folder: name a folder, or a path where one can be made") from None
    except PermissionError:
        raise
    except OSError as error:
        raise CommandError(f"{folder} cannot be made: {error.strerror}: name another folder") from None
    return missing


def _in_the_way(folder: Path, found: list[str]) -> str:
    there = "is there" if len(found) == 1 else "are there"
    return f"{' and '.join(found)} {there} already in {folder.resolve()}: nothing was written; name another folder"


def _following(folder: Path) -> list[tuple[str, str]]:
    """The next commands, each with its meaning."""
    name = command_name()
    is_here = folder.resolve() == Path.cwd()
    missing = "" if find_spec("pytest") else "; first: pip install pytest"
    return [
        *([] if is_here else [(f"cd {shlex.quote(str(folder))}", "the new folder")]),
        (f"{name} start", "runs the handlers, in the foreground"),
        (EXAMPLE.replace("supervisor", name, 1), "in a second terminal: submits a task"),
        ("pytest", f"runs the tests, without a server{missing}"),
    ]
