"""Seeing the folders of the service, without making them."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import psutil

from holdfast.exits import Exit
from holdfast_config import Settings
from holdfast_config.trust import ServiceFolder, UntrustedError
from holdfastd.doctor.folders import FolderInfo
from holdfastd.embedded.launch import data_directory
from holdfastd.parent.make_folders import status, told


def folders(settings: Settings) -> list[FolderInfo]:
    """The runtime folder; then that of the embedded store's data, or where none is used the state folder."""
    kept = data_directory(settings).path if settings.embedded else settings.state_dir
    return [_see(settings.runtime_dir, settings.runtime_folder), _see(kept, settings.state_folder)]


def _see(path: Path, chosen: ServiceFolder) -> FolderInfo:
    nearest = _nearest(path)
    error = _distrust(chosen) or _obstacle(path, nearest)
    told_of = nearest.lstat() if error else nearest.stat()
    return FolderInfo(
        path=path,
        flag=chosen.flag,
        missing=nearest != path,
        blocked=told(error) if error else "",
        status=status(error) if error else Exit.OK,
        owner=told_of.st_uid,
        user=os.getuid(),
        mode=stat.S_IMODE(told_of.st_mode),
        free=0 if error else shutil.disk_usage(nearest).free,
        filesystem=_filesystem(nearest),
    )


def _nearest(path: Path) -> Path:
    """The folder itself, or the nearest one above it that is there (or cannot be looked into)."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _distrust(folder: ServiceFolder) -> OSError | None:
    """Why another user could be behind what is in it."""
    try:
        folder.check()
    except UntrustedError as error:
        return error
    except OSError:  # it cannot be reached: looking at it tells more
        return None
    return None


def _obstacle(path: Path, nearest: Path) -> OSError | None:
    """What making it, or writing in it, would end with."""
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
    """Of the mount that holds it: the last one with the longest name, as later ones hide earlier ones."""
    real = path.resolve()
    mounts = [one for one in psutil.disk_partitions(all=True) if real.is_relative_to(one.mountpoint)]
    return max(reversed(mounts), key=lambda one: len(one.mountpoint)).fstype if mounts else ""
