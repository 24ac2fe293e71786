"""`supervisor start`: takes every setting as a flag and runs the service."""

from __future__ import annotations

import click
import rich_click

from holdfast_config.resolve import setting_files
from holdfastd.cli import service_process
from holdfastd.cli.common import options, output
from holdfastd.cli.common.handler_name import settings_with
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import every_setting
from holdfastd.cli.service_process import PoolOrder
from holdfastd.embedded import project_data


@rich_click.command(
    epilog="Examples:\n\nsupervisor start agent:handle --workers 8\n\n"
    "supervisor start agent:handle --redis-url redis://localhost:6379/0 --concurrency 50\n\n"
    "supervisor start --exec './statement --format json' --workers 4"
)
@click.argument("handler", required=False)
@every_setting
@options.common
@options.pass_session
def start(session: Session, /, handler: str | None) -> int:
    """Start the supervisor and its workers in the foreground.

    HANDLER is the function that runs the tasks, as module:attribute. Default: HOLDFAST_HANDLER, `handler` in
    supervisor.toml, or agent:handle. With --exec each task runs a command instead: it reads the message as JSON from
    standard input and writes the result to standard output. SIGTERM or Ctrl-C stops the supervisor after the running
    tasks have finished. With --scheduler-type memory everything runs in one process, for tasks that the handler's own
    program submits.
    """
    settings = settings_with(session, handler)
    session.warn()
    for line in project_data.remarks(settings):
        output.note(line)
    return service_process.run(PoolOrder(settings, session.flags, setting_files(session.flags)))
