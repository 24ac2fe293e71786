"""The default folders of state and sockets: systemd's for a service, else the project's below the XDG folders."""

from __future__ import annotations

import json
import os
import re
import socket
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from holdfast_config.origin import ValueWithOrigin
from holdfast_config.trust import ServiceFolder, is_trusted

# A project is a folder whose commands share one pool.
#
# It is the folder of the settings file, else that of agent.py, else the working folder. Its pool has folders below the
# XDG folders, under a name made from the project's path. A note in each of these folders names the project. So commands
# elsewhere can name it, and its data is found after the project was renamed.

AGENT = "agent.py"
NOTE = "project.json"

_SLUG = 12  # characters: paths of sockets are short
_OTHERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Project:
    """A project by its real path. `device` and `inode` are those of its folder, which a rename keeps; 0 if unknown."""

    path: Path
    device: int = 0
    inode: int = 0

    @classmethod
    def at(cls, folder: Path) -> Project:
        """The project in this folder; it may be missing."""
        try:
            path = Path(os.path.realpath(folder))
        except FileNotFoundError:  # the working folder of this process was removed
            return cls(Path("/"))
        try:
            status = path.stat()
        except OSError:
            return cls(path)
        return cls(path, status.st_dev, status.st_ino)

    @property
    def name(self) -> str:
        """The name of its folders: the start of the project folder's name, and a checksum of its path."""
        slug = _OTHERS.sub("-", self.path.name.lower()).strip("-")[:_SLUG].rstrip("-")
        return f"{slug or 'project'}-{zlib.crc32(os.fsencode(self.path)):08x}"

    def is_gone(self) -> bool:
        """True if its folder exists no more under this path."""
        return not os.path.isdir(self.path)  # noqa: PTH112 - a folder above it that may not be searched is no error

    def is_same_folder(self, other: Project) -> bool:
        """True if both are one folder, perhaps under another path."""
        return bool(self.inode) and (self.device, self.inode) == (other.device, other.inode)

    def write_note(self, folder: Path) -> None:
        """Note the project in one of its folders. Raises OSError."""
        if noted(folder) != self:
            fresh = folder / f"{NOTE}.{os.getpid()}"
            fresh.write_text(
                json.dumps({"path": str(self.path), "device": self.device, "inode": self.inode}) + "\n", "utf-8"
            )
            fresh.chmod(0o600)
            fresh.replace(folder / NOTE)


def noted(folder: Path) -> Project | None:
    """The project that the note in this folder names; None if there is none that can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        note = cast("dict[str, object]", json.loads((folder / NOTE).read_text("utf-8")))
        path, device, inode = note["path"], note["device"], note["inode"]
        if isinstance(path, str) and isinstance(device, int) and isinstance(inode, int):
            return Project(Path(path), device, inode)
    return None


def project_folder(settings_file: Path | None, app_dir: Path, folder: Path) -> Path:
    """The project of a command in `folder` that reads this settings file, if any, and imports from `app_dir`."""
    if settings_file is not None and settings_file.is_file():
        return settings_file.parent
    return app_dir if os.path.isfile(app_dir / AGENT) else folder  # noqa: PTH113 - one that may not be searched is none


# The kernel's sun_path holds 108 bytes with a final NUL. No socket has a longer name than this one.
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET = CONTROL_SOCKET = "control.sock"
SUPERVISOR_LOCK = "supervisor.lock"  # in the runtime folder, held by the supervisor
STORE_SOCKET = "store.sock"
STORE = "store"  # the folder of the embedded store's data in the state folder
ABOVE = 0o755

_WRITTEN = ("engine", "appendonlydir")  # in the folder of a store that has run


def default_folders(project: Project, environ: Mapping[str, str] = os.environ) -> dict[str, ValueWithOrigin]:
    """The folders of a project by setting, unless that names another; with the variables that they come from."""
    bases = {"state_dir": state_base(environ), "runtime_dir": runtime_base(environ)}
    return {field: _of_project(base, project) for field, base in bases.items()}


def state_base(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The state folder of systemd (`named`), else the folder below which each project has its own."""
    own = _of_service("STATE_DIRECTORY", environ) or _of_user("XDG_STATE_HOME", environ)
    return own or ValueWithOrigin(
        "the default state directory", _home(environ) / ".local" / "state" / "holdfast", named=False
    )


