"""Returns to the working folder of the service after a deployment has deleted and recreated it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def working_folder() -> Path | None:
    """The working folder of this process; None if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def enter_again(folder: Path | None) -> None:
    """Enter the folder at this path, if the working folder was deleted and the path exists again."""
    if folder is not None and working_folder() is None:
        with suppress(OSError):
            os.chdir(folder)
