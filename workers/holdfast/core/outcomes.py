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
    """`result` is the result document as JSON. If a schedule made the task: `schedule` is the handler's wish
    stop-schedule or unset-schedule; `backoff`: seconds until a CONTINUE runs again."""

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
    """The handler called `task.sleep` and gave its slot back. `due_ms`: the end of the sleep, by the store's clock."""

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
    """The handler raised, timed out, or returned a value that cannot be stored. `retry_after`: the pause in seconds
    that the handler asked for. `final`: no retry will help."""

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
    False if the handler was not called yet."""

    why: str
    has_begun: bool = True


REVOKED = HandlerStopped("revoked", has_begun=False)  # see core/begun_page.py


@dataclass(frozen=True, slots=True)
class Deferred:
    """The task did not begin, because the worker already runs as many tasks of this handler as allowed. It is due after
    `delay` seconds."""

    delay: float


Outcome = Completed | InputAsked | Asleep | Failed | Rejected | Raised | UnreadableMessage | HandlerStopped
