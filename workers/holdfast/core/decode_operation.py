"""Operations from bytes, leniently: whoever wrote them, whatever else they carry.

Two envelopes are read, told apart by `operation` (ours) and `type` (the other documented one):

    {"operation": "run", "params": {"task_id", "context_id", "message": {"message_id", "parts": […]}, …}, "trace_id", …}
    {"type": "run", "task_id", "conversation_id", "messages": [{"role", "content"}], "artifacts", "timestamp"}

An own entry of the public queue is `{"_b":"<task id>:<seq>",` and the operation after its first `{`: one more key,
skipped like every key that is not known here. The store's scripts read the same ids from the same bytes.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from holdfast.core.identity import TASK_ID_RULE, fitting_message_id, is_task_id, sha1_hex
from holdfast.core.messages import Message, MessageShapeError, call_of, with_parts
from holdfast.core.operations import Control, Operation, Run, UnreadableError, Verb

_VERBS = frozenset({"cancel", "pause", "resume"})
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_FLAGS = re.compile(r"[0-9a-f]{2}")
_UNTRACED = (None,) * 4
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")


class _Params(msgspec.Struct):
    """`Any` where producers vary: a value that cannot be used counts as missing."""

    task_id: str | None = None
    context_id: Any = None
    conversation_id: Any = None
    message: Message | None = None
    messages: list[Message] | None = None
    history_length: Any = None
    metadata: Any = None
    artifacts: Any = None
    timestamp: Any = None


class _Envelope(_Params):
    """The second form has its params beside its type."""

    operation: str | None = None
    type: str | None = None
    params: _Params | None = None
    trace_id: Any = None
    span_id: Any = None
    trace_flags: Any = None
    baggage: Any = None


_decoder = msgspec.json.Decoder(_Envelope)


def is_own(entry: bytes) -> bool:
    """True for an entry of the public queue that the store's scripts have written."""
    return entry.startswith(b'{"_b":"')


def read(raw: bytes, max_bytes: int) -> Operation:
    """The operation in `raw`, which may have at most `max_bytes` bytes. Raises UnreadableError."""
    if len(raw) > max_bytes:
        raise UnreadableError(f"too large: {len(raw)} bytes, at most {max_bytes} are read")
    envelope = _decode(raw)
    verb, params = envelope.operation, envelope.params
    if verb is None:
        verb, params = envelope.type, envelope
    if verb != "run" and verb not in _VERBS:
        raise UnreadableError("no operation" if verb is None else "unknown operation")
    if params is None:
        raise UnreadableError("no params")
    task_id = _task_id(params)
    if verb == "run" or (verb == "resume" and (params.message or params.messages)):
        return _run(raw, envelope, params, task_id, resumes=verb == "resume")
    return Control(cast("Verb", verb), task_id)


def _decode(raw: bytes) -> _Envelope:
    try:
        return _decoder.decode(raw)
    except UnicodeDecodeError:
        raise UnreadableError("not UTF-8") from None
    except msgspec.DecodeError as error:
        raise UnreadableError(str(error)) from None
    except RecursionError:
        raise UnreadableError("nested too deeply") from None


def _task_id(params: _Params) -> str:
    if not params.task_id:
        raise UnreadableError("no task id")
    if not is_task_id(params.task_id):
        raise UnreadableError(f"bad task id: {TASK_ID_RULE} are allowed")
    return params.task_id


def _run(raw: bytes, envelope: _Envelope, params: _Params, task_id: str, *, resumes: bool) -> Run:
    messages = _messages(params)
    name, kwargs = call_of(messages)
    given = params.message.get("message_id") if params.message else None
    run = Run(
        task_id=task_id,
        message_id=fitting_message_id(given) if isinstance(given, str) and given else sha1_hex(raw),
        context_id=_word(params.context_id) or _word(params.conversation_id),
        messages=messages,
        name=name,
        kwargs=kwargs,
        history_length=_length(params.history_length),
        metadata=_metadata(params),
        resumes=resumes,
    )
    trace = (envelope.trace_id, envelope.span_id, envelope.trace_flags, envelope.baggage)
    return run if trace == _UNTRACED else _traced(run, envelope)


def _traced(run: Run, envelope: _Envelope) -> Run:
    return replace(
        run,
        trace_id=_matching(_TRACE_ID, envelope.trace_id),
        span_id=_matching(_SPAN_ID, envelope.span_id),
        trace_flags=_flags(envelope.trace_flags),
        baggage=envelope.baggage if type(envelope.baggage) is str and envelope.baggage else None,
    )


def _messages(params: _Params) -> list[Message]:
    messages = params.messages or []
    if params.message is not None:
        messages.append(params.message)
    try:
        for message in messages:
            with_parts(message)
    except MessageShapeError as error:
        raise UnreadableError(str(error)) from None
    return messages


def _metadata(params: _Params) -> dict[str, Any]:
    """The metadata of the message, then that of the envelope."""
    metadata: dict[str, Any] = {}
    for source in (params.message.get("metadata") if params.message else None, params.metadata):
        if source and isinstance(source, dict):
            metadata.update(cast("dict[str, Any]", source))
    if params.artifacts is not None:
        metadata.setdefault("artifacts", params.artifacts)
    if params.timestamp is not None:
        metadata.setdefault("timestamp", params.timestamp)
    return metadata


def _word(value: object) -> str | None:
    return str(value) if type(value) in (str, int) and value != "" else None


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if type(value) is str and pattern.fullmatch(value) else None


def _flags(value: object) -> int | None:
    """The flags as a number or as two hex digits, both of which producers write."""
    if type(value) is str and _FLAGS.fullmatch(value):
        return int(value, 16)
    return value if type(value) is int and 0 <= value <= 0xFF else None


def _length(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
