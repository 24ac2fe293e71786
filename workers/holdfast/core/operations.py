"""The operations that an envelope can hold."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from holdfast.core.messages import Message
from holdfast.errors import HoldfastError

USUAL_TIMEOUT = "usual_timeout"  # a key of a message's metadata
RETRY_BACKOFF = "retry_backoff"  # another: schedules write it
LONGEST_RUN = 366 * 86_400  # seconds

Verb = Literal["cancel", "pause", "resume"]


class UnreadableError(HoldfastError):
    """These bytes are no operation; the message is the reason, on one line."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Run a turn. `name` and `kwargs` are those of a named handler. A resume that carries messages
    reads as one too, with `resumes`: it continues a task and makes none. `trace_flags`: of W3C Trace Context, None if
    the producer sent none; `baggage`: the producer's, as that header."""

    task_id: str
    message_id: str
    context_id: str | None = None
    messages: list[Message] = []
    name: str | None = None
    kwargs: dict[str, Any] = {}
    trace_id: str | None = None
    span_id: str | None = None
    trace_flags: int | None = None
    baggage: str | None = None
    history_length: int | None = None
    metadata: dict[str, Any] = {}
    resumes: bool = False

    @property
    def usual_timeout(self) -> float | None:
        """The producer's timeout in seconds, for a run that has no other."""
        return self._seconds(USUAL_TIMEOUT) if self.metadata else None

    @property
    def retry_backoff(self) -> float | None:
        """Seconds before the first retry, for a task that has a pause of its own."""
        return self._seconds(RETRY_BACKOFF)

    def _seconds(self, name: str) -> float | None:
        match self.metadata.get(name):
            case None | bool():
                return None
            case int() | float() as seconds if 0 < seconds <= LONGEST_RUN:
                return float(seconds)
            case _:
                return None


class Control(msgspec.Struct, frozen=True):
    """Cancel, pause or resume a task."""

    verb: Verb
    task_id: str


Operation = Run | Control
