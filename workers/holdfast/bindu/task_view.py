"""Converts tasks between the framework's form and Holdfast's form.

The framework's parameters become an operation. Holdfast's record of a task, its turns and the data kept beside it
become a task of the framework.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast
from uuid import UUID, uuid5

import msgspec
from opentelemetry.trace import NonRecordingSpan

from holdfast.client.submission import current_trace
from holdfast.core.acceptance import Submission
from holdfast.core.conversations import About, changed_ms, kept_turns
from holdfast.core.envelope import Run, UnreadableError, kept_run, read
from holdfast.core.identity import sha1_hex
from holdfast.core.messages import text_of
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import InvalidTaskError
from holdfast.handler.task import Task
from holdfast.telemetry.without_sdk import producer

# Convert ids: the framework's ids are UUID objects, and Holdfast's ids are any texts.

_OURS = UUID("8e4f3a52-2f0b-5c57-9d7e-6b1c0d9a4e21")  # the uuid5 namespace for ids that are no UUIDs


def named(text: object, place: str = "") -> UUID:
    """The UUID that `text` spells. For any other text, a UUID computed from `place` and the text: the same for the same
    text."""
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


_encoder = msgspec.json.Encoder(enc_hook=str)  # other types become text, like in the framework's own scheduler
_decode = msgspec.json.Decoder().decode


def encoded(value: object) -> bytes:
    """The value as JSON. Raises InvalidTaskError."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTaskError(f"a value of the task cannot be written as JSON: {error}") from None


def decoded(raw: bytes) -> Any:
    return _decode(raw)


def submission_of(params: dict[str, Any], queue: str, max_bytes: int) -> Submission:
    """The submission for a `run` operation with the framework's parameters. Raises InvalidTaskError."""
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
        raise InvalidTaskError(f"the parameters of the operation do not describe a task: {error}") from None
    assert isinstance(run, Run)
    return run


def operation_of(task: Task) -> dict[str, Any]:
    """A delivery in the form that the framework's workers take. It names the producer's span as the current span."""
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
    """The message with all fields that the framework requires, and with UUIDs as ids. A message without an id gets one
    computed from `place`."""
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
    """A part in the framework's form, where `data` must be an object: other JSON values become {"result": value}."""
    if part.get("kind") != "data":
        return part
    data = part.get("data")
    return {"text": "", **part, "data": data if isinstance(data, dict) else {"result": data}}


# Check arguments. A wrong one raises TypeError, like in the framework's own storages.


def checked(what: str, value: object) -> str:
    """Check an id, which is a UUID or the text of one. Returns its text in the usual spelling."""
    try:
        return str(value if isinstance(value, UUID) else UUID(value if isinstance(value, str) else ""))
    except ValueError:
        raise TypeError(f"{what} must be a UUID, got {ascii(value)[:80]}") from None


