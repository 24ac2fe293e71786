"""Errors as the user sees them: one line on standard error and an exit status of `holdfast/exits.py`."""

from __future__ import annotations

import errno
import traceback

import click

from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfast_config import ConfigError
from holdfast_config.error_text import escape
from holdfastd.cli.common import CommandError, output
from holdfastd.operations.error_statuses import BUG, meaning_of

UNUSABLE = frozenset({errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP})  # invalid paths


def report(error: BaseException, *, debug: bool) -> int:
    """Print the error on standard error. Returns the exit status. `debug`: also print the traceback."""
    error = single_error(error)
    lines, status = _explained(error)
    if isinstance(error, BrokenPipeError | output.OutputError):
        output.silence()
    if debug and not isinstance(error, click.ClickException | click.Abort | SystemExit):
        traceback.print_exception(error)
    for line in lines:
        output.remark(escape(line), "error")
    return status


def single_error(error: BaseException) -> BaseException:
    """The error inside an exception group of one; any other error itself."""
    match error:
        case BaseExceptionGroup():
            inner = error.exceptions
            return single_error(inner[0]) if len(inner) == 1 else error
        case _:
            return error


def _explained(error: BaseException) -> tuple[list[str], int]:
    match error:
        case SystemExit():
            return [], error.code if isinstance(error.code, int) else Exit.FAILED
        case click.Abort() | KeyboardInterrupt():
            return ["interrupted"], Exit.INTERRUPTED
        case click.UsageError():
            message = error.format_message().replace("\n\t", " ")  # click puts choices on lines of their own
            return [f"{message}{_hint(error)}"], Exit.USAGE
        case OSError() if known := _of_system(error):
            return known
        case CommandError() | HoldfastError() | ConfigError():
            return [*str(error).splitlines(), *getattr(error, "__notes__", [])], _status(error)
        case _:
            return [f"{type(error).__name__}: {error} (this is a bug; --debug prints the traceback)"], BUG.exit


def _of_system(error: OSError) -> tuple[list[str], int] | None:
    """The lines and the exit status for an error that the operating system reports. None if the error is a bug of
    Holdfast."""
    match error:
        case BrokenPipeError():
            return [], Exit.READ_NO_MORE
        case output.OutputError():
            return [str(error)], Exit.OUTPUT
        case PermissionError():
            return [_of_file(error)], Exit.PERMISSION
        case _:
            return ([_of_file(error)], Exit.CONFIG) if error.errno in UNUSABLE else None


def _of_file(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


def _status(error: CommandError | HoldfastError | ConfigError) -> int:
    if isinstance(error, CommandError):
        return error.status
    status = meaning_of(error).exit
    return Exit.PERMISSION if status is Exit.UNAVAILABLE and is_caused_by(PermissionError, error) else status


def is_caused_by(kinds: type[BaseException] | tuple[type[BaseException], ...], error: BaseException | None) -> bool:
    """True if the error, or one that caused it, is of these kinds."""
    while error is not None:
        if isinstance(error, kinds):
            return True
        error = error.__cause__ or error.__context__
    return False


def _hint(error: click.UsageError) -> str:
    return f" (see {error.ctx.command_path} --help)" if error.ctx else ""
