"""The default folders of state and sockets: those of systemd for a service, else the XDG folders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from holdfast_config.origin import ValueWithOrigin

# The kernel's sun_path holds 108 bytes with a final NUL. No socket has a longer name than this one.
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET = "control.sock"
ABOVE = 0o755


def state_dir(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The default state directory, with the variable that it comes from."""
    own = _of_service("STATE_DIRECTORY", environ) or _of_user("XDG_STATE_HOME", environ)
    return own or ValueWithOrigin(
        "the default state directory", _home(environ) / ".local" / "state" / "holdfast", named=False
    )


def runtime_dir(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The default runtime directory, with the variable that it comes from."""
    own = _of_service("RUNTIME_DIRECTORY", environ) or _of_user("XDG_RUNTIME_DIR", environ)
    usual = Path(tempfile.gettempdir(), f"holdfast-{os.getuid()}")
    return own or ValueWithOrigin("the default runtime directory", usual, named=False)


def make(path: Path, mode: int) -> None:
    """Create the folder with this mode, and missing parents that only the owner can write. Raises OSError."""
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(ABOVE, exist_ok=True)
    path.mkdir(mode, exist_ok=True)


def check_runtime_dir(path: Path) -> Path:
    """Returns the path. Raises ValueError if it is too long to bind a socket in."""
    length = len(os.fsencode(path / LONGEST_SOCKET))
    if length > SOCKET_PATH_LIMIT:
        raise ValueError(
            f"the socket {LONGEST_SOCKET} in it would have a path of {length} bytes, the system allows "
            f"{SOCKET_PATH_LIMIT}; set --runtime-dir or HOLDFAST_RUNTIME_DIR to a shorter folder"
        )
    return path


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