def document(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{what} must be dict, got {type(value).__name__}")
    return cast("dict[str, Any]", value)


def documents(what: str, each: str, value: object) -> list[dict[str, Any]]:
    """Check that the value is a list of dicts; None becomes an empty list. `each`: the name of an item in errors."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"{what} must be list, got {type(value).__name__}")
    return [document(each, one) for one in cast("list[object]", value)]


# Result documents that keep the artifacts and messages of a framework's worker unchanged.
#
# {"state": …, "parts": […], "error": {…}, "artifacts": […], "messages": […]}. Code of Holdfast reads only the first
# three.


class ResultDocument(NamedTuple):
    encoded: bytes
    reason: str


class TurnResult(msgspec.Struct, frozen=True):
    """The result of a turn, from a worker of the framework or of Holdfast. `artifacts` and `messages` are None if a
    Holdfast handler made the result."""

    state: str = ""
    parts: list[dict[str, Any]] = []
    error: dict[str, Any] | None = None
    artifacts: list[dict[str, Any]] | None = None
    messages: list[dict[str, Any]] | None = None

    @property
    def said(self) -> list[dict[str, Any]]:
        """The parts of the answer. Without parts, the message of the error as one text part."""
        message = (self.error or {}).get("message")
        return self.parts or ([{"kind": "text", "text": message}] if isinstance(message, str) else [])


_decode_result = msgspec.json.Decoder(TurnResult).decode


def result_document(state: str, artifacts: list[dict[str, Any]], messages: list[dict[str, Any]]) -> ResultDocument:
    """The result document to store for a turn. Raises InvalidTaskError if JSON cannot hold it."""
    parts = [part for each in artifacts or messages for part in parts_of(each)]
    fields: dict[str, Any] = {"state": state, "parts": parts, "artifacts": artifacts, "messages": messages}
    if state not in {"failed", "rejected"}:
        return ResultDocument(encoded(fields), "")
    reason = text_of(parts) or f"the worker answered {state}"
    fields["error"] = {"type": state.capitalize(), "message": reason, "traceback": ""}
    return ResultDocument(encoded(fields), reason)


def result_of(raw: bytes) -> TurnResult:
    """Read a result document. Other bytes count as one text."""
    try:
        return _decode_result(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return TurnResult(parts=[{"kind": "text", "text": raw.decode("utf-8", "backslashreplace")}])


Documents = list[dict[str, Any]]

_SHOWN = {State.DELAYED: "submitted", State.WAITING: "submitted"}
_KEPT: dict[str, tuple[State, ...]] = {"submitted": (State.SUBMITTED, State.DELAYED, State.WAITING)}


def shown(state: State) -> str:
    """The framework's name for a state of Holdfast."""
    return _SHOWN.get(state, str(state))


def kept(word: str) -> tuple[State, ...]:
    """The states of Holdfast that the framework's state means; empty if Holdfast has no such state."""
    return _KEPT.get(word) or tuple(state for state in State if state == word and state not in _SHOWN)


def view(record: TaskRecord, about: About) -> dict[str, Any]:
    """A submitted task in the framework's form, with its history and artifacts."""
    turns = [(kept_run(asked), result_of(answer) if answer else None) for asked, answer in kept_turns(record, about)]
    context_id = about.context_id or next((run.context_id for run, _ in turns if run and run.context_id), "")
    maker = _Maker(record.task_id, context_id or record.task_id)
    history = [message for number, turn in enumerate(turns, 1) for message in maker.messages(number, *turn)]
    artifacts = [
        artifact for number, (_, result) in enumerate(turns, 1) for artifact in maker.artifacts(number, result)
    ]
    return maker.task(shown(record.state), changed_ms(record), history, artifacts, about)


def noted_view(task_id: str, about: About) -> dict[str, Any]:
    """A task that the storage keeps and that no scheduler has submitted yet, in the framework's form."""
    maker = _Maker(task_id, about.context_id)
    history = [maker.message(decoded(about.message or b"{}"), "noted")]
    return maker.task(about.state or "submitted", about.changed_ms or about.at_ms, history, [], about)


class _Maker:
    def __init__(self, task_id: str, context_id: str) -> None:
        self._task_id, self.context_id = task_id, context_id

    def task(self, state: str, ms: int, history: Documents, artifacts: Documents, about: About) -> dict[str, Any]:
        """The task in the framework's form, with the added messages and artifacts. An added message that the history
        contains already appears once."""
        added = [decoded(raw) for raw in about.added]
        known = {each["message_id"] for each in history}
        messages = (self.message(each["message"], "added") for each in added if "message" in each)
        return {
            "id": named(self._task_id),
            "context_id": named(self.context_id),
            "kind": "task",
            "status": {"state": state, "timestamp": _time(ms)},
            "history": history + [each for each in messages if each["message_id"] not in known],
            "artifacts": artifacts + [self.artifact(each["artifact"]) for each in added if "artifact" in each],
            "metadata": {name: decoded(value) for name, value in about.metadata.items()},
        }

    def message(self, message: dict[str, Any], place: str) -> dict[str, Any]:
        return message_of(message, self._task_id, self.context_id, place)

    def messages(self, number: int, run: Run | None, result: TurnResult | None) -> Iterator[dict[str, Any]]:
        for index, each in enumerate(run.messages if run else ()):
            own = {"message_id": run.message_id} if run and index == 0 else {}
            yield self.message({**own, **each}, f"{number}.{index}")
        if result is None:
            return
        if result.messages is not None:
            yield from (self.message({"role": "agent", **each}, f"{number}.reply") for each in result.messages)
        elif result.said:
            yield self.message({"role": "agent", "parts": result.said}, f"{number}.reply")

    def artifacts(self, number: int, result: TurnResult | None) -> Iterator[dict[str, Any]]:
        """Yield the artifacts of a turn; none if the turn did not complete."""
        if result is None or result.state != "completed":
            return
        if result.artifacts is not None:
            yield from map(self.artifact, result.artifacts)
        elif result.parts:
            yield self.artifact({"artifact_id": f"{number}.result", "name": "result", "parts": result.parts})

    def artifact(self, artifact: dict[str, Any]) -> dict[str, Any]:
        parts = [part_of(part) for part in parts_of(artifact)]
        return {**artifact, "artifact_id": named(artifact.get("artifact_id"), self._task_id), "parts": parts}


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()
