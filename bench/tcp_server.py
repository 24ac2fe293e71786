"""A fresh server on a loopback port, as peers reach it, with nothing kept on disk."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection, socket
from typing import Any
from urllib.parse import urlsplit

import redis

from bench.waiting import until
from holdfastd.embedded import launch

LISTENS_WITHIN = 10.0  # seconds
_OWN = {"info", "ping"}  # commands that the measurement sends


@dataclass(frozen=True, slots=True)
class TcpServer:
    url: str
    client: Any

    def cpu_seconds(self) -> float:
        info = self.client.info("cpu")
        return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])

    def sent(self, seconds: float) -> int:
        """Commands that clients send from now on for so long; those that scripts make do not count."""
        address = urlsplit(self.url)
        with create_connection((address.hostname, address.port)) as monitor:
            monitor.sendall(b"MONITOR\r\n")
            seen = b"".join(_received(monitor, time.monotonic() + seconds))
        return sum(b" lua] " not in line for line in seen.split(b"\r\n") if line.startswith(b"+1"))

    def commands(self) -> int:
        """Calls so far, those that scripts make included."""
        info: dict[str, dict[str, int]] = self.client.info("commandstats")
        counted = {name.removeprefix("cmdstat_").split("|")[0]: call["calls"] for name, call in info.items()}
        return sum(calls for name, calls in counted.items() if name not in _OWN)


def _received(connection: socket, until: float) -> Iterator[bytes]:
    while (left := until - time.monotonic()) > 0:
        connection.settimeout(left)
        with suppress(TimeoutError):
            yield connection.recv(1 << 16)


def programs() -> dict[str, str]:
    """By name: redis-server where the host has one, and the bundled Valkey."""
    here = shutil.which("redis-server")
    bundled = str(launch.find().path)
    return {"Redis": here, "Valkey": bundled} if here else {"Valkey": bundled}


def version(program: str) -> str:
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return next(word for word in version.split() if word.startswith("v=")).removeprefix("v=")


@contextmanager
def tcp_server(place: Path, program: str) -> Generator[TcpServer]:
    port = _free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(place), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen([program, *options, "--logfile", str(place / "server.log")])
    try:
        with closing(redis.Redis(port=port)) as client:
            until(lambda: _answers(client), LISTENS_WITHIN, "the server answers")
            yield TcpServer(f"redis://127.0.0.1:{port}/0", client)
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(client: Any) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
