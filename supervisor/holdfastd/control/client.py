"""Sends the requests of commands to a supervisor, which is found by its runtime folder. The calls block, but every wait
has a timeout."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
import msgspec

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.exits import Exit
from holdfast_config import service_folders
from holdfastd.control import socket_protocol as protocol
from holdfastd.control.socket_protocol import LONGEST_ANSWER, Ask, ControlError, FirstAnswer, SupervisorStatus, encode

ANSWER_TIMEOUT = 10.0  # seconds for an answer: the parent answers at once unless a signal has stopped it
CHUNK = 1 << 20  # bytes

_CLOSED = "the supervisor closed the connection without an answer: it may be ending, or has too many clients"

_FIRST_ANSWERS: dict[type[Ask[Any]], type[Any]] = {
    protocol.AskStatus: SupervisorStatus,
    protocol.AskScale: protocol.Scaled,
    protocol.AskStacks: protocol.StacksOrdered,
    protocol.AskReload: protocol.Begun,
    protocol.AskStop: protocol.Begun,
}

T = TypeVar("T")


class AnswerStatus(msgspec.Struct, frozen=True):
    """The field that every answer has."""

    ok: bool


def ask(runtime_dir: Path, request: Ask[FirstAnswer], timeout: float = ANSWER_TIMEOUT) -> FirstAnswer:
    """The supervisor's answer to this request. Raises NotRunningError if no supervisor listens there, ControlError if
    it refuses the request or does not answer within `timeout` seconds."""
    with _connection(runtime_dir, timeout) as stream:
        stream.sendall(encode(request))
        line = _Answers(stream).first(timeout)
    kind: type[FirstAnswer] = _FIRST_ANSWERS[type(request)]
    return _read(line, kind)


def stop(runtime_dir: Path, wait: float | None, *, now: bool = False) -> int | None:
    """Ask the supervisor to stop, and wait at most `wait` seconds until it has ended (None: without limit). `now`: the
    supervisor cancels its tasks.

    Returns the supervisor's exit status; None if it has not ended within this time. A supervisor that ends without an
    answer was killed; then the status of a failure is returned. Raises the errors of `ask`.
    """
    last = _end_of(runtime_dir, protocol.AskStop(now), wait)
    if last is None:
        return None
    return _read(last, protocol.StopResult).code if last else Exit.FAILED


def reload(runtime_dir: Path, wait: float | None) -> protocol.ReloadResult | None:
    """Ask the supervisor to reload, and wait at most `wait` seconds for the result (None: without limit).

    Returns the result; None if the reload has not ended within this time. Raises the errors of `ask`, and ControlError
    if the supervisor ends first.
    """
    last = _end_of(runtime_dir, protocol.AskReload(wait=True), wait)
    if last is None:
        return None
    if not last:
        raise ControlError("the supervisor has ended before the reload was over")
    return _read(last, protocol.ReloadResult)


def _end_of(runtime_dir: Path, request: Ask[protocol.Begun], wait: float | None) -> bytes | None:
    """The second and last answer to a request whose first answer confirms it. None if it does not come within `wait`
    seconds; empty if the connection ends without it."""
    with _connection(runtime_dir, ANSWER_TIMEOUT) as stream:
        stream.sendall(encode(request))
        answers = _Answers(stream)
        _read(answers.first(ANSWER_TIMEOUT), protocol.Begun)
        try:
            return answers.next(wait)
        except TimeoutError:
            return None
        except ConnectionError:
            return b""


@contextmanager
def _connection(runtime_dir: Path, timeout: float) -> Generator[socket.socket]:
    path = runtime_dir / protocol.CONTROL_SOCKET
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(timeout)
        try:
            stream.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            others = service_folders.in_brackets(runtime_dir)
            raise protocol.NotRunningError(
                f"no supervisor runs in {runtime_dir}: start one, or name its --runtime-dir{others}"
            ) from error
        except PermissionError as error:
            raise PermissionError(error.errno, error.strerror, str(path)) from error
        except (BlockingIOError, TimeoutError) as error:
            raise ControlError(
                f"the supervisor in {runtime_dir} runs but does not answer: is it suspended (SIGSTOP)?"
            ) from error
        try:
            yield stream
        except TimeoutError as error:
            raise ControlError(f"the supervisor in {runtime_dir} did not answer within {timeout:g} s") from error
        except ConnectionError as error:
            raise ControlError(_CLOSED) from error


class _Answers:
    """The answers on a connection, one on each line. They are not trusted, because the process that listens on the
    socket may belong to another user."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._received = b""

    def first(self, within: float) -> bytes:
        """The first answer to a request. Raises ControlError if the connection ends without it; also raises the errors
        of `next`."""
        line = self.next(within)
        if not line:
            raise ControlError(_CLOSED)
        return line

    def next(self, within: float | None) -> bytes:
        """The next answer; empty if the connection ends without it. Raises TimeoutError, ConnectionError; ControlError
        if the answer is too long."""
        until = math.inf if within is None else time.monotonic() + within
        while b"\n" not in self._received:
            if len(self._received) > LONGEST_ANSWER:
                raise ControlError(f"the supervisor's answer is longer than {LONGEST_ANSWER} bytes")
            if not (part := self._receive(until)):
                return b""
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _receive(self, until: float) -> bytes:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._stream.settimeout(None if math.isinf(left) else left)
        return self._stream.recv(CHUNK)


def _read(line: bytes, kind: type[T]) -> T:
    try:
        if not msgspec.json.decode(line, type=AnswerStatus).ok:
            refused = msgspec.json.decode(line, type=protocol.Refused)
            raise protocol.DeniedError(refused.error) if refused.denied else ControlError(refused.error)
        return msgspec.json.decode(line, type=kind)
    except UNREADABLE_JSON as error:
        raise ControlError(f"the supervisor's answer cannot be read ({error}): is it of another version?") from error


# Asks a supervisor for its status from an event loop, for callers that need no answer to go on.


async def status_or_none(runtime_dir: Path, timeout: float) -> SupervisorStatus | None:
    """The status of the supervisor of this runtime folder. None if no supervisor runs there, if this user may not ask
    it, or if it does not answer within `timeout` seconds."""
    try:
        return await anyio.to_thread.run_sync(ask, runtime_dir, protocol.AskStatus(), timeout, abandon_on_cancel=True)
    except (ControlError, OSError):
        return None
