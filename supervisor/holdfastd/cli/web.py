"""`supervisor web`: the dashboard of a queue, in a process of its own."""

from __future__ import annotations

import click
import rich_click

from holdfast.exits import Exit
from holdfast_config.addresses import parse_listen
from holdfastd.cli import service_process
from holdfastd.cli.common import options
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import settings_of
from holdfastd.cli.common.store_session import reach
from holdfastd.cli.service_order import DashboardOrder
from holdfastd.parent.start_checks import web_refusal

DEFAULT = "8080"


def _checked(_: click.Context, __: click.Parameter, address: str | None) -> str | None:
    try:
        parse_listen(address or DEFAULT)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return address


@rich_click.command(epilog="Examples: supervisor web; supervisor web 8081; supervisor web unix:/run/holdfast/web.sock")
@click.argument("address", required=False, metavar="[ADDRESS]", callback=_checked)
@settings_of("Dashboard", "web")
@settings_of("Agent")
@options.store
@options.pass_session
def web(session: Session, /, address: str | None) -> int:
    """Serve the dashboard of the queue at ADDRESS: PORT, HOST:PORT or unix:PATH; else at --web of the settings, or at
    port 8080 of loopback. Ctrl-C ends it; tasks and workers do not need it.

    Users log in with their names and passwords (--web-users-file), at a proxy (--web-trust-proxy), or with the token of
    HOLDFAST_WEB_TOKEN. Without any of these a token is made now and printed.
    """
    settings = session.settings.model_copy(update={"web": address or session.settings.web or DEFAULT})
    if why_not := web_refusal(settings):
        raise CommandError(why_not, Exit.CONFIG)
    reach(session)
    return service_process.run(DashboardOrder(settings))