def runtime_base(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The runtime folder of systemd (`named`), else the folder below which each project has its own."""
    own = _of_service("RUNTIME_DIRECTORY", environ) or _of_user("XDG_RUNTIME_DIR", environ)
    usual = Path(tempfile.gettempdir(), f"holdfast-{os.getuid()}")
    return own or ValueWithOrigin("the default runtime directory", usual, named=False)


def holds_data(state: Path) -> bool:
    """True if an embedded store has written to this state folder."""
    return any(os.path.exists(state / STORE / name) for name in _WRITTEN)  # noqa: PTH110 - not searchable: none of ours


def listens(path: Path) -> bool:
    """True if a process listens on this socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as stream:
        try:
            stream.connect(str(path))
        except BlockingIOError:  # it has many callers
            return True
        except (OSError, ValueError):  # nobody, not allowed, or a path too long for a socket
            return False
        return True


def make(path: Path, mode: int) -> None:
    """Create the folder with this mode, and missing parents that only the owner can write. Raises OSError."""
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(ABOVE, exist_ok=True)
    path.mkdir(mode, exist_ok=True)


def make_checked(folder: ServiceFolder, mode: int) -> None:
    """Create the folder, and above it the folder of all projects, with this mode. Raises OSError, or UntrustedError if
    another user made one of them or could replace it."""
    folder.check()
    if folder.base is not None:
        make(folder.base, mode)
    make(folder.path, mode)
    folder.check()  # checked again: another user may have created it meanwhile


def check_runtime_dir(path: Path) -> Path:
    """Returns the path. Raises ValueError if it is too long to bind a socket in."""
    length = len(os.fsencode(path / LONGEST_SOCKET))
    if length > SOCKET_PATH_LIMIT:
        raise ValueError(
            f"the socket {LONGEST_SOCKET} in it would have a path of {length} bytes, the system allows "
            f"{SOCKET_PATH_LIMIT}; set --runtime-dir or HOLDFAST_RUNTIME_DIR to a shorter folder"
        )
    return path


def expanded(text: str) -> Path:
    """The path; `~` is a home folder. Raises ValueError if that is nobody's."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ValueError("names the home folder of an unknown user") from None


def _path(base: ValueWithOrigin) -> Path:
    assert isinstance(base.value, Path)
    return base.value


def _of_project(base: ValueWithOrigin, project: Project) -> ValueWithOrigin:
    """The project's folder in the base; a folder of systemd is that of its service."""
    if base.named:
        return base
    return ValueWithOrigin(base.key, _path(base) / project.name, named=False, is_of_project=True)


def _of_service(variable: str, environ: Mapping[str, str]) -> ValueWithOrigin | None:
    first = environ.get(variable, "").split(":")[0]
    return ValueWithOrigin(variable, Path(first)) if first else None


def _of_user(variable: str, environ: Mapping[str, str]) -> ValueWithOrigin | None:
    """The folder of an XDG variable. The XDG specification requires that relative paths are ignored."""
    base = Path(environ.get(variable, ""))
    return ValueWithOrigin(variable, base / "holdfast", named=False) if base.is_absolute() else None


def _home(environ: Mapping[str, str]) -> Path:
    """The home folder. A user without one (a bare uid in a container) gets /var/lib, which an error will name."""
    if environ.get("HOME"):
        return Path(environ["HOME"])
    try:
        return Path.home()
    except RuntimeError:
        return Path("/var/lib")


# The pools that run on this machine: those of the user's projects, and services of systemd.

SERVICES = Path("/run")  # where systemd makes runtime folders


@dataclass(frozen=True, slots=True)
class RunningPool:
    """A pool by its runtime folder. `project`: None for a service."""

    runtime_dir: Path
    project: Project | None = None

    def __str__(self) -> str:
        return f"{self.project.path} in {self.runtime_dir}" if self.project else str(self.runtime_dir)


def of_user(environ: Mapping[str, str] = os.environ) -> Iterator[RunningPool]:
    """The running pools of this user's projects, ordered by their folders; none below a folder of a stranger's."""
    base = runtime_base(environ)
    shared = Path(str(base.value))
    if base.named or not is_trusted(ServiceFolder(shared, named=False, flag="--runtime-dir")):
        return
    for folder in folders_below(shared, "*"):
        if listens(folder / CONTROL_SOCKET):
            yield RunningPool(folder, noted(folder))


def pool_services(run: Path = SERVICES) -> list[RunningPool]:
    """The services that have a runtime folder of systemd. A user without rights sees only the folders, not the pools in
    them."""
    return [RunningPool(folder) for folder in folders_below(run, "holdfast*")]


def in_brackets(but: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The running pools, in brackets for the end of a message, without the pool of the folder `but`; empty if there are
    none."""
    found = [str(pool) for pool in (*of_user(environ), *pool_services()) if pool.runtime_dir != but]
    return f" (there is {', and '.join(found)})" if found else ""


def folders_below(folder: Path, pattern: str) -> list[Path]:
    """The folders right below this one; none if it is missing or may not be searched."""
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_dir())
    except OSError:  # it may not be searched
        return []
