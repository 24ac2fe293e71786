"""The default folders of state and sockets. A service uses systemd's folders; a project has its own below the XDG
folders."""

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
# A project is the folder of the settings file, else the folder of agent.py, else the working folder. Its pool has
# folders below the XDG folders, with a name made from the project's path. A note in these folders names the project. So
# a command in another folder can show the project, and its data is found again after the project was renamed.

AGENT = "agent.py"
NOTE = "project.json"

_SLUG = 12  # characters of the project's name in its folders: the path of a socket must be short
_OTHERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Project:
    """A project: the folder that a command works for, by its real path. `device` and `inode` identify the folder even
    after a rename; 0 if unknown."""

    path: Path
    device: int = 0
    inode: int = 0

    @classmethod
    def at(cls, folder: Path) -> Project:
        """The project of this folder, which may be missing."""
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
        """The name of the project's folders below the XDG folders: the beginning of its own name, and a checksum of its
        path."""
        slug = _OTHERS.sub("-", self.path.name.lower()).strip("-")[:_SLUG].rstrip("-")
        return f"{slug or 'project'}-{zlib.crc32(os.fsencode(self.path)):08x}"

    def is_gone(self) -> bool:
        """True if no folder exists under the project's path any more."""
        return not os.path.isdir(self.path)  # noqa: PTH112 - a folder above it that may not be searched is no error

    def is_same_folder(self, other: Project) -> bool:
        """True if both projects are the same folder, perhaps with different paths after a rename."""
        return bool(self.inode) and (self.device, self.inode) == (other.device, other.inode)

    def write_note(self, folder: Path) -> None:
        """Write the note that names this project into one of its folders. Raises OSError."""
        if noted(folder) != self:
            fresh = folder / f"{NOTE}.{os.getpid()}"
            fresh.write_text(
                json.dumps({"path": str(self.path), "device": self.device, "inode": self.inode}) + "\n", "utf-8"
            )
            fresh.chmod(0o600)
            fresh.replace(folder / NOTE)


def noted(folder: Path) -> Project | None:
    """The project that the note in this folder names; None if there is no readable note."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        note = cast("dict[str, object]", json.loads((folder / NOTE).read_text("utf-8")))
        path, device, inode = note["path"], note["device"], note["inode"]
        if isinstance(path, str) and isinstance(device, int) and isinstance(inode, int):
            return Project(Path(path), device, inode)
    return None


def project_folder(settings_file: Path | None, app_dir: Path, folder: Path) -> Path:
    """The folder that a command takes as its project. `settings_file`: the file that the command reads, if any.
    `app_dir`: the folder from which the command imports. `folder`: the command's working folder."""
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

_WRITTEN = ("engine", "appendonlydir")  # files that an embedded store writes into its folder


def default_folders(project: Project, environ: Mapping[str, str] = os.environ) -> dict[str, ValueWithOrigin]:
    """The default values of `state_dir` and `runtime_dir` for a project, with the variables that they come from."""
    bases = {"state_dir": state_base(environ), "runtime_dir": runtime_base(environ)}
    return {field: _of_project(base, project) for field, base in bases.items()}


def state_base(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The state folder of a systemd service (`named`), else the folder below which the projects have their state
    folders."""
    own = _of_service("STATE_DIRECTORY", environ) or _of_user("XDG_STATE_HOME", environ)
    return own or ValueWithOrigin(
        "the default state directory", _home(environ) / ".local" / "state" / "holdfast", named=False
    )


def runtime_base(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The runtime folder of a systemd service (`named`), else the folder below which the projects have their runtime
    folders."""
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
        except BlockingIOError:  # a process listens, and its queue of connections is full
            return True
        except (OSError, ValueError):  # no process listens, this user may not connect, or the path is too long
            return False
        return True


def make(path: Path, mode: int) -> None:
    """Create the folder with this mode. Missing parents get the mode 755. Raises OSError."""
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(ABOVE, exist_ok=True)
    path.mkdir(mode, exist_ok=True)


def make_checked(folder: ServiceFolder, mode: int) -> None:
    """Create the folder, and above it the folder of all projects, with this mode. Raises OSError. Raises UntrustedError
    if another user has made one of the folders or could replace it."""
    folder.check()
    if folder.base is not None:
        make(folder.base, mode)
    make(folder.path, mode)
    folder.check()  # checked again, because another user may have created the folder meanwhile


def check_runtime_dir(path: Path) -> Path:
    """Check the path of a runtime folder; returns it. Raises ValueError if a socket in this folder would have a path
    that is too long."""
    length = len(os.fsencode(path / LONGEST_SOCKET))
    if length > SOCKET_PATH_LIMIT:
        raise ValueError(
            f"the socket {LONGEST_SOCKET} in it would have a path of {length} bytes, the system allows "
            f"{SOCKET_PATH_LIMIT}; set --runtime-dir or HOLDFAST_RUNTIME_DIR to a shorter folder"
        )
    return path


def expanded(text: str) -> Path:
    """The path with `~` replaced by the home folder. Raises ValueError if the user after `~` is unknown."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ValueError("names the home folder of an unknown user") from None


def _path(base: ValueWithOrigin) -> Path:
    assert isinstance(base.value, Path)
    return base.value


def _of_project(base: ValueWithOrigin, project: Project) -> ValueWithOrigin:
    """The folder of a project below the base. If systemd named the base, the base itself, because it belongs to one
    service only."""
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
    """The home folder. A user without one (a bare uid in a container) gets /var/lib; an error about a missing
    permission then names this folder."""
    if environ.get("HOME"):
        return Path(environ["HOME"])
    try:
        return Path.home()
    except RuntimeError:
        return Path("/var/lib")


# The pools that run on this machine: those of the user's projects, and services of systemd.

SERVICES = Path("/run")  # the folder in which systemd makes runtime folders


@dataclass(frozen=True, slots=True)
class RunningPool:
    """A running pool, by its runtime folder. `project`: its project; None for a service of systemd."""

    runtime_dir: Path
    project: Project | None = None

    def __str__(self) -> str:
        return f"{self.project.path} in {self.runtime_dir}" if self.project else str(self.runtime_dir)


def of_user(environ: Mapping[str, str] = os.environ) -> Iterator[RunningPool]:
    """Yield the running pools of this user's projects, ordered by their folders. Yields none if another user could
    change the folder of all projects."""
    base = runtime_base(environ)
    shared = Path(str(base.value))
    if base.named or not is_trusted(ServiceFolder(shared, named=False, flag="--runtime-dir")):
        return
    for folder in folders_below(shared, "*"):
        if listens(folder / CONTROL_SOCKET):
            yield RunningPool(folder, noted(folder))


def pool_services(run: Path = SERVICES) -> list[RunningPool]:
    """The services of systemd that have a runtime folder. A user without rights can list these folders, but not connect
    to the pools in them."""
    return [RunningPool(folder) for folder in folders_below(run, "holdfast*")]


def in_brackets(but: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The running pools in brackets, as the end of a message. `but`: the pool of this runtime folder is left out. Empty
    if there are no others."""
    found = [str(pool) for pool in (*of_user(environ), *pool_services()) if pool.runtime_dir != but]
    return f" (there is {', and '.join(found)})" if found else ""


def folders_below(folder: Path, pattern: str) -> list[Path]:
    """The folders directly below this one that match the pattern. Empty if the folder is missing or may not be
    searched."""
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_dir())
    except OSError:  # this user may not search the folder
        return []
