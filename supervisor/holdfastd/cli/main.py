"""The entry of `supervisor`: runs one command, and turns its errors into a line and an exit status."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from holdfastd.cli import service_process
from holdfastd.cli.common import Session, output


def main() -> NoReturn:
    """Run the command that the arguments name and exit with its status."""
    output.prepare()
    session = Session(own_process=True)
    service = service_process.wanted(sys.argv[1:])
    sys.exit(_ended(session, lambda: _serve(service, session)) if service else run(sys.argv[1:], session))


def run(arguments: Sequence[str], session: Session | None = None) -> int:
    """Run one command and return its exit status. Prints its errors on standard error."""
    session = session or Session()
    return _ended(session, lambda: _command(arguments, session))


def _serve(service: str, session: Session) -> int:
    order = service_process.ordered(service, lambda: run(sys.argv[1:], session))
    return order if isinstance(order, int) else order.serve()


def _command(arguments: Sequence[str], session: Session) -> int:
    if session.own_process:
        gc.disable()  # --help and --version end before there is garbage; LazyCommand enables it
    from holdfastd.cli.command_table import cli  # slow to import, and the process of a service does not need it

    _check_encoding(arguments)
    return int(cli.main(list(arguments), prog_name=output.command_name(), standalone_mode=False, obj=session) or 0)


def _ended(session: Session, work: Callable[[], int]) -> int:
    try:
        status = work()
        sys.stdout.flush()
        return status
    except BaseException as error:  # the border of the process: every error ends in one line and a status
        from holdfastd.cli.common.error_report import report  # slow to import, and only needed for errors

        return report(error, debug=session.debug)


def _check_encoding(arguments: Sequence[str]) -> None:
    """Raise UsageError for an argument that is not UTF-8. A shell may pass such an argument, but the store cannot take
    it."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            from click import UsageError

            raise UsageError(f"argument {str(os.fsencode(argument[:80]))[1:]} is not UTF-8") from None
