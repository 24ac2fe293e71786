"""Finds the folders that a service must read, and checks that its user can reach them."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Hides home folders and temporary folders from the service, except for the folders that the service reads.

# Over /root systemd puts a folder that only root may enter, so nothing can be shown to another user inside of it.
ROOT = Path("/root")
HOMES = (Path("/home"), Path("/run/user"))
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - names of what PrivateTmp= hides


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The folders that the systemd unit hides from the service. `needed`: the folders that the service must read."""

    needed: tuple[Path, ...] = ()

    @property
    def bound(self) -> tuple[Path, ...]:
        """The needed folders that are in hidden folders, so that the unit must make them visible."""
        hidden = TEMPORARY if self._needs_root else (*HOMES, *TEMPORARY)
        return tuple(path for path in outermost(self.needed) if _lies_in(path, hidden))

    @property
    def _needs_root(self) -> bool:
        return any(_lies_in(path, (ROOT,)) for path in self.needed)

    def directives(self) -> list[str]:
        """The lines of the unit file that hide the home folders from the service, and show it the folders that it
        needs."""
        shown = [f"BindReadOnlyPaths={path}" for path in self.bound]
        if self._needs_root:
            return ["# Not hidden altogether: the program it runs lies in /root.", "ProtectHome=read-only", *shown]
        if any(_lies_in(path, HOMES) for path in self.bound):
            return ["# Hidden, except for the folder that it runs from.", "ProtectHome=tmpfs", *shown]
        return ["ProtectHome=yes", *shown]


def outermost(paths: Iterable[Path]) -> list[Path]:
    """These folders, without folders that are inside another one of them."""
    ordered = sorted(set(paths))
    return [path for path in ordered if not any(path != other and path.is_relative_to(other) for other in ordered)]


def _lies_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


# Describes how a service runs: its program, user, instance and settings, which differ between machines and instances.

USER = "holdfast"
SUPERVISOR = Path("/opt/holdfast/bin/supervisor")
ETC = Path("/etc/holdfast")
SETTINGS = ETC / "supervisor.toml"


@dataclass(frozen=True, slots=True)
class Site:
    """One service. `instance`: its name; None: the single service `holdfast`. `settings`: its settings by field
    name."""

    supervisor: Path = SUPERVISOR
    user: str = USER
    instance: str | None = None
    sandbox: Sandbox = field(default_factory=Sandbox)
    settings: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def template(self) -> str:
        """The file name of the unit."""
        return "holdfast.service" if self.instance is None else "holdfast@.service"

    @property
    def unit(self) -> str:
        """The name of the unit for systemctl."""
        return "holdfast" if self.instance is None else f"holdfast@{self.instance}"

    @property
    def variables(self) -> Path:
        """The path of the service's environment file."""
        return ETC / f"{self.instance or 'supervisor'}.env"

    @property
    def runtime_dir(self) -> Path:
        """The runtime folder of the service's supervisor."""
        return Path("/run", "holdfast" if self.instance is None else f"holdfast-{self.instance}")


COMMAND = "supervisor"


def own_command() -> Path:
    """The path of the `supervisor` program that belongs to this Python interpreter."""
    beside = Path(sysconfig.get_path("scripts"), COMMAND)
    return beside if beside.exists() else Path(sys.argv[0]).absolute()


def needed(supervisor: Path, handlers: Iterable[Path]) -> tuple[Path, ...]:
    """The folders that a service must read: the folders of its program, of the program's interpreter, and of its
    handlers."""
    folders = _own_folders() if supervisor == own_command() else _folders_of(supervisor)
    return tuple(outermost([*folders, *handlers]))


def _own_folders() -> Iterator[Path]:
    yield Path(sys.prefix)
    yield Path(sys.base_prefix)
    yield Path(sys.executable).resolve().parent.parent
    yield from (path for entry in sys.path if entry and (path := Path(entry)).is_absolute() and path.is_dir())


def _folders_of(supervisor: Path) -> Iterator[Path]:
    """The folders of the virtual environment of this program: its own folder, and the one of its interpreter."""
    yield supervisor.parent.parent
    yield (supervisor.parent / "python").resolve().parent.parent


@dataclass(frozen=True, slots=True)
class ServiceUser:
    """The user of a service, with the ids by which the kernel checks permissions."""

    uid: int
    groups: frozenset[int]

    @classmethod
    def named(cls, user: str) -> ServiceUser:
        """The user with this name. A user who does not exist yet owns nothing and is in no group."""
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            return cls(-1, frozenset())
        others = {group.gr_gid for group in grp.getgrall() if user in group.gr_mem}
        return cls(entry.pw_uid, frozenset({entry.pw_gid, *others}))

    def stopped_at(self, path: Path, sandbox: Sandbox) -> Path | None:
        """The first folder on the way to `path` that the user cannot enter; None if there is none. A folder that the
        sandbox makes visible can be entered directly."""
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
    """The problems that would keep the service from running. A problem is one line, which also says what to do."""
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
