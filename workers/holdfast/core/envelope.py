"""The envelope of an operation on the wire: `read` parses any producer's bytes, `build_run` writes Holdfast's compact
form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from holdfast.core.identity import TASK_ID_RULE, derived_message_id, fitting_message_id, is_task_id, sha1_hex
from holdfast.core.messages import (
    Message,
    MessageShapeError,
    Part,
    call_of,
    call_part,
    data_part,
    text_part,
    with_parts,
)
from holdfast.errors import HoldfastError, InvalidTaskError

# The operations that an envelope can hold.

USUAL_TIMEOUT = "usual_timeout"  # a key of a message's metadata
RETRY_BACKOFF = "retry_backoff"  # another key of the metadata, which schedules write
LONGEST_RUN = 366 * 86_400  # seconds

Verb = Literal["cancel", "pause", "resume"]


class UnreadableError(HoldfastError):
    """These bytes are no operation; the message is the reason, on one line."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that runs a turn. `name` and `kwargs` are those of a named handler. A resume with messages is a Run,
    too, with `resumes`: it continues a task and makes none. `trace_flags`: the flags of W3C Trace Context, None if the
    producer sent none; `baggage`: the producer's baggage, as the W3C header."""

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
        """The producer's timeout in seconds; it counts if neither task, handler nor lane has one."""
        return self._seconds(USUAL_TIMEOUT) if self.metadata else None

    @property
    def retry_backoff(self) -> float | None:
        """Seconds before the first retry; None if the task has no pause of its own."""
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


# Reads operations from the bytes of any producer, leniently: other keys are ignored.
#
# Two envelopes are read, told apart by `operation` (ours) and `type` (the other documented one):
#
#   {"operation": "run", "params": {"task_id", "context_id", "message": {"message_id", "parts": […]}, …}, "trace_id", …}
#   {"type": "run", "task_id", "conversation_id", "messages": [{"role", "content"}], "artifacts", "timestamp"}
#
# An entry of the public queue that the store's scripts wrote begins with `{"_b":"<task id>:<seq>",`; behind it stands
# the operation without its first `{`. `_b` is skipped like every key that is not known here. The store's scripts read
# the same ids from the same bytes.

_VERBS = frozenset({"cancel", "pause", "resume"})
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_FLAGS = re.compile(r"[0-9a-f]{2}")
_NO_TRACE = (None,) * 4
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}")


class _Params(msgspec.Struct):
    """The parameters of an operation. Fields are `Any` where producers differ: an unusable value counts as missing."""

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
    """An envelope in one of two forms: `{"operation": …, "params": {…}}`, or `{"type": …}` with the parameters beside
    the type."""

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
        raise UnreadableError("no operation in the JSON" if verb is None else "unknown operation")
    if params is None:
        raise UnreadableError("no params")
    task_id = _task_id(params)
    if verb == "run" or (verb == "resume" and (params.message or params.messages)):
        return _run(raw, envelope, params, task_id, resumes=verb == "resume")
    return Control(cast("Verb", verb), task_id)


def kept_run(raw: bytes | None, max_bytes: int | None = None) -> Run | None:
    """The run in an operation that the store keeps; None if there is none, or it cannot be read. `max_bytes`: see
    `read`; None: any size is read."""
    try:
        operation = read(raw or b"", len(raw or b"") if max_bytes is None else max_bytes)
    except UnreadableError:
        return None
    return operation if isinstance(operation, Run) else None


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
    return run if trace == _NO_TRACE else _traced(run, envelope)


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
    """The metadata of the message and of the envelope, merged. The envelope's value wins if both have the same name."""
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
    """The trace flags; producers write a number or two hex digits."""
    if type(value) is str and _FLAGS.fullmatch(value):
        return int(value, 16)
    return value if type(value) is int and 0 <= value <= 0xFF else None


def _length(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


_encode = msgspec.json.Encoder().encode
_UNTRACED = b'"trace_id":null,"span_id":null}'


class Built(NamedTuple):
    """An operation to submit; `digest` identifies its content without its trace ids."""

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


def encode_message(parts: Sequence[Part], metadata: Mapping[str, object] | None = None) -> bytes:
    """A message without its id. Raises InvalidTaskError for values that JSON cannot carry."""
    return _encoded({"kind": "message", "role": "user", "parts": parts, "metadata": metadata or {}})


def build_run(
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
    """Build a run operation. A missing message id is derived from the content and the task id, so that the same call
    makes the same message; a missing context id is the task id. The message also names its task and context, because
    some consumers of the list demand it. Raises InvalidTaskError for values that JSON cannot carry."""
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
