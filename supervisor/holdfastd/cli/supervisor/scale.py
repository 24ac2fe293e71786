"""`supervisor scale`."""

from __future__ import annotations

import click
import rich_click

from holdfast.core.words import counted
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskScale


@rich_click.command(epilog="Example: supervisor scale 12")
@click.argument("workers", type=click.IntRange(1, 10_000), metavar="N")
@options.here
@options.pass_session
def scale(session: Session, /, workers: int) -> None:
    """Run N workers from now on. If there are more, idle ones end first and busy ones after their running tasks."""
    answer = ask(session.runtime_dir, AskScale(workers))
    if session.json:
        output.document({"target": answer.target})
    else:
        output.text(f"the target is now {counted(answer.target, 'worker')}")
