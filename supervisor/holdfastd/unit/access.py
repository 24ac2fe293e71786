"""Determines the folders that a service reads, and checks that its user can reach them."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfastd.unit.sandbox import Sandbox, outermost
from holdfastd.unit.site import USER, Site

COMMAND = "supervisor"


def own_command() -> Path:
    """The `supervisor` that belongs to this interpreter."""
    beside = Path(sysconfig.get_path("scripts"), COMMAND)
    return beside if beside.exists() else Path(sys.argv[0]).absolute()


def needed(supervisor: Path, handlers: Iterable[Path]) -> tuple[Path, ...]:
    """The folders of the program, of its interpreter, and of the handlers."""
    folders = _own_folders() if supervisor == own_command() else _folders_of(supervisor)
    return tuple(outermost([*folders, *handlers]))


def _own_folders() -> Iterator[Path]:
    yield Path(sys.prefix)
    yield Path(sys.base_prefix)
    yield Path(sys.executable).resolve().parent.parent
    yield from (path for entry in sys.path if entry and (path := Path(entry)).is_absolute() and path.is_dir())


def _folders_of(supervisor: Path) -> Iterator[Path]:
    """The folders of a virtual environment: its own, and its interpreter's."""
    yield supervisor.parent.parent
    yield (supervisor.parent / "python").resolve().parent.parent


@dataclass(frozen=True, slots=True)
class ServiceUser:
    """A user, by the ids that the kernel checks."""

    uid: int
    groups: frozenset[int]

    @classmethod
    def named(cls, user: str) -> ServiceUser:
        """The user of this name; a user who does not exist yet owns nothing and is in no group."""
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            return cls(-1, frozenset())
        others = {group.gr_gid for group in grp.getgrall() if user in group.gr_mem}
        return cls(entry.pw_uid, frozenset({entry.pw_gid, *others}))

    def stopped_at(self, path: Path, sandbox: Sandbox) -> Path | None:
        """The first folder on the path that the user cannot enter; a bound path is reachable directly."""
        way = [path] if path in sandbox.bound else [*reversed(path.parents), path]
        return next((folder for folder in way if folder.exists() and not self._enters(folder)), None)

    def _enters(self, folder: Path) -> bool:
        status = folder.stat()
        if self.uid == 0:
            return True
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        return bool(status.st_mode & (stat.S_IXGRP if status.st_gid in self.groups else stat.S_IXOTH))


def obstacles(site: Site) -> Iterator[str]:
    """The problems that would keep the service from running, one line each, with what to do."""
    if not site.supervisor.exists():
        yield f"{site.supervisor} is not there (yet)"
    if site.user != USER and ServiceUser.named(site.user).uid < 0:
        yield f"there is no user {site.user} (yet)"
    reader = ServiceUser.named(site.user)
    for path in site.sandbox.needed:
        folder = reader.stopped_at(path, site.sandbox)
        if folder is not None:
            yield f"{site.user} cannot enter {folder}, which it must to reach {path}: chmod o+x {folder}, or move it"


def may_write(path: Path) -> bool:
    """True if this process could create or replace `path`."""
    folder = next(parent for parent in path.parents if parent.exists())
    return os.access(folder, os.W_OK | os.X_OK)
