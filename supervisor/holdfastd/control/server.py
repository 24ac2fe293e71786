"""Serves the control socket from the parent's event loop.

In one turn of the loop a client gets at most one answer, and equal requests share one answer. The server reads a
client's next request only when it has sent the answer to the last one. So a client that sends endless requests, or does
not read, blocks nobody. It only costs a descriptor for a while. If a request causes an error here, only the client that
sent it is dropped.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import socket
import struct
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfastd.control import socket_protocol as protocol
from holdfastd.control.listening_socket import LineSocket, bound_to_path
from holdfastd.control.socket_protocol import (
    Answer,
    ControlRequest,
    FinalAnswer,
    Refused,
    ReloadResult,
    StopResult,
    encode,
)

# Decides which requests a user may send: root and the service's user all, members of the service's group some.

ROOT = 0
NOBODY = -1
_CREDENTIALS = struct.Struct("3i")  # struct ucred: process, user, group
_MORE_VERBS = {"status": ("workers", "stop")}  # the commands `workers --deaths` and `stop` first send a status request


def peer(stream: socket.socket) -> int:
    """The user id of the connected process, as the kernel tells it."""
    try:
        credentials = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:  # the process is gone already
        return NOBODY
    return int(_CREDENTIALS.unpack(credentials)[1])


def owners_of() -> set[int]:
    """The ids of the users that may send all requests: root and the service's user."""
    return {ROOT, os.geteuid()}


def denial(request: ControlRequest, user: int, group_verbs: Collection[str]) -> str:
    """The reason why this user may not send the request; empty if it may. Other users than the owner and its group
    cannot connect at all."""
    verb = str(request.__struct_config__.tag)
    if user in owners_of() or any(each in group_verbs for each in (verb, *_MORE_VERBS.get(verb, ()))):
        return ""
    allowed = ", ".join(group_verbs) or "nothing"
    return f"{verb} is for root and the service's user; the service's group may: {allowed} (--control-group-verbs)"


# Decides which clients may stay connected to the control socket if there are too many.
#
# While there is room, a user may connect as often as it likes. After that, a new connection ends the oldest idle
# connection of the user with the most connections. So no user can keep another one out. KEPT places are only for root
# and the service's user, so that the group cannot keep these two out.

MOST_CLIENTS = 64
KEPT = 16  # places for root and the service's user


@dataclass(slots=True)
class ControlClient:
    """One client. `until`: the time at which it is dropped; None while it waits for the end of a stop or a reload.
    `awaits`: the type of the answer for which it then waits. `user`: its user id."""

    lines: LineSocket
    until: float | None
    awaits: type[FinalAnswer] | None = None
    user: int = NOBODY

    @property
    def is_idle(self) -> bool:
        """False while the client waits for the end of a stop or a reload."""
        return self.awaits is None


def has_room(clients: Sequence[ControlClient], user: int, owners: Collection[int]) -> bool:
    """True if this user can connect without ending another client. `owners`: root and the service's user."""
    if len(clients) >= MOST_CLIENTS:
        return False
    return user in owners or len(_strangers(clients, owners)) < MOST_CLIENTS - KEPT


def giving_way(clients: Sequence[ControlClient], user: int, owners: Collection[int]) -> ControlClient | None:
    """The client to end for a new client of this user; None if the new client must be turned away. `clients`: in the
    order in which they connected."""
    rivals = list(clients) if user in owners else _strangers(clients, owners)
    numbers = Counter(each.user for each in rivals)
    idle = [each for each in rivals if each.is_idle and (each.user == user or numbers[each.user] > numbers[user] + 1)]
    # If several users have the most connections, the new client's own user loses one first.
    return max(idle, key=lambda each: (numbers[each.user], each.user == user), default=None)


def _strangers(clients: Sequence[ControlClient], owners: Collection[int]) -> list[ControlClient]:
    return [each for each in clients if each.user not in owners]


READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
LONGEST_REQUEST = 4096  # bytes
BACKLOG = 512  # clients that wait to be accepted
ACCEPTED_AT_ONCE = 8  # clients accepted in a turn of the loop, so that they can ask before later ones end them
ACCEPT_PAUSE = 1.0  # seconds without accepting clients after an error of the accept
CLIENT_TIMEOUT = 10.0  # seconds that a client has to send a request, and to read its answer
FULL = "too many clients wait for a stop or a reload of this supervisor: try again when it has ended"

_log = structlog.get_logger("holdfast.parent")


class DescriptorWatcher(Protocol):
    """The part of CallbackSelector that the server uses."""

    def watch(self, descriptor: int, callback: Callable[[], None], interest: int = ...) -> None: ...
    def forget(self, descriptor: int) -> None: ...


