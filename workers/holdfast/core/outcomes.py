"""The outcomes of running a delivery. `core/settle.py` makes settlements of them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it is kept: type, message and traceback, each bounded."""

    type: str
    message: str
    traceback: str = ""


class Completed(msgspec.Struct, frozen=True, gc=False):
    """`result` is the result document, encoded JSON. The handler's wishes for its schedule, if one made the task:
    `schedule` is stop-schedule or unset-schedule; `backoff`, seconds until a CONTINUE runs again."""

    result: bytes
    schedule: str = ""
    backoff: float | None = None


@dataclass(frozen=True, slots=True)
class InputAsked:
    """The turn ended with a question: `state` is input-required or auth-required."""

    state: str
    result: bytes


@dataclass(frozen=True, slots=True)
class Asleep:
    """The handler sleeps, and has given its place back. `due_ms`: the end of the sleep, by the clock of the store."""

    due_ms: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler said `failed`: no retry."""

    result: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The handler said `rejected`, or its arguments do not fit."""

    result: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised, timed out, or returned a value that cannot be kept. `retry_after` in seconds if it asked
    for one; `final`: no retry will help."""

    failure: Failure
    retry_after: float | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class UnreadableMessage:
    """The operation could not be read."""

    reason: str


@dataclass(frozen=True, slots=True)
class HandlerStopped:
    """The handler was cancelled from outside: `why` is cancel, pause, drain, lost, fenced or revoked. `has_begun`:
    False if it was to be called and was not yet."""

    why: str
    has_begun: bool = True


REVOKED = HandlerStopped("revoked", has_begun=False)  # see core/begun_page.py


@dataclass(frozen=True, slots=True)
class Deferred:
    """It was not begun: the worker runs as many tasks of this handler as it may. `delay` in seconds, then it is due."""

    delay: float


Outcome = Completed | InputAsked | Asleep | Failed | Rejected | Raised | UnreadableMessage | HandlerStopped
