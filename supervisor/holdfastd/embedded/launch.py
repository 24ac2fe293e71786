"""Everything that must stand before the parent runs the embedded store: program, directory, lock, command line."""

from __future__ import annotations

import os
from dataclasses import dataclass

from holdfast.exits import Exit
from holdfast_config import Settings, service_folders
from holdfast_config.settings import STORE_SOCKET
from holdfastd.embedded import server_program
from holdfastd.embedded.data_folder import FULL, DataFolder
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.embedded.server_options import command_line

PREDECESSOR_ENDS = 5.0  # seconds: the store of a killed parent may still be saving


@dataclass(frozen=True, slots=True)
class StoreLaunch:
    """What to run, descriptors it must `inherit` (the caller closes its own copies once it runs), the store's `url`."""

    argv: tuple[str, ...]
    inherit: tuple[int, ...]
    url: str


def prepare(settings: Settings, *, first: bool = True, wait: float = PREDECESSOR_ENDS) -> StoreLaunch:
    """Make the embedded store ready to run; blocks at most `wait` seconds for an earlier one to let go of the data.

    `first`: the service starts, and must have room on the disk; a store that died is put back even without.
    StoreLaunchError says why it cannot be: 69 disk full, 73 another one runs, 77 permission, 78 anything to configure.
    """
    try:
        return _prepare(settings, first, wait)
    except PermissionError as error:
        raise StoreLaunchError(f"no permission for {error.filename}: {_OWN}", Exit.PERMISSION) from error
    except OSError as error:
        advice, code = (_ROOM, Exit.UNAVAILABLE) if error.errno in FULL else (_OWN, Exit.CONFIG)
        raise StoreLaunchError(f"{error.filename or settings.state_dir}: {error.strerror}: {advice}", code) from error


def data_directory(settings: Settings) -> DataFolder:
    """Where the embedded store of these settings keeps its data."""
    return DataFolder(settings.state_dir / "store")


_ROOM = "make room on that disk, or choose another --state-dir"
_OWN = "make it writable for this user, or choose another --state-dir and --runtime-dir"


def _prepare(settings: Settings, first: bool, wait: float) -> StoreLaunch:
    service_folders.make(settings.runtime_dir, 0o750)
    settings.runtime_folder.check()
    socket = settings.runtime_dir / STORE_SOCKET
    program = server_program.find()
    directory = data_directory(settings)
    descriptor = directory.lock(wait)
    try:
        if first:
            directory.check_room()
        directory.admit(program.engine)
        directory.turn_log()
        socket.unlink(missing_ok=True)
    except BaseException:
        os.close(descriptor)
        raise
    argv = (str(program.path), *command_line(socket, directory))
    return StoreLaunch(argv, (descriptor,), settings.store_url)
