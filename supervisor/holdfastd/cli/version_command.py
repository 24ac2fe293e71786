"""`supervisor version` prints the versions of Holdfast and Python; `supervisor help` the help of a command."""

from __future__ import annotations

import platform

import click

from holdfast.version import installed
from holdfastd.cli.common import Session, options


@options.command(epilog="Example: supervisor version --json")
@options.common
@options.pass_session
def version(session: Session, /) -> None:
    """Print the versions of Holdfast and of Python."""
    python = platform.python_version()
    session.answer({"version": installed(), "python": python}, f"holdfast {installed()} on Python {python}")


@options.command("help", epilog="Examples: supervisor help; supervisor help tasks list")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, /, words: tuple[str, ...]) -> None:
    """Show the help of a command, the same text as `supervisor COMMAND --help`. Without a command: the list of all."""
    root = context.find_root()
    root.command.main([*words, "--help"], prog_name=root.info_name, standalone_mode=False, obj=root.obj)
