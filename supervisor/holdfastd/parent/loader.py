"""Runs the loader process: it imports the handler once, and forks the workers, which share its memory.

A worker becomes a child of the supervisor's parent. The loader forks a middle process, which forks the worker and ends
at once. The kernel then gives the worker, an orphan, to the parent, because the parent is a subreaper. So the parent
sees the worker's death and reaps the worker, and a worker ends with the parent. A worker outlives the loader.
"""

from __future__ import annotations

import errno
import faulthandler
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, NoReturn

import msgspec
from msgspec import Meta

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.failures import summary
from holdfast.ipc.channel import Beat, BootFailed, FromChild, Ready, encode, until_next
from holdfast_config.standard_error import STREAM
from holdfastd.core.slots import ChildKind, Slot
from holdfastd.parent import child_setup, preload, received_signals
from holdfastd.parent.child_setup import ChildSetup
from holdfastd.parent.fork_hazards import thread_count
from holdfastd.parent.preload_handler import NotShareableError

# The parent's requests to the loader to fork a worker. A request is one message, with the worker's end of its channel.

ANSWER_TIMEOUT = 2.0  # seconds that the parent waits for an answer; then it ends the loader
LONGEST = 4096  # bytes of a message
MOST_PID = 1 << 22  # see PID_MAX_LIMIT in proc(5)
MOST_ERRNO = 4095


class ForkRequest(msgspec.Struct, frozen=True):
    """A request to fork a worker with this incarnation. `kind` and `number`: its slot."""

    incarnation: str
    kind: ChildKind
    number: Annotated[int, Meta(ge=0, le=1 << 31)]

    @property
    def slot(self) -> Slot:
        return Slot(self.kind, self.number)


class ForkAnswer(msgspec.Struct, frozen=True):
    """The answer to a request: the worker's pid, or the errno of the system call that failed."""

    pid: Annotated[int, Meta(ge=0, le=MOST_PID)] = 0
    errno: Annotated[int, Meta(ge=0, le=MOST_ERRNO)] = 0


class LoaderClient:
    """The parent's end of the connection to the loader. There is one loader at a time."""

    def __init__(self) -> None:
        self._ours: socket.socket | None = None

    def connect(self) -> socket.socket:
        """Open a new connection and close an earlier one. Returns the loader's end."""
        self.close()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(ANSWER_TIMEOUT)
        return theirs

    def fork(self, request: ForkRequest, channel: socket.socket) -> int:
        """Have the loader fork a worker; returns its pid. The worker is a child of this process. Raises OSError if
        there is no loader, it does not answer, or the fork failed."""
        if self._ours is None:
            raise ConnectionError("there is no loader")
        try:
            socket.send_fds(self._ours, [msgspec.json.encode(request)], [channel.fileno()])
            answer_request = msgspec.json.decode(self._ours.recv(LONGEST), type=ForkAnswer)
        except (OSError, *UNREADABLE_JSON) as error:
            self.close()  # otherwise a late answer would be taken for the answer to the next request
            raise ConnectionError(f"the loader does not answer: {error}") from error
        if answer_request.errno:
            raise OSError(answer_request.errno, os.strerror(answer_request.errno))
        return answer_request.pid

    def close(self) -> None:
        """Close the connection. A loader that waits for requests then ends."""
        if self._ours is not None:
            self._ours.close()
            self._ours = None


def receive_request(connection: socket.socket) -> tuple[ForkRequest, socket.socket] | ForkAnswer | None:
    """Receive the next request, with the worker's channel. Returns an error answer if the message is no request, and
    None if the parent has closed its end."""
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


def answer_request(connection: socket.socket, message: ForkAnswer) -> None:
    """Send the answer. If the parent is gone, the error is ignored."""
    with suppress(OSError):
        connection.send(msgspec.json.encode(message))


ADOPTION_POLL = 0.0002  # seconds between two looks for the new parent

