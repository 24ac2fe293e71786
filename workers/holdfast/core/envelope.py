"""The envelope of an operation on the wire: `read` parses any producer's bytes, `build_run` writes our compact form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from holdfast.core.decode_operation import read
from holdfast.core.identity import TASK_ID_RULE, derived_message_id, fitting_message_id, is_task_id, sha1_hex
from holdfast.core.messages import Part, call_part, data_part, text_part
from holdfast.core.operations import Control, Operation, Run, UnreadableError
from holdfast.errors import InvalidTaskError

__all__ = [
    "read",
    "Operation",
    "Run",
    "Control",
    "UnreadableError",
    "Built",
    "build_run",
    "build_run_of",
    "encode_message",
    "build_parts",
]

_encode = msgspec.json.Encoder().encode
_UNTRACED = b'"trace_id":null,"span_id":null}'


class Built(NamedTuple):
    """An operation to submit; `digest` identifies its content whatever its trace ids are."""

    operation: bytes
    message_id: str
    digest: str


def build_parts(
    text: str | None = None,
    data: object = None,
    name: str | None = None,
    kwargs: Mapping[str, object] | None = None,
) -> list[Part]:
    """The parts of a message: a text, a JSON value, the call of a named handler; None leaves a part out."""
    parts: list[Part] = []
    if text is not None:
        parts.append(text_part(text))
    if data is not None:
        parts.append(data_part(data))
    if name is not None:
        parts.append(call_part(name, kwargs or {}))
    return parts


def build_run(
    task_id: str,
    parts: Sequence[Part],
    *,
    context_id: str | None = None,
    message_id: str | None = None,
    metadata: Mapping[str, object] | None = None,
    history_length: int | None = None,
    trace_id: str | None = None,
    span_id: str | None = None,
    trace_flags: str | None = None,
    baggage: str | None = None,
) -> Built:
    """A run operation. A missing message id is derived from the content and the task id, so the same call is the same
    message; a missing context id is the task id. Raises InvalidTaskError for values that JSON cannot carry."""
    return build_run_of(
        task_id,
        encode_message(parts, metadata),
        context_id=context_id,
        message_id=message_id,
        history_length=history_length,
        trace_id=trace_id,
        span_id=span_id,
        trace_flags=trace_flags,
        baggage=baggage,
    )


def encode_message(parts: Sequence[Part], metadata: Mapping[str, object] | None = None) -> bytes:
    """A message without its id. Raises InvalidTaskError for values that JSON cannot carry."""
    return _encoded({"kind": "message", "role": "user", "parts": parts, "metadata": metadata or {}})


def build_run_of(
    task_id: str,
    message: bytes,
    *,
    context_id: str | None = None,
    message_id: str | None = None,
    history_length: int | None = None,
    trace_id: str | None = None,
    span_id: str | None = None,
    trace_flags: str | None = None,
    baggage: str | None = None,
) -> Built:
    """As `build_run`, of a message that is encoded already. The message names its task and its context as well: a
    strict consumer of the list demands it."""
    name = b'"%b"' % _checked(task_id).encode()
    ids = b'"task_id":%b,"context_id":%b' % (name, _encoded(context_id) if context_id else name)
    begin = b'{%b,"message":{' % ids
    rest = (
        b"%b}" % message[1:] if history_length is None else b'%b,"history_length":%d}' % (message[1:], history_length)
    )
    chosen = fitting_message_id(message_id) if message_id else derived_message_id(task_id, begin + rest)
    content = b'%b"message_id":"%b",%b,%b' % (begin, chosen.encode(), ids, rest)
    operation = b'{"operation":"run","params":%b,%b' % (content, _trace(trace_id, span_id, trace_flags, baggage))
    return Built(operation, chosen, sha1_hex(content))


def _trace(trace_id: str | None, span_id: str | None, flags: str | None, baggage: str | None) -> bytes:
    if trace_id is None and span_id is None and baggage is None:
        return _UNTRACED
    more = b"" if flags is None else b',"trace_flags":%b' % _encode(flags)
    more += b"" if baggage is None else b',"baggage":%b' % _encode(baggage)
    return b'"trace_id":%b,"span_id":%b%b}' % (_encode(trace_id), _encode(span_id), more)


def _encoded(value: object) -> bytes:
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTaskError(f"the message cannot be written as JSON: {error}") from None


def _checked(task_id: str) -> str:
    if not is_task_id(task_id):
        raise InvalidTaskError(f"task_id {task_id[:80]!a}: {TASK_ID_RULE} are allowed")
    return task_id
