"""`supervisor reload`."""

from __future__ import annotations

import click
import rich_click

from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.exit_status import CommandError
from holdfastd.cli.common.parameter_types import WAIT
from holdfastd.cli.common.session import Session
from holdfastd.control import client
from holdfastd.control.protocol import AskReload, ReloadAnswer


@rich_click.command(
    epilog="Examples:\n\nsupervisor reload\n\nsupervisor reload --wait --timeout 120 || echo the old code still serves"
)
@click.option("--wait", is_flag=True, help="Until the new code serves, or has turned out not to boot (exit status 1).")
@click.option("--timeout", type=WAIT, metavar="SECONDS", help="The longest to wait; implies --wait.")
@options.here
@options.pass_session
def reload(session: Session, /, wait: bool, timeout: float | None) -> int:
    """Replace the workers by ones that import the handler anew, and read the settings anew.

    A first new worker boots while the old ones serve. Only when it is ready are the others replaced, one by one; each
    finishes the tasks it runs. Code that does not boot changes nothing.
    """
    folder = session.runtime_dir
    if wait or timeout is not None:
        return _tell(session, _over(client.reload(folder, timeout), timeout))
    client.ask(folder, AskReload())
    if session.json:
        output.document({"reloading": True})
    else:
        output.text("reloading: `supervisor reload --wait` says how it ends, and so does the log")
    return Exit.OK


def _over(end: ReloadAnswer | None, timeout: float | None) -> ReloadAnswer:
    if end is None:
        raise CommandError(f"the reload is not over after {timeout:g} s; `supervisor status` shows how far it is")
    return end


def _tell(session: Session, end: ReloadAnswer) -> int:
    status = Exit.FAILED if end.error else Exit.OK
    if session.json:
        output.document({"reloaded": not end.error, "draining": end.draining, "error": end.error})
    elif end.error:
        raise CommandError(f"{end.traceback}{end.error}")
    else:
        output.text(f"reloaded; old workers that finish their tasks: {end.draining}" if end.draining else "reloaded")
    return status