MakeSetup = Callable[[ForkRequest, tuple[int, ...]], ChildSetup]


@dataclass(frozen=True, slots=True)
class Loader:
    """The process that imports the handler once and forks the workers. `load` imports the handler and returns the
    descriptors that workers keep open for it. `make_setup` makes a worker's setup from a request and these descriptors.
    """

    load: Callable[[], tuple[int, ...]]
    make_setup: MakeSetup
    requests: socket.socket

    def run(self, channel: socket.socket) -> int:
        """Import the handler, then fork workers until the parent asks this process to leave, or is gone. Returns the
        exit status."""
        faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
        channel.setblocking(False)
        try:
            descriptors = self.load()
        except BaseException as error:  # of the user's code: each worker will get the same error and report it
            code = ChildExit.NOT_SHAREABLE if isinstance(error, NotShareableError) else ChildExit.BOOT_FAILED
            known = isinstance(error, NotShareableError | HandlerError)
            _send(channel, BootFailed(code, str(error) if known else summary(error)))
            os._exit(code)  # skips the wait for threads that the import has started
        preload.freeze()
        _send(channel, Ready())
        return self._serve(channel, descriptors)

    def _serve(self, channel: socket.socket, descriptors: tuple[int, ...]) -> int:
        poll = select.poll()
        for listened in (channel, self.requests):
            poll.register(listened, select.POLLIN)
        while True:
            _send(channel, Beat())
            ready = {number for number, _ in poll.poll(until_next(time.monotonic()) * 1000)}
            if channel.fileno() in ready:  # the only message from a parent to a loader is the one to leave
                return ChildExit.OK if channel.recv(1) else ChildExit.ORPHANED
            if self.requests.fileno() in ready and not self._fork_next(descriptors):
                return ChildExit.OK

    def _fork_next(self, descriptors: tuple[int, ...]) -> bool:
        """Fork the worker of the next request. False if the parent has closed the connection."""
        received = receive_request(self.requests)
        if received is None:
            return False
        if isinstance(received, ForkAnswer):
            answer_request(self.requests, received)
            return True
        request, channel = received
        with channel:
            try:
                answer = ForkAnswer(pid=_fork_orphan(self.make_setup(request, descriptors), channel))
            except OSError as error:
                answer = ForkAnswer(errno=error.errno or 0)
        answer_request(self.requests, answer)
        return True


def _fork_orphan(setup: ChildSetup, channel: socket.socket) -> int:
    """Fork a worker that becomes a child of this process's parent; returns its pid. Raises OSError."""
    assert thread_count() == 1, "a thread in the loader would be half a thread in the worker"
    parent = os.getppid()
    reading, writing = os.pipe()
    try:
        with received_signals.blocked():
            middle = os.fork()
            if middle == 0:
                _fork_and_end(setup, channel, parent, writing)
        os.close(writing)
        number = int(os.read(reading, 32) or b"0")
        os.waitpid(middle, 0)  # once the middle process has ended, the worker is the parent's child
    finally:
        os.close(reading)
    if number <= 0:
        raise OSError(-number, os.strerror(-number))
    return number


def _fork_and_end(setup: ChildSetup, channel: socket.socket, parent: int, writing: int) -> NoReturn:
    """Fork the worker, then end this middle process, so that the worker becomes an orphan. Writes the worker's pid to
    the pipe `writing`, or the negative errno."""
    try:
        middle = os.getpid()
        pid = os.fork()
        if pid == 0:
            while os.getppid() == middle:
                time.sleep(ADOPTION_POLL)
            child_setup.run_and_leave(setup, channel, parent)
        os.write(writing, str(pid).encode())
    except OSError as error:
        os.write(writing, str(-(error.errno or 1)).encode())
    finally:
        os._exit(0)


def _send(channel: socket.socket, message: FromChild) -> None:
    with suppress(OSError):  # the parent does not read, or is gone
        channel.send(encode(message))
