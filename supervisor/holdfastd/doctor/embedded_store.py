"""The embedded store: its server program must exist and be able to read the data that is there."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.exits import Exit
from holdfast_config import Settings
from holdfastd.doctor.finding import Check, Finding
from holdfastd.embedded import server_program
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.embedded.launch import data_directory

_PROGRAM = Check("folders", "embedded store")


def look(settings: Settings) -> str | StoreLaunchError:
    """The engine of the program, or the error that `start` would end with."""
    try:
        engine = server_program.find().engine
        data_directory(settings).check(engine)
    except StoreLaunchError as error:
        return error
    except OSError as error:
        return StoreLaunchError(f"{error.filename}: {error.strerror}", Exit.PERMISSION)
    return str(engine)


def judge(engine: str | StoreLaunchError) -> Iterator[Finding]:
    if isinstance(engine, StoreLaunchError):
        text, _, fix = str(engine).rpartition(": ")
        yield _PROGRAM.problem(text, fix)
    else:
        yield _PROGRAM.ok(f"{engine}, which can read the existing data")
