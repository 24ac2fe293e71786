"""`supervisor work`: runs one worker in the foreground."""

from __future__ import annotations

import click
import rich_click

from holdfast_config import logging
from holdfastd.cli.common import options, output
from holdfastd.cli.common.handler_name import check_name, check_owner
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import settings_but
from holdfastd.cli.common.store_session import reach


@rich_click.command(
    epilog="Examples:\n\nsupervisor work 'mymodule:Worker(\"A:A:B\")'\n\nsupervisor work --config x.conf"
)
@click.argument("worker", required=False)
@settings_but("workers", "reload", "preload", "burst", "metrics")
@options.common
@options.pass_timeline_session
def work(session: Session, /, worker: str | None) -> int:
    """Run one worker in the foreground, one task at a time unless --concurrency says otherwise.

    WORKER is a class of holdfast.timeline called with literals, or any handler. Default: that of the settings. The
    worker also fires schedules that are due. Any number may run at once. SIGTERM or Ctrl-C ends it after its running
    task. It is not restarted when it dies: use `supervisor start` for that.
    """
    session.flags["handler"] = worker
    if session.json:
        session.flags.setdefault("log_format", "json")
    settings = session.settings
    logging.configure(settings.log_level, settings.log_format)
    check_name(settings)
    check_owner(settings)
    reach(session)
    from holdfastd.single.work_process import run  # slow to import; errors of the settings come first

    return run(settings, output.note)
