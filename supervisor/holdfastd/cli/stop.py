"""`supervisor stop`."""

from __future__ import annotations

import click
import rich_click

from holdfast.exits import Exit
from holdfastd.cli import options, output
from holdfastd.cli.endings import CommandError
from holdfastd.cli.session import Session
from holdfastd.control import client


@rich_click.command(epilog="Example: supervisor stop --timeout 120")
@click.option(
    "--timeout", type=click.FloatRange(0), metavar="SECONDS", help="The longest to wait; else until it ended."
)
@options.here
@options.pass_session
def stop(session: Session, /, timeout: float | None) -> int:
    """Stop the supervisor and wait until it has ended. Its workers take no more tasks and finish those they run."""
    folder = session.settings.runtime_dir
    if not client.stop(folder, timeout):
        raise CommandError(
            f"the supervisor in {folder} is still draining after {timeout:g} s; `status` shows what runs"
        )
    if session.json:
        output.document({"stopped": True})
    else:
        output.text("stopped")
    return Exit.OK
