"""The control socket, served by the parent's own loop.

In a turn of the loop each client gets one answer at most, and clients that ask the same get the same one, made once.
The next request of a client is read when its last answer is sent. So a client that asks without end, or does not read,
holds up nobody; one that stalls costs a descriptor for a while.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from holdfastd.control import permissions
from holdfastd.control.line_socket import LineSocket
from holdfastd.control.protocol import (
    Answer,
    AskReload,
    AskStop,
    Last,
    Refused,
    ReloadAnswer,
    Request,
    StopProgress,
    decode_request,
    encode,
)

WRITE = selectors.EVENT_WRITE
LONGEST_REQUEST = 4096  # bytes
MOST_UNSENT = 16 << 20  # bytes: the status of many workers
MOST_CLIENTS = 64
DEAF = 1.0  # seconds without looking for clients after none could be accepted
PATIENCE = 10.0  # seconds for a client to ask, and to read its answer


class StopWatcher(Protocol):
    """The loop the server lives in."""

    def watch(self, descriptor: int, callback: Callable[[], None], interest: int = ...) -> None: ...
    def forget(self, descriptor: int) -> None: ...


@dataclass(slots=True)
class ControlClient:
    """`until`: when it is dropped, None while it waits for an end: of the service (Stopped) or a reload (Reloaded).
    `user`: its number."""

    lines: LineSocket
    until: float | None
    awaits: type[Last] | None = None
    user: int = permissions.NOBODY


class ControlServer:
    """`answer` is called with each request and answers at once. `group_verbs`: what the service's group may ask for."""

    def __init__(
        self, path: Path, loop: StopWatcher, answer: Callable[[Request], Answer], group_verbs: Collection[str] = ()
    ) -> None:
        self._path = path
        self._loop = loop
        self._answer = answer
        self._group_verbs = group_verbs
        self._clients: dict[int, ControlClient] = {}
        self._answers: dict[Request, tuple[Answer, bytes]] = {}  # of this turn
        self._now = 0.0
        self._deaf_until = math.inf
        self._listener = _listen(path)
        loop.watch(self._listener.fileno(), self._accept)

    def tick(self, now: float) -> None:
        """A turn has ended: drop whoever has kept us waiting; go on sending to the others."""
        self._now = now
        self._answers.clear()
        if now >= self._deaf_until:
            self._loop.watch(self._listener.fileno(), self._accept)
            self._deaf_until = math.inf
        for client in list(self._clients.values()):
            client.lines.flush()
            if client.until is not None and now > client.until:
                self._drop(client)

    def tell(self, end: ReloadAnswer) -> None:
        """Whoever waited for this is told."""
        for client in self._clients.values():
            if client.awaits is type(end):
                client.awaits, client.until = None, self._now + PATIENCE
                client.lines.send(encode(end))

    def close(self, code: int | None) -> None:
        """Stop listening, and let those go who waited for the end: it came with this exit status, or with none."""
        self._path.unlink(missing_ok=True)
        for client in list(self._clients.values()):
            if client.awaits is StopProgress and code is not None:
                client.lines.send(encode(StopProgress(code)))
            client.lines.flush()
            self._drop(client)
        self._loop.forget(self._listener.fileno())
        self._listener.close()

    def _accept(self) -> None:
        try:
            stream, _ = self._listener.accept()
        except OSError:  # gone again, or no descriptor is left: looking away for a moment keeps the loop from spinning
            self._loop.forget(self._listener.fileno())
            self._deaf_until = self._now + DEAF
            return
        if len(self._clients) >= MOST_CLIENTS:
            stream.close()
            return
        client = ControlClient(
            LineSocket(stream, LONGEST_REQUEST, MOST_UNSENT), self._now + PATIENCE, user=permissions.peer(stream)
        )
        self._clients[stream.fileno()] = client
        self._loop.watch(stream.fileno(), lambda: self._serve(client))

    def _serve(self, client: ControlClient) -> None:
        """Answer one request; the next one after that answer is sent."""
        line = client.lines.receive_one()
        if line is not None:
            self._respond(client, line)
        if client.lines.ended or client.lines.overrun:
            self._drop(client)
        elif client.lines.is_pending:
            self._loop.watch(client.lines.stream.fileno(), lambda: self._send_on(client), WRITE)

    def _send_on(self, client: ControlClient) -> None:
        client.lines.flush()
        if not client.lines.is_pending:
            self._loop.watch(client.lines.stream.fileno(), lambda: self._serve(client))

    def _respond(self, client: ControlClient, line: bytes) -> None:
        try:
            request = decode_request(line)
        except msgspec.DecodeError as error:
            client.lines.send(encode(Refused(f"not a request: {error}")))
            return
        if why_not := permissions.denial(request, client.user, self._group_verbs):
            client.lines.send(encode(Refused(why_not, denied=True)))
            return
        answer, line = self._answered(request)
        client.awaits = _end_of(request) if answer.ok else None
        client.until = None if client.awaits is not None else self._now + PATIENCE
        client.lines.send(line)

    def _answered(self, request: Request) -> tuple[Answer, bytes]:
        if request not in self._answers:
            answer = self._answer(request)
            self._answers[request] = answer, encode(answer)
        return self._answers[request]

    def _drop(self, client: ControlClient) -> None:
        descriptor = client.lines.stream.fileno()
        self._loop.forget(descriptor)
        self._clients.pop(descriptor, None)
        client.lines.close()


def _end_of(request: Request) -> type[Last] | None:
    """What its client waits for after the first answer."""
    match request:
        case AskStop():
            return StopProgress
        case AskReload(wait=True):
            return ReloadAnswer
        case _:
            return None


def _listen(path: Path) -> socket.socket:
    """A socket for the owner and its group; what a killed predecessor left is replaced (the lock is ours)."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    listener.setblocking(False)
    before = os.umask(0o117)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    listener.listen(MOST_CLIENTS)
    return listener
