"""`supervisor web-user`: makes the line of a user of the dashboard."""

from __future__ import annotations

import sys

import click
import rich_click

from holdfast_config import password_hash
from holdfast_config.web_users import Role, User, check_name
from holdfastd.cli.common import output

EXAMPLES = """Examples:

supervisor web-user ada --role operator >> web-users

pass show ada | supervisor web-user ada >> web-users

supervisor web-user grace --no-password >> web-users
"""


@rich_click.command("web-user", epilog=EXAMPLES)
@click.argument("name", metavar="NAME")
@click.option(
    "--role",
    type=click.Choice([each.value for each in Role]),
    default=Role.VIEWER.value,
    show_default=True,
    help="Role of the user.",
)
@click.option("--no-password", is_flag=True, help="For a user who logs in at the proxy (--web-trust-proxy) only.")
def web_user(name: str, role: str, *, no_password: bool) -> None:
    """Print the line of a user for the file that --web-users-file names. A viewer reads, an operator also changes.

    Asks for the password, or reads it from the first line of standard input. The file must be readable by its owner
    alone, or by its owner and group: chmod 600. A changed line counts at once.
    """
    try:
        check_name(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    output.text(str(User(name, Role(role), "" if no_password else password_hash.make(_password()))))


def _password() -> str:
    if sys.stdin.isatty():
        password = str(click.prompt("Password", hide_input=True, confirmation_prompt="Password, again", err=True))
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    least, most = password_hash.SHORTEST, password_hash.LONGEST
    if not least <= len(password) <= most:
        raise click.UsageError(f"the password has {len(password)} characters: {least} to {most} are allowed")
    return password
