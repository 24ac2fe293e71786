"""Creates the folders of the service: sockets are open to its owner and its group, everything else to its owner
alone."""

from __future__ import annotations

import errno
from pathlib import Path

from holdfast.exits import Exit
from holdfast_config import Settings, service_folders
from holdfast_config.trust import UntrustedError
from holdfastd.embedded.data_folder import FULL

INCARNATIONS = "incarnations"
ELSEWHERE = "or choose another --runtime-dir or --state-dir"
ADVICE = f"make it writable for this user, {ELSEWHERE}"
NO_FOLDER = frozenset({errno.EEXIST, errno.ENOTDIR})


def status(error: OSError) -> Exit:
    """The exit status where a folder cannot be used; below systemd most of the disk is read-only."""
    if error.errno in FULL:
        return Exit.UNAVAILABLE
    return Exit.PERMISSION if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP} else Exit.CONFIG


def error_line(error: OSError) -> str:
    """One line that says why a folder cannot be used, and what to do."""
    if error.errno in NO_FOLDER:
        return (
            f"{_there(Path(error.filename))} is no folder, and the supervisor needs one there: remove it, {ELSEWHERE}"
        )
    why = f"{error.filename}: {error.strerror}"
    return why if isinstance(error, UntrustedError) else f"{why}: {ADVICE}"


def _there(place: Path) -> Path:
    """The path itself, or its nearest parent that exists."""
    return next((path for path in (place, *place.parents) if path.exists()), place)


def make(settings: Settings) -> None:
    """Create the folders that are missing, and note the project in those made for it.

    Raises OSError; UntrustedError where another user made a folder or could replace it.
    """
    for folder, mode in ((settings.runtime_folder, 0o750), (settings.state_folder, 0o700)):
        service_folders.make_checked(folder, mode)
        if settings.project is not None and folder.base is not None:
            settings.project.write_note(folder.path)
    incarnations = settings.runtime_dir / INCARNATIONS
    service_folders.make(incarnations, 0o700)
    incarnations.chmod(0o700)  # also where somebody has opened it to others
