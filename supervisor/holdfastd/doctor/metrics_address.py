"""The address of metrics: whether the running supervisor answers a scraper there, or a start could open it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from holdfast_config import Settings
from holdfast_config.addresses import ListenAddress, parse_listen
from holdfastd.control.listening_socket import ListenError, ListeningSocket
from holdfastd.doctor.finding import Check, Finding

ANSWER_TIMEOUT = 5.0  # seconds
EVERY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where to ask a server that listens on all

_ADDRESS = Check("metrics", "address")


@dataclass(frozen=True, slots=True)
class MetricsLook:
    """`address` empty: none is set. `status`: of the answer to a scraper, None if nobody answered; `reason`: why not,
    or why a start could not open it, with the `fix`. `running`: a supervisor runs here."""

    address: str
    running: bool = False
    status: int | None = None
    reason: str = ""
    fix: str = ""


def look(settings: Settings, *, running: bool) -> MetricsLook:
    """Asks for `/metrics` where a supervisor runs, else opens the address for a moment."""
    if settings.metrics is None:
        return MetricsLook("")
    address = parse_listen(settings.metrics)
    if not running:
        return MetricsLook(str(address), running, None, *_refused(address))
    if address.path is None and address.port == 0:
        return MetricsLook(str(address), running, reason="port 0 is another one at each start")
    try:
        return MetricsLook(str(address), running, _asked(address))
    except (OSError, HTTPException) as error:
        return MetricsLook(str(address), running, reason=str(error) or type(error).__name__)


def _refused(address: ListenAddress) -> tuple[str, str]:
    """The reason why a start could not open it, with its fix; empty if it could. Nothing is changed: a file in the way
    stays, also a socket that a killed supervisor has left."""
    if address.path is not None:
        return ("", "") if address.path.parent.is_dir() else ("its folder does not exist", "make it, or choose another")
    place = ListeningSocket(str(address))
    try:
        place.open()
    except ListenError as error:
        reason, _, fix = str(error).removeprefix(f"--metrics {address}: ").partition(": ")
        return reason, fix
    finally:
        place.close()
    return "", ""


def _asked(address: ListenAddress) -> int:
    connection = _Connection(address)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().status
    finally:
        connection.close()


class _Connection(HTTPConnection):
    """To a port or a unix socket."""

    def __init__(self, address: ListenAddress) -> None:
        super().__init__(EVERY_HOST.get(address.host, address.host), address.port, timeout=ANSWER_TIMEOUT)
        self._path = address.path

    def connect(self) -> None:
        if self._path is None:
            super().connect()
            return
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_TIMEOUT)
        self.sock.connect(str(self._path))


def judge(seen: MetricsLook) -> Iterator[Finding]:
    if not seen.address:
        yield _ADDRESS.ok("not used: --metrics is not set")
    elif not seen.running and seen.reason:
        yield _ADDRESS.problem(f"--metrics {seen.address}: {seen.reason}", seen.fix)
    elif not seen.running:
        yield _ADDRESS.ok(f"{seen.address} is free")
    elif seen.status == 200:
        yield _ADDRESS.ok(f"{seen.address} answers")
    elif seen.status is not None:
        yield _ADDRESS.warning(f"{seen.address} answers with status {seen.status}", _FIX)
    elif seen.address.endswith(":0"):
        yield _ADDRESS.note(
            f"{seen.address} is not asked: {seen.reason}", "the log of its start names the port; choose a fixed one"
        )
    else:
        yield _ADDRESS.warning(f"{seen.address} does not answer: {seen.reason}", _FIX)


_FIX = "check that the supervisor was started with this --metrics, and supervisor status: its steward must run"
