"""`supervisor version`: prints the versions of Holdfast and Python."""

from __future__ import annotations

import platform

from holdfast.version import installed
from holdfastd.cli.common import Session, options


@options.command(epilog="Example: supervisor version --json")
@options.common
@options.pass_session
def version(session: Session, /) -> None:
    """Print the versions of Holdfast and of Python."""
    python = platform.python_version()
    session.answer({"version": installed(), "python": python}, f"holdfast {installed()} on Python {python}")