class ControlServer:
    """The server of the control socket. `answer` makes the answer to a request, without waiting. `group_verbs`: the
    requests that members of the service's group may send."""

    def __init__(
        self,
        path: Path,
        watcher: DescriptorWatcher,
        answer: Callable[[ControlRequest], Answer],
        group_verbs: Collection[str] = (),
    ) -> None:
        self._path = path
        self._watcher = watcher
        self._answer = answer
        self._group_verbs = group_verbs
        self._clients: dict[int, ControlClient] = {}
        self._answers: dict[ControlRequest, tuple[Answer, bytes]] = {}  # the answers of this turn
        self._now = 0.0
        self._accept_from = math.inf
        self._listener = _listen(path)
        watcher.watch(self._listener.fileno(), self._accept)

    def tick(self, now: float) -> None:
        """End a turn: drop clients whose timeout is over, and send waiting lines to the others."""
        self._now = now
        self._answers.clear()
        if now >= self._accept_from:
            self._watcher.watch(self._listener.fileno(), self._accept)
            self._accept_from = math.inf
        for client in list(self._clients.values()):
            client.lines.flush()
            if client.until is not None and now > client.until:
                self._drop(client)

    def answer_waiting(self, end: ReloadResult) -> None:
        """Send this result to all clients that wait for it."""
        for client in self._clients.values():
            if client.awaits is type(end):
                client.awaits, client.until = None, self._now + CLIENT_TIMEOUT
                client.lines.send(encode(end))

    def close(self, code: int | None) -> None:
        """Stop listening. Clients that wait for the end of the service get its exit status, if there is one."""
        self._path.unlink(missing_ok=True)
        for client in list(self._clients.values()):
            if client.awaits is StopResult and code is not None:
                client.lines.send(encode(StopResult(code)))
            client.lines.flush()
            self._drop(client)
        self._watcher.forget(self._listener.fileno())
        self._listener.close()

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            stream = self._next_stream()
            if stream is None:
                return
            self._admit(stream)

    def _next_stream(self) -> socket.socket | None:
        try:
            return self._listener.accept()[0]
        except BlockingIOError:  # no client waits any more
            return None
        except OSError:  # the client is gone, or no descriptor is left: a pause keeps the loop from spinning
            self._watcher.forget(self._listener.fileno())
            self._accept_from = self._now + ACCEPT_PAUSE
            return None

    def _admit(self, stream: socket.socket) -> None:
        lines, user = LineSocket(stream, LONGEST_REQUEST, protocol.LONGEST_ANSWER), peer(stream)
        if not self._make_room(user):
            lines.send(encode(Refused(FULL)))
            lines.close()
            return
        client = ControlClient(lines, self._now + CLIENT_TIMEOUT, user=user)
        self._clients[stream.fileno()] = client
        self._watch(client, self._serve)

    def _make_room(self, user: int) -> bool:
        """If there is no room for a client of this user, drop another client. False if none can be dropped."""
        clients, owners = list(self._clients.values()), owners_of()
        if has_room(clients, user, owners):
            return True
        leaving = giving_way(clients, user, owners)
        if leaving is not None:
            self._drop(leaving)
        return leaving is not None

    def _watch(self, client: ControlClient, step: Callable[[ControlClient], None], interest: int = READ) -> None:
        """Call `step` whenever the client's descriptor is ready."""

        def guarded() -> None:
            try:
                step(client)
            except Exception:
                _log.exception("a client of the control socket cannot be served: it is dropped", uid=client.user)
                self._drop(client)

        self._watcher.watch(client.lines.stream.fileno(), guarded, interest)

    def _serve(self, client: ControlClient) -> None:
        """Answer one request. The next request is read when this answer is sent."""
        line = client.lines.receive_one()
        if line is not None:
            self._respond(client, line)
        if client.lines.ended or client.lines.overrun:
            self._drop(client)
        elif client.lines.is_pending:
            self._watch(client, self._send_on, WRITE)

    def _send_on(self, client: ControlClient) -> None:
        client.lines.flush()
        if not client.lines.is_pending:
            self._watch(client, self._serve)

    def _respond(self, client: ControlClient, line: bytes) -> None:
        try:
            request = protocol.decode_request(line)
        except UNREADABLE_JSON as error:
            client.lines.send(encode(Refused(f"not a request: {error}")))
            return
        if why_not := denial(request, client.user, self._group_verbs):
            _log.warning("a request on the control socket is refused", uid=client.user, reason=why_not)
            client.lines.send(encode(Refused(why_not, denied=True)))
            return
        answer, line = self._answered(request)
        client.awaits = _end_of(request) if answer.ok else None
        client.until = None if client.awaits is not None else self._now + CLIENT_TIMEOUT
        client.lines.send(line)

    def _answered(self, request: ControlRequest) -> tuple[Answer, bytes]:
        if request not in self._answers:
            answer = self._answer(request)
            self._answers[request] = answer, encode(answer)
        return self._answers[request]

    def _drop(self, client: ControlClient) -> None:
        descriptor = client.lines.stream.fileno()
        self._watcher.forget(descriptor)
        self._clients.pop(descriptor, None)
        client.lines.close()


def _end_of(request: ControlRequest) -> type[FinalAnswer] | None:
    """The type of the second answer, for which the client waits; None if the request has only one answer."""
    match request:
        case protocol.AskStop():
            return StopResult
        case protocol.AskReload(wait=True):
            return ReloadResult
        case _:
            return None


def _listen(path: Path) -> socket.socket:
    """A listening socket to which the owner and its group may connect. It replaces a socket that a killed supervisor
    has left; no living one can be there, because this process holds the lock of the folder."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listener = bound_to_path(path)
    listener.setblocking(False)
    listener.listen(BACKLOG)
    return listener
