"""A socket on which a child serves HTTP. The supervisor opens it before its first fork and keeps it open. So a port
that is in use ends the start at once, and a new child goes on with the same socket.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfast_config.addresses import LISTEN_UNIX, ListenAddress, parse_listen
from holdfastd.core.commands import Announce

BACKLOG = 2048  # clients that may wait to be accepted, also while no child lives; the kernel may allow fewer

_MEND = {
    errno.EADDRINUSE: (Exit.CONFIG, "another process uses it: end that process, or choose another port (0: any free)"),
    errno.EADDRNOTAVAIL: (Exit.CONFIG, "this host has no such address: choose one of its own, or 0.0.0.0 for all"),
    errno.EACCES: (Exit.PERMISSION, "this user may not open it: choose a port from 1024 on, or a folder of its own"),
    errno.ENOENT: (Exit.CONFIG, "the folder of the socket does not exist: make the folder, or choose another"),
}
_OTHER = (Exit.CONFIG, "choose another address")
_IN_THE_WAY = (Exit.CONFIG, "a file that is no socket has this path: remove the file, or choose another path")
_LIVE = (Exit.CONFIG, "another process listens on it: end that process, or choose another path")


class ListenError(HoldfastError):
    """The supervisor cannot listen at this address. `code`: the exit status of the service."""

    def __init__(self, service: ServedService, address: str, why: str, end: tuple[Exit, str]) -> None:
        self.code, mend = end
        super().__init__(f"{service.option} {address}: {why}: {mend}")


@dataclass(frozen=True, slots=True)
class ServedService:
    """A service that is served over HTTP. `name`: its name in announcements; `option`: the option that sets the
    address; `path`: the path of its first page."""

    name: str
    option: str
    path: str


METRICS = ServedService("metrics", "--metrics", "/metrics")
DASHBOARD = ServedService("dashboard", "--web", "/")


class ListeningSocket:
    """The socket of one service. `address`: the address in the settings; None: the service is off, and nothing is
    opened. With `has_tls` the announced URL begins with https."""

    def __init__(self, address: str | None = None, service: ServedService = METRICS, *, has_tls: bool = False) -> None:
        self._scheme = "https" if has_tls else "http"
        self._address = None if address is None else parse_listen(address)
        self._service = service
        self.listener: socket.socket | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that the child must keep open."""
        return () if self.listener is None else (self.listener.fileno(),)

    @contextmanager
    def opened(self, announce: Announce) -> Generator[socket.socket | None]:
        """A context manager that listens while its block runs, and announces the URL. Raises ListenError."""
        if url := self.open():
            announce(f"{self._service.name} at {url}")
        try:
            yield self.listener
        finally:
            self.close()

    def open(self) -> str:
        """Start to listen. Returns the URL for people, with the actual port; empty if nothing is served. Raises
        ListenError."""
        if self._address is None:
            return ""
        try:
            self.listener = self._bound(self._address)
        except OSError as error:
            known = _MEND.get(error.errno or 0, _OTHER)
            raise self._error(error.strerror or str(error), known) from None
        self.listener.listen(BACKLOG)
        self.listener.setblocking(False)
        return self._shown(self._address, self.listener)

    def close(self) -> None:
        """Stop to listen, and remove the file of a unix socket."""
        if self.listener is None or self._address is None:
            return
        self.listener.close()
        self.listener = None
        if self._address.path is not None:
            self._address.path.unlink(missing_ok=True)

    def _bound(self, address: ListenAddress) -> socket.socket:
        if address.path is not None:
            return self._bound_to_path(address.path)
        [(family, kind, number, _, place), *_] = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return _opened(socket.socket(family, kind, number), place)

    def _bound_to_path(self, path: Path) -> socket.socket:
        """A unix socket with the permissions of the control socket. It replaces the file that a killed supervisor has
        left."""
        if path.is_socket():
            if _is_live(path):
                raise self._error(os.strerror(errno.EADDRINUSE), _LIVE)
            path.unlink()
        elif path.exists():
            raise self._error(os.strerror(errno.EEXIST), _IN_THE_WAY)
        return bound_to_path(path)

    def _error(self, why: str, end: tuple[Exit, str]) -> ListenError:
        return ListenError(self._service, str(self._address), why, end)

    def _shown(self, address: ListenAddress, listener: socket.socket) -> str:
        if address.path is not None:
            return f"{LISTEN_UNIX}{address.path}"
        host, port = listener.getsockname()[:2]
        return f"{self._scheme}://{f'[{host}]' if ':' in host else host}:{port}{self._service.path}"


