"""Where state and sockets live unless the user says: systemd's folders for the service, else the XDG ones."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from holdfast_config.origin import ValueWithOrigin

# The kernel's sun_path holds 108 bytes and a final NUL; no socket of ours has a longer name than this one.
SOCKET_PATH_LIMIT = 107
LONGEST_SOCKET = "control.sock"
ABOVE = 0o755


def state_dir(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The default state directory, and the variable it came from."""
    own = _of_service("STATE_DIRECTORY", environ) or _of_user("XDG_STATE_HOME", environ)
    return own or ValueWithOrigin(
        "the default state directory", _home(environ) / ".local" / "state" / "holdfast", named=False
    )


def runtime_dir(environ: Mapping[str, str] = os.environ) -> ValueWithOrigin:
    """The default runtime directory, and the variable it came from."""
    own = _of_service("RUNTIME_DIRECTORY", environ) or _of_user("XDG_RUNTIME_DIR", environ)
    usual = Path(tempfile.gettempdir(), f"holdfast-{os.getuid()}")
    return own or ValueWithOrigin("the default runtime directory", usual, named=False)


def make(path: Path, mode: int) -> None:
    """Create the folder with this mode, and what is missing above it, writable for the owner alone. OSError."""
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(ABOVE, exist_ok=True)
    path.mkdir(mode, exist_ok=True)


def check_runtime_dir(path: Path) -> Path:
    """The same path; ValueError when the kernel could not bind a socket in it."""
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
    """The XDG specification has relative paths ignored."""
    base = Path(environ.get(variable, ""))
    return ValueWithOrigin(variable, base / "holdfast", named=False) if base.is_absolute() else None


def _home(environ: Mapping[str, str]) -> Path:
    """A user without a home (a container's bare uid) gets a folder whose error will name it."""
    if environ.get("HOME"):
        return Path(environ["HOME"])
    try:
        return Path.home()
    except RuntimeError:
        return Path("/var/lib")
