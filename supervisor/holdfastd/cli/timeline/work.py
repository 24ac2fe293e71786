"""`supervisor work`: one worker, in the foreground."""

from __future__ import annotations

import click
import rich_click

from holdfast_config import logging
from holdfastd.cli.common import options, output
from holdfastd.cli.common.handler_name import check_name
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import settings_but
from holdfastd.cli.common.store_session import reach


@rich_click.command(
    epilog="Examples:\n\nsupervisor work 'mymodule:Worker(\"A:A:B\")'\n\nsupervisor work --config x.conf"
)
@click.argument("worker", required=False)
@settings_but("workers", "reload", "preload", "burst")
@options.common
@options.pass_timeline_session
def work(session: Session, /, worker: str | None) -> int:
    """Run one worker in the foreground, one task at a time unless told otherwise.

    WORKER is a class of holdfast.timeline, called with literals, or any handler; else that of the settings. It makes
    the fires that are due as well. Any number of these run beside each other. SIGTERM or Ctrl-C lets its task finish.
    Nobody looks after it: `supervisor start` does that, with as many workers as are asked for.
    """
    session.flags["handler"] = worker
    if session.json:
        session.flags.setdefault("log_format", "json")
    settings = session.settings
    logging.configure(settings.log_level, settings.log_format)
    check_name(settings)
    reach(session)
    from holdfastd.single.worker import run  # slow to import, and bad settings should be told at once

    return run(settings, output.note)
