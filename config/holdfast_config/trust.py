"""Folders and files that another user could have made, replaced or changed, and are therefore not used.

A folder of the service is trusted by its owner: the caller or root. One that was named (by a flag, a setting or
systemd), or that systemd makes (/run/holdfast*), may belong to anybody else, provided that each folder above it belongs
to root or to that owner, so that nobody but these can put another in its place. No folder on the way may be writable by
group or others; those above may be where they are sticky, as /tmp is.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = 0
BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
OF_SYSTEMD = Path("/run")


class UntrustedError(PermissionError):
    """A folder or a file that another user could have made or changed; `strerror` says why, and what to do."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EPERM, why, str(path))


@dataclass(frozen=True, slots=True)
class SeenOwner:
    """`mode` with the type of the file, as stat tells it."""

    path: Path
    owner: int
    mode: int


@dataclass(frozen=True, slots=True)
class ServiceFolder:
    """A folder that the service keeps sockets or data in. `named`: somebody chose it, it is no default. `flag`
    chooses another."""

    path: Path
    named: bool
    flag: str

    def check(self) -> Path:
        """The path. Raises UntrustedError; a folder that is not there is no danger, one above it that cannot be looked
        into raises PermissionError."""
        real = Path(os.path.realpath(self.path.parent), self.path.name)
        try:
            folder = _seen(real)
        except (FileNotFoundError, NotADirectoryError):
            return self.path
        above = [_seen(parent) for parent in real.parents]
        if why := objection(folder, above, os.geteuid(), named=self.named):
            raise UntrustedError(self.path, f"of {user(folder.owner)}: {why}; or choose another {self.flag}")
        return self.path


def objection(folder: SeenOwner, above: Sequence[SeenOwner], caller: int, *, named: bool) -> str:
    """Why a folder is not trusted, and what to do, as the rest of a sentence; empty if it is. `above`: its real
    parents, the nearest first."""
    if stat.S_ISLNK(folder.mode):
        return "it is a symbolic link: name the folder that it leads to"
    if folder.mode & BY_OTHERS:
        return f"its group or others can write in it ({_mode(folder)}): chmod go-w {folder.path}"
    for parent in above:
        if parent.mode & BY_OTHERS and not parent.mode & stat.S_ISVTX:
            return (
                f"others can replace it, as they can write in {parent.path} ({_mode(parent)}): chmod go-w {parent.path}"
            )
    return "" if folder.owner in {caller, ROOT} else _objection_to_owner(folder, above, caller, named=named)


def _objection_to_owner(folder: SeenOwner, above: Sequence[SeenOwner], caller: int, *, named: bool) -> str:
    """The same of a folder that belongs to somebody else."""
    if not named and not _is_of_systemd(folder.path):
        return f"it belongs neither to {user(caller)} nor to root: have that user or root remove it"
    for parent in above:
        if parent.owner not in {ROOT, folder.owner}:
            return f"{user(parent.owner)}, whose {parent.path} is, can replace it: chown root {parent.path}"
    return ""


def user(uid: int) -> str:
    """A user for a message."""
    try:
        return f"user {pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return f"user {uid}"


def _is_of_systemd(path: Path) -> bool:
    return path.parent == OF_SYSTEMD and path.name.startswith("holdfast")


def _mode(seen: SeenOwner) -> str:
    return f"mode {stat.S_IMODE(seen.mode):o}"


def _seen(path: Path) -> SeenOwner:
    """The folder itself, or the symbolic link that stands in its place."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return SeenOwner(path, status.st_uid, status.st_mode)
