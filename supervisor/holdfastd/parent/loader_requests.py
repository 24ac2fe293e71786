"""Requests of the parent to the loader to fork a worker. Each is one message, with the worker's end of its channel."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.core.json_errors import UNREADABLE_JSON
from holdfastd.core.slots import ChildKind, Slot

ANSWER_TIMEOUT = 2.0  # seconds; the parent waits this long at most, once: then it ends the loader
LONGEST = 4096  # bytes
MOST_PID = 1 << 22  # see PID_MAX_LIMIT in proc(5)
MOST_ERRNO = 4095


class ForkRequest(msgspec.Struct, frozen=True):
    """Fork a worker of this incarnation for this slot."""

    incarnation: str
    kind: ChildKind
    number: Annotated[int, Meta(ge=0, le=1 << 31)]

    @property
    def slot(self) -> Slot:
        return Slot(self.kind, self.number)


class ForkAnswer(msgspec.Struct, frozen=True):
    """The worker's pid, or the error of the system call that failed."""

    pid: Annotated[int, Meta(ge=0, le=MOST_PID)] = 0
    errno: Annotated[int, Meta(ge=0, le=MOST_ERRNO)] = 0


class LoaderClient:
    """The parent's end: one loader at a time."""

    def __init__(self) -> None:
        self._ours: socket.socket | None = None

    def connect(self) -> socket.socket:
        """The loader's end of a new connection. An earlier one is closed."""
        self.close()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(ANSWER_TIMEOUT)
        return theirs

    def fork(self, request: ForkRequest, channel: socket.socket) -> int:
        """The pid of the new worker, which is this process's child. Raises OSError: no loader, no answer, no fork."""
        if self._ours is None:
            raise ConnectionError("there is no loader")
        try:
            socket.send_fds(self._ours, [msgspec.json.encode(request)], [channel.fileno()])
            answer = msgspec.json.decode(self._ours.recv(LONGEST), type=ForkAnswer)
        except (OSError, *UNREADABLE_JSON) as error:
            self.close()  # a late answer would be taken for that of the next request
            raise ConnectionError(f"the loader does not answer: {error}") from error
        if answer.errno:
            raise OSError(answer.errno, os.strerror(answer.errno))
        return answer.pid

    def close(self) -> None:
        """End the connection; a loader that waits for requests ends then."""
        if self._ours is not None:
            self._ours.close()
            self._ours = None


def receive(connection: socket.socket) -> tuple[ForkRequest, socket.socket] | ForkAnswer | None:
    """The next request with the worker's channel; the answer to what is no request; None once the parent has closed its
    end."""
    data, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 1)
    if not data:
        return None
    try:
        request = msgspec.json.decode(data, type=ForkRequest)
        channel = socket.socket(fileno=descriptors.pop())
    except (IndexError, *UNREADABLE_JSON):
        for descriptor in descriptors:
            os.close(descriptor)
        return ForkAnswer(errno=errno.EBADMSG)
    channel.set_inheritable(False)
    return request, channel


def answer(connection: socket.socket, message: ForkAnswer) -> None:
    """Send the answer; a parent that is gone needs none."""
    with suppress(OSError):
        connection.send(msgspec.json.encode(message))
