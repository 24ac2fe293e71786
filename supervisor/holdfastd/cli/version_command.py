"""`supervisor version`."""

from __future__ import annotations

import platform

import rich_click

from holdfast.version import installed
from holdfastd.cli.common import output
from holdfastd.cli.common.options import common, pass_session
from holdfastd.cli.common.session import Session


@rich_click.command(epilog="Example: supervisor version --json")
@common
@pass_session
def version(session: Session, /) -> None:
    """Print the versions of Holdfast and of Python."""
    if session.json:
        output.document({"version": installed(), "python": platform.python_version()})
    else:
        output.text(f"holdfast {installed()} on Python {platform.python_version()}")
