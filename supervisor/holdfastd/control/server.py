"""Serves the control socket from the parent's event loop.

In a turn of the loop each client gets one answer at most; equal requests share one answer. A client's next request is
read once its last answer is sent. So a client that sends endless requests, or does not read, blocks nobody; it only
costs a descriptor for a while. A request that this process fails at is the end of its client, and of nobody else.
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

# Decides which requests a user of the control socket may send: all for root and the service's user, some for its group.

ROOT = 0
NOBODY = -1
_CREDENTIALS = struct.Struct("3i")  # struct ucred: process, user, group
_MORE_VERBS = {"status": ("workers", "stop")}  # `workers --deaths` and `stop` begin with it


def peer(stream: socket.socket) -> int:
    """The user id of the connected process, from the kernel."""
    try:
        credentials = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:  # it is gone already
        return NOBODY
    return int(_CREDENTIALS.unpack(credentials)[1])


def owners_of() -> set[int]:
    """The users that may do everything: root and the service's user."""
    return {ROOT, os.geteuid()}


def denial(request: ControlRequest, user: int, group_verbs: Collection[str]) -> str:
    """The reason why this user may not send the request; empty if allowed. Only the owner and the group can connect."""
    verb = str(request.__struct_config__.tag)
    if user in owners_of() or any(each in group_verbs for each in (verb, *_MORE_VERBS.get(verb, ()))):
        return ""
    allowed = ", ".join(group_verbs) or "nothing"
    return f"{verb} is for root and the service's user; its group may: {allowed} (--control-group-verbs)"


# Decides who may stay connected to the control socket: each user has a share, and root and the owner have places kept.
#
# While there is room, everybody may connect as often as they like. Then the user with the most connections gives one up
# for a newcomer, an idle one, the oldest first. So no number of connections of one user keeps another out, and those
# who may only ask cannot keep out those who may order.

MOST_CLIENTS = 64
KEPT = 16  # for root and the service's user


@dataclass(slots=True)
class ControlClient:
    """`until`: the time at which it is dropped; None while it waits for the end of a stop or a reload. `user`: its user
    id."""

    lines: LineSocket
    until: float | None
    awaits: type[FinalAnswer] | None = None
    user: int = NOBODY

    @property
    def is_idle(self) -> bool:
        """False while it waits for the end of a stop or a reload."""
        return self.awaits is None


def has_room(clients: Sequence[ControlClient], user: int, owners: Collection[int]) -> bool:
    """True if this user can connect without ending another client. `owners`: root and the service's user."""
    if len(clients) >= MOST_CLIENTS:
        return False
    return user in owners or len(_strangers(clients, owners)) < MOST_CLIENTS - KEPT


def giving_way(clients: Sequence[ControlClient], user: int, owners: Collection[int]) -> ControlClient | None:
    """The client that gives way to a newcomer of this user; None if the newcomer is turned away. `clients` are in the
    order in which they came."""
    rivals = list(clients) if user in owners else _strangers(clients, owners)
    numbers = Counter(each.user for each in rivals)
    idle = [each for each in rivals if each.is_idle and (each.user == user or numbers[each.user] > numbers[user] + 1)]
    # Among those with the most connections the newcomer's own comes first.
    return max(idle, key=lambda each: (numbers[each.user], each.user == user), default=None)


def _strangers(clients: Sequence[ControlClient], owners: Collection[int]) -> list[ControlClient]:
    return [each for each in clients if each.user not in owners]


READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
LONGEST_REQUEST = 4096  # bytes
BACKLOG = 512  # clients that wait to be accepted
ACCEPTED_AT_ONCE = 8  # in a turn of the loop: each of them can ask before it has to give way to later ones
ACCEPT_PAUSE = 1.0  # seconds without looking for clients after none could be accepted
CLIENT_TIMEOUT = 10.0  # seconds for a client to ask, and to read its answer
FULL = "too many clients wait for a stop or a reload of this supervisor: try again when it has ended"

_log = structlog.get_logger("holdfast.parent")


class DescriptorWatcher(Protocol):
    """The part of the parent's selector that the server uses."""

    def watch(self, descriptor: int, callback: Callable[[], None], interest: int = ...) -> None: ...
    def forget(self, descriptor: int) -> None: ...


class ControlServer:
    """`answer` is called with each request and answers at once. `group_verbs`: requests that the service's group may
    send."""

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
        self._answers: dict[ControlRequest, tuple[Answer, bytes]] = {}  # of this turn
        self._now = 0.0
        self._accept_from = math.inf
        self._listener = _listen(path)
        watcher.watch(self._listener.fileno(), self._accept)

    def tick(self, now: float) -> None:
        """A turn has ended: drop clients that have exceeded their timeout, and send waiting lines to the others."""
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
        except BlockingIOError:  # nobody waits any more
            return None
        except OSError:  # gone again, or no descriptor is left: looking away for a moment keeps the loop from spinning
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
        """Drop a client that gives way to one of this user, if there is need; False if none does."""
        clients, owners = list(self._clients.values()), owners_of()
        if has_room(clients, user, owners):
            return True
        leaving = giving_way(clients, user, owners)
        if leaving is not None:
            self._drop(leaving)
        return leaving is not None

    def _watch(self, client: ControlClient, step: Callable[[ControlClient], None], interest: int = READ) -> None:
        """Take this step whenever the client's descriptor is ready."""

        def guarded() -> None:
            try:
                step(client)
            except Exception:
                _log.exception("a client of the control socket cannot be served: it is dropped", uid=client.user)
                self._drop(client)

        self._watcher.watch(client.lines.stream.fileno(), guarded, interest)

    def _serve(self, client: ControlClient) -> None:
        """Answer one request; the next one is read when that answer is sent."""
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
    """The answer for which the client waits after the first one."""
    match request:
        case protocol.AskStop():
            return StopResult
        case protocol.AskReload(wait=True):
            return ReloadResult
        case _:
            return None


def _listen(path: Path) -> socket.socket:
    """A listening socket for the owner and its group. A socket left by a killed supervisor is replaced (we hold the
    lock)."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listener = bound_to_path(path)
    listener.setblocking(False)
    listener.listen(BACKLOG)
    return listener
