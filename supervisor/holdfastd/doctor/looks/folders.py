"""Seeing the folders of the service, without making them."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import psutil

from holdfast_config import Settings
from holdfastd.doctor.folders import FolderFacts
from holdfastd.store.launch import data_directory


def folders(settings: Settings) -> list[FolderFacts]:
    """The runtime folder; then that of the embedded store's data, or where none is used the state folder."""
    kept = data_directory(settings).path if settings.embedded else settings.state_dir
    return [_see(settings.runtime_dir, "--runtime-dir"), _see(kept, "--state-dir")]


def _see(path: Path, flag: str) -> FolderFacts:
    nearest = _nearest(path)
    try:
        told, free = nearest.stat(), shutil.disk_usage(nearest).free
    except OSError as error:
        return FolderFacts(path, flag, nearest != path, f"{nearest}: {error.strerror}", 0, os.getuid(), 0, 0, "")
    return FolderFacts(
        path=path,
        flag=flag,
        missing=nearest != path,
        blocked=_obstacle(nearest, told.st_mode),
        owner=told.st_uid,
        user=os.getuid(),
        mode=stat.S_IMODE(told.st_mode),
        free=free,
        filesystem=_filesystem(nearest),
    )


def _nearest(path: Path) -> Path:
    """The folder itself, or the nearest one above it that is there (or cannot be looked into)."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _obstacle(path: Path, mode: int) -> str:
    if not stat.S_ISDIR(mode):
        return f"{path} is not a folder"
    if not os.access(path, os.W_OK | os.X_OK):
        return f"no permission for {path}"
    return ""


def _filesystem(path: Path) -> str:
    """Of the mount that holds it: the last one with the longest name, as later ones hide earlier ones."""
    real = path.resolve()
    mounts = [one for one in psutil.disk_partitions(all=True) if real.is_relative_to(one.mountpoint)]
    return max(reversed(mounts), key=lambda one: len(one.mountpoint)).fstype if mounts else ""
