"""A fresh server on a unix socket, with nothing kept on disk: the bundled one, if no other is named."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, socket

from bench.waiting import until
from holdfastd.embedded import launch


@contextmanager
def server(place: Path, program: str | None = None) -> Generator[str]:
    """Its URL."""
    path = place / "server.sock"
    options = ["--port", "0", "--unixsocket", str(path), "--dir", str(place), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen([program or launch.find().path, *options, "--logfile", str(place / "server.log")])
    try:
        until(lambda: _listens(path), 10.0, "the server listens")
        yield f"unix://{path}"
    finally:
        process.kill()
        process.wait()


def _listens(path: Path) -> bool:
    with socket(AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
