"""The outcomes of running a delivery, and the result documents that a store keeps of them.

`core/settle.py` makes a settlement from an outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from holdfast.core.messages import Part, text_part
from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.core.task_states import State
from holdfast.errors import ParentResultError


@dataclass(frozen=True, slots=True)
class Failure:
    """The stored form of an error: type, message and traceback, each bounded."""

    type: str
    message: str
    traceback: str = ""


class Completed(msgspec.Struct, frozen=True, gc=False):
    """The handler returned. `result` is the result document as JSON. `schedule`: stop-schedule or unset-schedule, if
    the handler of a schedule's task asked for it; `backoff`: seconds until a CONTINUE schedule runs again."""

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
    """The handler answered with the state `failed`. The task gets no retry."""

    result: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The handler answered with the state `rejected`, or the task's arguments do not fit the handler."""

    result: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised, timed out, or returned a value that cannot be stored. `retry_after`: the pause in seconds
    that the handler asked for. `final`: the task is not retried, because a retry would fail again."""

    failure: Failure
    retry_after: float | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class UnreadableMessage:
    """The operation could not be read."""

    reason: str


@dataclass(frozen=True, slots=True)
class HandlerStopped:
    """The worker cancelled the handler. `why`: cancel or pause (somebody asked for it), drain (the worker ends), lost
    or fenced (another worker owns the task), or revoked (the claim no longer counts). `has_begun`: False if the handler
    was not called yet."""

    why: str
    has_begun: bool = True


REVOKED = HandlerStopped("revoked", has_begun=False)  # see core/begun_page.py


@dataclass(frozen=True, slots=True)
class Deferred:
    """The task did not begin, because the worker already runs as many tasks of this handler as allowed. It is due after
    `delay` seconds."""

    delay: float


Outcome = Completed | InputAsked | Asleep | Failed | Rejected | Raised | UnreadableMessage | HandlerStopped


# Result documents: the result of a turn as JSON.
#
# {"state": "completed", "parts": [{"kind": "text", "text": …}]}
# {"state": "failed", "parts": [], "error": {"type": …, "message": …, "traceback": …}}

_encode = msgspec.json.Encoder().encode

NOTHING = b'{"state":"completed","parts":[]}'  # the document of a turn without a result


def failure_document(state: str, failure: Failure, parts: list[Part] | None = None) -> bytes:
    """The document of a turn that ended as failed or rejected."""
    error = {"type": failure.type, "message": failure.message, "traceback": failure.traceback}
    return _encode({"state": state, "parts": parts or [], "error": error})


def reply_parts(document: bytes) -> list[Part]:
    """The handler's answer in an earlier turn: the parts of the result document. If the turn failed, the parts of its
    error; empty if the document cannot be read."""
    try:
        parsed = _result_decoder.decode(document)
    except UNREADABLE_JSON:
        return []
    message = (parsed.error or {}).get("message")
    return parsed.parts or ([text_part(message)] if isinstance(message, str) else [])


class Result(msgspec.Struct, frozen=True):
    """A result document. `error` has type, message and traceback if the turn failed."""

    state: str = ""
    parts: list[Part] = []
    error: dict[str, Any] | None = None

    @property
    def value(self) -> object:
        """The value that the handler returned: a text or a JSON value; None if it returned nothing; a list if it
        returned several values."""
        return value_of(self.parts)


def value_of(parts: Iterable[Part]) -> object:
    """The text or JSON value of one part. For several parts a list; for no part None."""
    values = [_content(part) for part in parts]
    return values[0] if len(values) == 1 else values or None


_result_decoder = msgspec.json.Decoder(Result)


def read_result(document: bytes | None) -> Result:
    """The result in `document`. Bytes that are no result document count as one text; None counts as an empty result."""
    if document is None:
        return Result()
    try:
        return _result_decoder.decode(document)
    except UNREADABLE_JSON:
        return Result(parts=[text_part(document.decode("utf-8", "backslashreplace"))])


def failure_in(document: bytes | None) -> Failure | None:
    """The error in a result document, None if it has none."""
    kept = read_result(document).error
    if kept is None:
        return None
    return Failure(*(str(kept.get(part) or "") for part in ("type", "message", "traceback")))


def _content(part: Part) -> object:
    return cast("object", part.get("text" if part.get("kind") == "text" else "data"))


# Results of parents: how the tasks have ended after which a task was submitted. These functions do no I/O.

MOST_PARENT_BYTES = 16 << 20  # a worker reads at most so much of the results of one task's parents


@dataclass(frozen=True, slots=True)
class ParentResult:
    """How a parent of a task ended. `state`: None if another program deleted the parent's record before its end was
    noted; `reason`: why it did not complete.

    `document`: the parent's result as the store has it, of `size` bytes; None if it was not read.
    """

    task_id: str
    state: State | None
    has_ended: bool = True
    reason: str = ""
    document: bytes | None = None
    size: int = 0

    @property
    def value(self) -> Any:
        """The value that the parent's handler returned, the same as `record.value`. None if the parent did not complete
        and has no result. Raises ParentResultError if the result cannot be read."""
        if flaw := self._flaw():
            raise ParentResultError(f"parent {self.task_id}: {flaw}")
        return read_result(self.document).value

    @property
    def error(self) -> Failure | None:
        """The exception or the reason with which the parent failed or was rejected."""
        return failure_in(self.document)

    def _flaw(self) -> str:
        if self.state is None:
            return "its record was deleted by another program"
        if not self.has_ended:
            return f"it has not ended: it is {self.state}"
        if self.size and self.document is None:
            return (
                f"its result of {self.size} bytes was not read, because the results of all parents of the task are "
                f"larger than {MOST_PARENT_BYTES >> 20} MiB together: let parents keep large values elsewhere and "
                "return their address"
            )
        if self.state is State.COMPLETED and not self.size:
            return "its result was deleted by another program"
        return ""
