"""Rejects folders and files that another user could have created, replaced or changed.

A folder of the service must belong to the caller or to root. There is one exception: a folder that is named (by a flag,
a setting or systemd), or that systemd creates (/run/holdfast*), may belong to another user. Then all folders above it
must belong to root or to this user, so that nobody else can replace it. The group and others must not be able to write
in the folder, nor in the folders above it, except in sticky ones such as /tmp.
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
    """Another user could have created or changed a folder or file. `strerror` is the reason with the remedy."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EPERM, why, str(path))


@dataclass(frozen=True, slots=True)
class SeenOwner:
    """The owner and mode of a folder. `mode` includes the file type, as in `stat`."""

    path: Path
    owner: int
    mode: int


@dataclass(frozen=True, slots=True)
class ServiceFolder:
    """A folder for the service's sockets or data. `named`: the user chose the folder; false for a default. `flag`: the
    option that chooses another folder. `base`: the folder above it that holds the folders of all projects, and that is
    checked, too; None if there is none."""

    path: Path
    named: bool
    flag: str
    base: Path | None = None

    def check(self) -> Path:
        """Check the owner and the mode of the folder; returns its path. A missing folder is accepted. Raises
        UntrustedError, or PermissionError if the caller cannot search a folder above it."""
        for path in filter(None, (self.base, self.path)):
            self._check(path)
        return self.path

    def _check(self, path: Path) -> None:
        real = Path(os.path.realpath(path.parent), path.name)
        try:
            folder = _seen(real)
        except (FileNotFoundError, NotADirectoryError):
            return
        above = [_seen(parent) for parent in real.parents]
        if why := objection(folder, above, os.geteuid(), named=self.named):
            raise UntrustedError(path, f"owned by {user(folder.owner)}: {why}; or choose another {self.flag}")


def is_trusted(folder: ServiceFolder) -> bool:
    """True if `check` accepts the folder."""
    try:
        folder.check()
    except OSError:
        return False
    return True


def objection(folder: SeenOwner, above: Sequence[SeenOwner], caller: int, *, named: bool) -> str:
    """The reason why a folder is not trusted, with the remedy, as the end of a sentence. Empty if the folder is
    trusted. `above`: the real folders above it, the nearest first. `caller`: the id of the user who wants to use it."""
    if stat.S_ISLNK(folder.mode):
        return "it is a symbolic link: name the folder that it leads to"
    if folder.mode & BY_OTHERS:
        return f"its group or others can write in it ({_mode(folder)}): chmod go-w {folder.path}"
    for parent in above:
        if parent.mode & BY_OTHERS and not parent.mode & stat.S_ISVTX:
            return (
                f"others can replace it, because they can write in {parent.path} ({_mode(parent)}): "
                f"chmod go-w {parent.path}"
            )
    return "" if folder.owner in {caller, ROOT} else _objection_to_owner(folder, above, caller, named=named)


def _objection_to_owner(folder: SeenOwner, above: Sequence[SeenOwner], caller: int, *, named: bool) -> str:
    """The reason why a folder of another user is not trusted; empty if it is trusted."""
    if not named and not _is_of_systemd(folder.path):
        return f"it belongs neither to {user(caller)} nor to root: have that user or root remove it"
    for parent in above:
        if parent.owner not in {ROOT, folder.owner}:
            return f"{user(parent.owner)} owns {parent.path} and can replace this folder: chown root {parent.path}"
    return ""


def user(uid: int) -> str:
    """A user in messages, for example `user ada (1000)`."""
    try:
        return f"user {pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return f"user {uid}"


def _is_of_systemd(path: Path) -> bool:
    return path.parent == OF_SYSTEMD and path.name.startswith("holdfast")


def _mode(seen: SeenOwner) -> str:
    return f"mode {stat.S_IMODE(seen.mode):o}"


def _seen(path: Path) -> SeenOwner:
    """The owner and mode of the folder. If the path is a symbolic link, the owner and mode of the link."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return SeenOwner(path, status.st_uid, status.st_mode)
