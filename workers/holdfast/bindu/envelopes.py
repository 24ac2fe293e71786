"""Converts between the framework's parameters of a task and the operation that Holdfast stores."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID, uuid5

import msgspec
from opentelemetry.trace import NonRecordingSpan

from holdfast.client.submission import current_trace
from holdfast.core.acceptance import Submission
from holdfast.core.envelope import Run, UnreadableError, read
from holdfast.core.identity import sha1_hex
from holdfast.errors import InvalidTaskError
from holdfast.handler.task import Task
from holdfast.telemetry.planned_span import producer

# Converts ids: the framework's are UUID objects, those of Holdfast are texts of any form.

_OURS = UUID("8e4f3a52-2f0b-5c57-9d7e-6b1c0d9a4e21")  # names ids that are no UUIDs themselves


def named(text: object, place: str = "") -> UUID:
    """The UUID that this text spells; for any other text a UUID made of it and `place`, always the same."""
    if isinstance(text, UUID):
        return text
    try:
        return UUID(str(text))
    except ValueError:
        return uuid5(_OURS, f"{place}\n{text}")


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


_encoder = msgspec.json.Encoder(enc_hook=str)  # as the framework's own scheduler writes what JSON has not
_decode = msgspec.json.Decoder().decode


def encoded(value: object) -> bytes:
    """As JSON; raises InvalidTaskError."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTaskError(f"this cannot be written as JSON: {error}") from None


def decoded(raw: bytes) -> Any:
    return _decode(raw)


def submission_of(params: dict[str, Any], queue: str, max_bytes: int) -> Submission:
    """The submission for a `run` with these parameters. Raises InvalidTaskError."""
    content = encoded(params)
    trace = current_trace()
    flags = b"" if trace.flags is None else b',"trace_flags":%b' % encoded(trace.flags)
    operation = b'{"operation":"run","params":%b,"trace_id":%b,"span_id":%b%b}' % (
        content,
        encoded(trace.trace_id),
        encoded(trace.span_id),
        flags,
    )
    run = _read(operation, max_bytes)
    return Submission(run.task_id, run.message_id, sha1_hex(content), operation, queue, name=run.name or "")


def _read(operation: bytes, max_bytes: int) -> Run:
    try:
        run = read(operation, max_bytes)
    except UnreadableError as error:
        raise InvalidTaskError(f"these parameters are no task: {error}") from None
    assert isinstance(run, Run)
    return run


def operation_of(task: Task) -> dict[str, Any]:
    """A delivery as the framework's workers take it, in the trace of its producer."""
    params = cast("dict[str, Any]", decoded(task.raw).get("params") or {})
    message = cast("dict[str, Any] | None", params.get("message"))
    if message is None and task.operation.messages:
        message = task.operation.messages[-1]
    operation: dict[str, Any] = {
        "operation": "run",
        "params": {
            **params,
            "task_id": named(task.id),
            "context_id": named(task.context_id),
            **({"message": message_of(message, task.id, task.context_id)} if message else {}),
        },
    }
    if (origin := producer(task.operation)) is not None:
        operation["_current_span"] = NonRecordingSpan(origin)
    return operation


def message_of(message: dict[str, Any], task_id: str, context_id: str, place: str = "") -> dict[str, Any]:
    """A message with all fields that the framework requires, and UUIDs as ids. If it has no id, one is made from
    `place`."""
    made: dict[str, Any] = {"kind": "message", "role": "user", **message}
    made.pop("content", None)
    made["parts"] = [part_of(part) for part in parts_of(made)]
    made["message_id"] = named(message.get("message_id") or place, task_id)
    made["task_id"], made["context_id"] = named(task_id), named(context_id)
    if isinstance(references := message.get("reference_task_ids"), list):
        made["reference_task_ids"] = [named(each) for each in cast("list[object]", references)]
    return made


def parts_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a message or an artifact; empty if it has none."""
    return cast("list[dict[str, Any]]", document.get("parts") or [])


def part_of(part: dict[str, Any]) -> dict[str, Any]:
    """A part in the framework's form: its data is always an object."""
    if part.get("kind") != "data":
        return part
    data = part.get("data")
    return {"text": "", **part, "data": data if isinstance(data, dict) else {"result": data}}


# Checks arguments of callers as the framework's own storages do: with TypeError.


def checked(what: str, value: object) -> UUID:
    """Checks an id: a UUID, or the text of one."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value if isinstance(value, str) else "")
    except ValueError:
        raise TypeError(f"{what} must be a UUID, got {ascii(value)[:80]}") from None


def document(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{what} must be dict, got {type(value).__name__}")
    return cast("dict[str, Any]", value)


def documents(what: str, each: str, value: object) -> list[dict[str, Any]]:
    """A list of documents; None becomes an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"{what} must be list, got {type(value).__name__}")
    return [document(each, one) for one in cast("list[object]", value)]
