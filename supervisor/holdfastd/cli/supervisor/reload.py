"""`supervisor reload`."""

from __future__ import annotations

import click
import rich_click

from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.parameter_types import WAIT
from holdfastd.cli.common.session import Session
from holdfastd.control import client
from holdfastd.control.socket_protocol import AskReload, ReloadResult


@rich_click.command(
    epilog="Examples:\n\nsupervisor reload\n\nsupervisor reload --wait --timeout 120 || echo the old code still serves"
)
@click.option("--wait", is_flag=True, help="Wait until the new code runs, or has failed to start (exit status 1).")
@click.option("--timeout", type=WAIT, metavar="SECONDS", help="Maximum time to wait; implies --wait.")
@options.here
@options.pass_session
def reload(session: Session, /, wait: bool, timeout: float | None) -> int:
    """Replace the workers by new ones that import the handler and read the settings again.

    A first new worker starts while the old ones keep working. Once it is ready, the old workers are replaced one by
    one, each after its running tasks. If the new code fails to start, the old workers stay.
    """
    folder = session.runtime_dir
    if wait or timeout is not None:
        return _print(session, _ended(client.reload(folder, timeout), timeout))
    client.ask(folder, AskReload())
    if session.json:
        output.document({"reloading": True})
    else:
        output.hint("reloading: the log shows the result, and so does `supervisor reload --wait`")
    return Exit.OK


def _ended(end: ReloadResult | None, timeout: float | None) -> ReloadResult:
    if end is None:
        raise CommandError(f"the reload has not ended after {timeout:g} s; `supervisor status` shows its progress")
    return end


def _print(session: Session, end: ReloadResult) -> int:
    status = Exit.FAILED if end.error else Exit.OK
    if session.json:
        output.document({"reloaded": not end.error, "draining": end.draining, "error": end.error})
    elif end.error:
        raise CommandError(f"{end.traceback}{end.error}")
    else:
        output.text(
            f"reloaded; old workers that still finish their tasks: {end.draining}" if end.draining else "reloaded"
        )
    return status
