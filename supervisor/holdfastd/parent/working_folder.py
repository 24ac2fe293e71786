"""The working folder of the service, which may be deleted and made anew under it, as a deployment does."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def working_folder() -> Path | None:
    """The folder that this process works in; None if that has been deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def enter_again(folder: Path | None) -> None:
    """Where the working folder was deleted, enter the one that has its name now, if there is one."""
    if folder is not None and working_folder() is None:
        with suppress(OSError):
            os.chdir(folder)
