"""`supervisor init`: files to begin with, a handler, its settings and a test."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

import click
import rich_click

from holdfastd.cli.common import options, output
from holdfastd.cli.common.called_name import command_name
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.cli.init.first_files import EXAMPLE, FILES
from holdfastd.cli.init.new_files import existing, write_new


@rich_click.command(epilog="Examples:\n\nsupervisor init\n\nsupervisor init greetings")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@options.common
@options.pass_session
def init(session: Session, /, folder: Path) -> None:
    """Write a handler, its settings and a test to begin with: agent.py, supervisor.toml, test_agent.py.

    They are written into FOLDER, which is made if it is missing; default: the current folder. If one of these files is
    there, nothing is written and the exit status is 1.
    """
    _write(folder)
    following = _following(folder)
    if session.json:
        output.document({"folder": str(folder), "written": list(FILES), "next": [line for line, _ in following]})
        return
    output.text(f"wrote {', '.join(FILES)} in {folder.resolve()}; next:")
    width = max(len(line) for line, _ in following)
    for line, meaning in following:
        output.text(f"  {line:<{width}}  # {meaning}")


def _write(folder: Path) -> None:
    """Write all files or none, and leave no new folder behind. Raises CommandError."""
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
    """The folders that had to be made, the innermost first. Raises CommandError for something that is no folder."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise CommandError(f"{folder} is not a folder: name one, or one that is to be made") from None
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
