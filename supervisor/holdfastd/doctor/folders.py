"""Checks the folders of the service. They must be writable and private, and have room for the store's data."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from holdfast.exits import Exit
from holdfast_config import Settings
from holdfast_config.trust import ServiceFolder, UntrustedError
from holdfastd.doctor.finding import Check, Finding
from holdfastd.embedded import launch
from holdfastd.embedded.data_folder import StoreLaunchError
from holdfastd.embedded.launch import data_directory
from holdfastd.parent import start_checks

MEBIBYTE = 1 << 20
SCARCE, FULL = 1024 * MEBIBYTE, 64 * MEBIBYTE
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"})


@dataclass(frozen=True, slots=True)
class FolderInfo:
    """A folder and the `flag` that chooses it.

    If the folder is `missing`, the other fields describe the folder in which it would be created. `free`: bytes.
    `filesystem`: the kernel's name for the file system, empty if unknown. `blocked`: the reason why the folder cannot
    be used, with the remedy. `status`: the exit status that `start` would then have.
    """

    path: Path
    flag: str
    missing: bool
    blocked: str
    status: int
    owner: int
    user: int
    mode: int
    free: int
    filesystem: str


def look(settings: Settings) -> list[FolderInfo]:
    """Examine the runtime folder, then the folder of the embedded store's data (without an embedded store: the state
    folder).

    This creates no folder.
    """
    data = data_directory(settings).path if settings.embedded else settings.state_dir
    return [_examine(settings.runtime_dir, settings.runtime_folder), _examine(data, settings.state_folder)]


def _examine(path: Path, chosen: ServiceFolder) -> FolderInfo:
    nearest = _nearest(path)
    error = _distrust(chosen) or _obstacle(path, nearest)
    entry = nearest.lstat() if error else nearest.stat()
    return FolderInfo(
        path=path,
        flag=chosen.flag,
        missing=nearest != path,
        blocked=start_checks.folder_error_line(error) if error else "",
        status=start_checks.folder_status(error) if error else Exit.OK,
        owner=entry.st_uid,
        user=os.getuid(),
        mode=stat.S_IMODE(entry.st_mode),
        free=0 if error else shutil.disk_usage(nearest).free,
        filesystem=_filesystem(nearest),
    )


def _nearest(path: Path) -> Path:
    """This folder if it exists, or the nearest folder above it that exists or denies access."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _distrust(folder: ServiceFolder) -> OSError | None:
    """The error if another user could have written into the folder; None if no other user could."""
    try:
        folder.check()
    except UntrustedError as error:
        return error
    except OSError:  # the folder cannot be reached; _obstacle has a better message for this
        return None
    return None


def _obstacle(path: Path, nearest: Path) -> OSError | None:
    """The error that would be raised if the folder were created, or a file written in it; None if there is none."""
    if not nearest.is_dir():
        return _error(errno.EEXIST if nearest == path else errno.ENOTDIR, path)
    if os.access(nearest, os.W_OK | os.X_OK):
        return None
    is_read_only = os.statvfs(nearest).f_flag & os.ST_RDONLY
    first = path if nearest == path else nearest / path.relative_to(nearest).parts[0]
    return _error(errno.EROFS if is_read_only else errno.EACCES, first)


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _filesystem(path: Path) -> str:
    """The file system of the mount to which the path belongs: the one with the longest path. Of several with the same
    path the last one counts, because later mounts hide earlier ones."""
    real = path.resolve()
    mounts = [mount for mount in psutil.disk_partitions(all=True) if real.is_relative_to(mount.mountpoint)]
    return max(reversed(mounts), key=lambda mount: len(mount.mountpoint)).fstype if mounts else ""


def judge(folder: FolderInfo, *, keeps_data: bool) -> Iterator[Finding]:
    """Judge one folder. `keeps_data`: the folder contains the data of the embedded store."""
    check = Check("folders", f"{folder.flag} {folder.path}")
    if folder.blocked:
        text, _, fix = folder.blocked.rpartition(": ")
        yield check.problem(text, fix)
        return
    yield check.ok("missing; the start will create it" if folder.missing else "exists and is writable")
    if not folder.missing:
        yield from _judge_owner(folder, check)
    if keeps_data:
        yield from _judge_room(folder, check)


def _judge_owner(folder: FolderInfo, check: Check) -> Iterator[Finding]:
    if folder.owner != folder.user:
        text = f"the folder belongs to user {folder.owner}, but this command runs as user {folder.user}"
        yield check.note(text, "run this command as the user of the service")


def _judge_room(folder: FolderInfo, check: Check) -> Iterator[Finding]:
    free = f"{folder.free // MEBIBYTE} MiB are free for the embedded store"
    fix = f"free some space, or choose another {folder.flag}"
    if folder.free < FULL:
        yield check.problem(f"only {free}: on a full disk the store refuses every task", fix)
    elif folder.free < SCARCE:
        yield check.warning(f"only {free}", fix)
    if folder.filesystem in IN_MEMORY:
        yield check.warning(f"the folder is in memory ({folder.filesystem}): a reboot loses every task", fix)
    if folder.filesystem in REMOTE:
        yield check.warning(
            f"the folder is on a network ({folder.filesystem}): each write waits for the network", "use a local disk"
        )


# Checks the embedded store: its server program must exist and be able to read the existing data.

_PROGRAM = Check("folders", "embedded store")


def look_for_program(settings: Settings) -> str | StoreLaunchError:
    """The engine and version of the program, or the error with which `start` would end."""
    try:
        engine = launch.find().engine
        data_directory(settings).check(engine)
    except StoreLaunchError as error:
        return error
    except OSError as error:
        return StoreLaunchError(f"{error.filename}: {error.strerror}", Exit.PERMISSION)
    return str(engine)


def judge_program(engine: str | StoreLaunchError) -> Iterator[Finding]:
    if isinstance(engine, StoreLaunchError):
        text, _, fix = str(engine).rpartition(": ")
        yield _PROGRAM.problem(text, fix)
    else:
        yield _PROGRAM.ok(f"{engine}, which can read the existing data")