def bound_to_path(path: Path) -> socket.socket:
    """A unix socket at this path, to which the owner and its group may connect."""
    before = os.umask(0o117)
    try:
        return _opened(socket.socket(socket.AF_UNIX), str(path))
    finally:
        os.umask(before)


def _opened(listener: socket.socket, place: object) -> socket.socket:
    try:
        if listener.family != socket.AF_UNIX:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)  # type: ignore[arg-type]  # an address in the form of getaddrinfo
    except OSError:
        listener.close()
        raise
    return listener


def _is_live(path: Path) -> bool:
    """True if a process listens on the socket. Connecting to a unix socket never waits."""
    with socket.socket(socket.AF_UNIX) as trial, contextlib.suppress(ConnectionRefusedError):
        trial.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            trial.connect(str(path))
        return True
    return False


# A non-blocking stream socket that carries lines. Limits in both directions keep a peer from blocking the parent or
# filling its memory.

CHUNK = 1 << 16
READS = 16  # chunks read in one call, so that the others need not wait for a peer that sends much


class LineSocket:
    """One connection. `ended`: the peer will send no more. `overrun`: the peer has sent a line longer than `longest`
    bytes, which was dropped. At most `most_unsent` bytes wait to be sent."""

    def __init__(self, stream: socket.socket, longest: int, most_unsent: int) -> None:
        stream.setblocking(False)
        self.stream = stream
        self.ended = False
        self.overrun = False
        self._longest = longest
        self._most_unsent = most_unsent
        self._partial = b""
        self._unsent = bytearray()

    @property
    def is_pending(self) -> bool:
        """True if lines wait to be sent, because the peer does not read."""
        return bool(self._unsent)

    def receive(self) -> list[bytes]:
        """Read the complete lines that have arrived, without their line ends. This never waits."""
        lines: list[bytes] = []
        for _ in range(READS):
            chunk = self._chunk()
            if not chunk:
                break
            *whole, self._partial = (self._partial + chunk).split(b"\n")
            lines += whole
            self._bound()
        return lines

    def receive_one(self) -> bytes | None:
        """Read the first complete line, without its line end; None if there is none yet. This never waits. Further
        lines stay in the socket, so that the loop finds the descriptor ready again."""
        text, end, _ = self._chunk(flags=socket.MSG_PEEK).partition(b"\n")
        if text or end:
            self._chunk(len(text + end))
        self._partial += text
        self._bound()
        if not end or self.overrun:
            return None
        line, self._partial = self._partial, b""
        return line

    def send(self, line: bytes) -> bool:
        """Send a line, or keep it until the peer reads. False if too many bytes wait already; the line is then
        dropped."""
        if len(self._unsent) + len(line) > self._most_unsent:
            return False
        self._unsent += line
        self.flush()
        return True

    def flush(self) -> None:
        """Send waiting lines, until the peer takes no more."""
        try:
            while self._unsent:
                del self._unsent[: self.stream.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # the peer is gone
            self._unsent.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.stream.close()

    def _chunk(self, size: int = CHUNK, flags: int = 0) -> bytes:
        try:
            chunk = self.stream.recv(size, flags)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        self.ended = self.ended or not chunk
        return chunk

    def _bound(self) -> None:
        if len(self._partial) > self._longest:
            self._partial = b""
            self.overrun = True
