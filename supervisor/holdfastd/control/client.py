"""Sends requests to the supervisor of a runtime folder, for commands: blocking, with a timeout on every wait."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, overload

import msgspec

from holdfast.exits import Exit
from holdfast_config import running_pools
from holdfastd.control.errors import ControlError, DeniedError, NotRunningError
from holdfastd.control.socket_protocol import (
    CONTROL_SOCKET,
    AskReload,
    AskScale,
    AskStacks,
    AskStatus,
    AskStop,
    ControlRequest,
    Refused,
    Reloading,
    ReloadResult,
    Scaled,
    StacksOrdered,
    StopAnswer,
    StopResult,
    SupervisorStatus,
    encode,
)

ANSWER_TIMEOUT = 10.0  # seconds for an answer: the parent answers at once unless it is stopped

T = TypeVar("T", SupervisorStatus, Scaled, StacksOrdered, Reloading, ReloadResult, StopAnswer, StopResult)


class AnswerStatus(msgspec.Struct, frozen=True):
    """The field that every answer has."""

    ok: bool


@overload
def ask(runtime_dir: Path, request: AskStatus, timeout: float = ...) -> SupervisorStatus: ...
@overload
def ask(runtime_dir: Path, request: AskScale, timeout: float = ...) -> Scaled: ...
@overload
def ask(runtime_dir: Path, request: AskStacks, timeout: float = ...) -> StacksOrdered: ...
@overload
def ask(runtime_dir: Path, request: AskReload, timeout: float = ...) -> Reloading: ...
@overload
def ask(runtime_dir: Path, request: AskStop, timeout: float = ...) -> StopAnswer: ...
def ask(
    runtime_dir: Path, request: ControlRequest, timeout: float = ANSWER_TIMEOUT
) -> SupervisorStatus | Scaled | StacksOrdered | Reloading | StopAnswer:
    """The supervisor's answer. NotRunningError if nobody listens there, ControlError if refused or late."""
    with _connection(runtime_dir, timeout) as stream:
        stream.sendall(encode(request))
        line = _line(stream)
    match request:
        case AskStatus():
            return _read(line, SupervisorStatus)
        case AskScale():
            return _read(line, Scaled)
        case AskStacks():
            return _read(line, StacksOrdered)
        case AskReload():
            return _read(line, Reloading)
        case AskStop():
            return _read(line, StopAnswer)


def stop(runtime_dir: Path, wait: float | None, *, now: bool = False) -> int | None:
    """Ask the supervisor to stop and wait until it has ended, at most `wait` seconds (None: without limit). `now`: its
    tasks are canceled.

    Its exit status; None if it has not ended by then. A supervisor that ends without an answer was killed meanwhile:
    that counts as failed. Errors as for `ask`.
    """
    last = _end_of(runtime_dir, AskStop(now), StopAnswer, wait)
    if last is None:
        return None
    return _read(last, StopResult).code if last else Exit.FAILED


def reload(runtime_dir: Path, wait: float | None) -> ReloadResult | None:
    """Ask the supervisor to reload and wait for the result, at most `wait` seconds (None: without limit).

    The result; None if the reload has not ended by then. Errors as for `ask`; ControlError if the supervisor ends.
    """
    last = _end_of(runtime_dir, AskReload(wait=True), Reloading, wait)
    if last is None:
        return None
    if not last:
        raise ControlError("the supervisor has ended before the reload was over")
    return _read(last, ReloadResult)


def _end_of(runtime_dir: Path, request: ControlRequest, begun: type[T], wait: float | None) -> bytes | None:
    """The last line, after a first one has confirmed the request: None if it does not come in time, empty if the
    connection ends without it."""
    with _connection(runtime_dir, ANSWER_TIMEOUT) as stream:
        stream.sendall(encode(request))
        answers = stream.makefile("rb")
        _read(answers.readline(), begun)
        stream.settimeout(wait)
        try:
            return answers.readline()
        except TimeoutError:
            return None
        except ConnectionError:
            return b""


@contextmanager
def _connection(runtime_dir: Path, timeout: float) -> Generator[socket.socket]:
    path = runtime_dir / CONTROL_SOCKET
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(timeout)
        try:
            stream.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            others = running_pools.in_brackets(runtime_dir)
            raise NotRunningError(
                f"no supervisor runs in {runtime_dir}: start one, or name its --runtime-dir{others}"
            ) from error
        except PermissionError as error:
            raise PermissionError(error.errno, error.strerror, str(path)) from error
        except (BlockingIOError, TimeoutError) as error:
            raise ControlError(f"the supervisor in {runtime_dir} takes no connections now: is it stopped?") from error
        try:
            yield stream
        except TimeoutError as error:
            raise ControlError(f"the supervisor in {runtime_dir} did not answer within {timeout:g} s") from error


def _line(stream: socket.socket) -> bytes:
    parts: list[bytes] = []
    while not (parts and parts[-1].endswith(b"\n")):
        part = stream.recv(1 << 16)
        if not part:
            raise ControlError("the supervisor closed the connection without an answer: it may be ending")
        parts.append(part)
    return b"".join(parts)


def _read(line: bytes, kind: type[T]) -> T:
    try:
        if not msgspec.json.decode(line, type=AnswerStatus).ok:
            refused = msgspec.json.decode(line, type=Refused)
            raise DeniedError(refused.error) if refused.denied else ControlError(refused.error)
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as error:
        raise ControlError(f"the supervisor's answer cannot be read ({error}): is it of another version?") from error
