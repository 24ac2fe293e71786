"""What the embedded store would be run with: its program, and whether that one can follow who wrote the data."""

from __future__ import annotations

from holdfast.exits import Exit
from holdfast_config import Settings
from holdfastd.embedded import server_program
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.embedded.launch import data_directory


def embedded(settings: Settings) -> str:
    """The engine. Raises StoreLaunchError as `start` would."""
    engine = server_program.find().engine
    try:
        data_directory(settings).check(engine)
    except OSError as error:
        raise StoreLaunchError(f"{error.filename}: {error.strerror}", Exit.PERMISSION) from error
    return str(engine)
