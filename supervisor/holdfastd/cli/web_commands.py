"""`supervisor web` and `supervisor web-user`: the dashboard in a process of its own, and the line of a user."""

from __future__ import annotations

import sys

import click

from holdfast.exits import Exit
from holdfast_config import web_users
from holdfast_config.addresses import parse_listen
from holdfast_config.web_users import Role, User, check_name
from holdfastd.cli import service_process
from holdfastd.cli.common import CommandError, Session, options, output
from holdfastd.cli.common.setting_flags import settings_of
from holdfastd.cli.common.store_session import reach
from holdfastd.cli.service_process import DashboardOrder
from holdfastd.parent.start_checks import web_refusal

# `supervisor web`: the dashboard of a queue, in a process of its own.

DEFAULT = "8080"


def _checked(_: click.Context, __: click.Parameter, address: str | None) -> str | None:
    try:
        parse_listen(address or DEFAULT)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return address


@options.command(epilog="Examples: supervisor web; supervisor web 8081; supervisor web unix:/run/holdfast/web.sock")
@click.argument("address", required=False, metavar="[ADDRESS]", callback=_checked)
@settings_of("Dashboard", "web")
@settings_of("Agent")
@options.changing
def web(session: Session, /, address: str | None) -> int:
    """Serve the dashboard of the queue at ADDRESS: PORT, HOST:PORT or unix:PATH.

    Without ADDRESS the dashboard is at --web of the settings, or at port 8080 of loopback. Ctrl-C ends the dashboard;
    tasks and workers run without it.

    Users log in with their names and passwords (--web-users-file), at a proxy (--web-trust-proxy), or with the token of
    HOLDFAST_WEB_TOKEN. If none of these is set, the command makes a token and prints it.
    """
    settings = session.settings.model_copy(update={"web": address or session.settings.web or DEFAULT})
    if why_not := web_refusal(settings):
        raise CommandError(why_not, Exit.CONFIG)
    reach(session)
    return service_process.run(DashboardOrder(settings))


EXAMPLES = """Examples:

supervisor web-user ada --role operator >> web-users

pass show ada | supervisor web-user ada >> web-users

supervisor web-user grace --no-password >> web-users
"""


@options.command("web-user", epilog=EXAMPLES)
@click.argument("name", metavar="NAME")
@click.option(
    "--role",
    type=click.Choice([each.value for each in Role]),
    default=Role.VIEWER.value,
    show_default=True,
    help="Role of the user.",
)
@click.option(
    "--no-password",
    is_flag=True,
    help="The user gets no password, and can log in only at the proxy (--web-trust-proxy).",
)
def web_user(name: str, role: str, *, no_password: bool) -> None:
    """Print a line for one user, to be added to the file of --web-users-file. A viewer can only
    read; an operator can also make changes.

    The command asks for the password, or reads it from the first line of standard input. The file must be closed
    to all users but its owner and group: chmod 600 or 640. A changed line takes effect at once, without a restart.
    """
    try:
        check_name(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    output.text(str(User(name, Role(role), "" if no_password else web_users.make(_password()))))


def _password() -> str:
    if sys.stdin.isatty():
        password = str(click.prompt("Password", hide_input=True, confirmation_prompt="Password, again", err=True))
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    least, most = web_users.SHORTEST, web_users.LONGEST
    if not least <= len(password) <= most:
        raise click.UsageError(f"the password has {len(password)} characters: {least} to {most} are allowed")
    return password
