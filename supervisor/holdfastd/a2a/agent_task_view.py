"""Makes the task that clients of the agent see, from the store's record of the task and the data beside it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from holdfast.core.conversations import About, changed_ms, kept_turns
from holdfast.core.envelope import Run, kept_run
from holdfast.core.messages import Message, Part, text_part
from holdfast.core.outcomes import Result
from holdfast.core.outcomes import read_result as kept_result
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfastd.a2a.agent_task import AgentArtifact, AgentMessage, AgentStatus, AgentTask
from holdfastd.a2a.rpc_errors import RpcCode, RpcError

# Parts of messages and artifacts, as handlers get and return them, and files in base64.
#
# A handler that answers with a file returns a part in the form in which handlers get files, or a list of parts:
#
#     {"kind": "file", "file": {"bytes": "aGk=", "name": "hi.txt", "mime_type": "text/plain"}}     or "uri" for "bytes"

_OF_FILE = ("bytes", "uri", "name", "mime_type")
_URL_SAFE = str.maketrans("-_", "+/")


def canonical_base64(text: str) -> str | None:
    """The base64 `text`, written in the standard alphabet and with padding; None if `text` is not base64.

    A client may send the URL-safe alphabet, or leave out the padding: ProtoJSON allows both.
    """
    known = text.translate(_URL_SAFE).rstrip("=")
    padded = known + "=" * (-len(known) % 4)
    if len(text) not in (len(known), len(padded)):
        return None
    try:
        base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return padded


def file_of(part: Part) -> dict[str, Any] | None:
    """The file of a part: its bytes in base64, or its URI; None if it has neither or both."""
    file: object = part.get("file")
    if part.get("kind") != "file" or not isinstance(file, dict):
        return None
    fields = {name: value for name, value in cast("dict[str, Any]", file).items() if value is not None}
    are_texts = all(isinstance(fields.get(name, ""), str) for name in _OF_FILE)
    if not are_texts or ("bytes" in fields) == ("uri" in fields):
        return None
    if "uri" in fields:
        return fields
    encoded = canonical_base64(fields["bytes"])
    return None if encoded is None else fields | {"bytes": encoded}


def shown_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts as clients see them. If a handler returned a part or a list of parts as its value, these parts stand in
    the place of the value."""
    for part in parts:
        data = part.get("data") if part.get("kind") == "data" else None
        given = cast("list[object]", data) if isinstance(data, list) else [data]
        if given and all(map(_is_part, given)):
            yield from cast("list[Part]", given)
        else:
            yield part


def _is_part(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    part = cast("Part", value)
    if not isinstance(part.get("metadata", {}), Mapping):
        return False
    match part.get("kind"):
        case "text":
            return isinstance(part.get("text"), str)
        case "data":
            return "data" in part
        case _:
            return file_of(part) is not None


# The states of a task as each version of A2A names them.

# Holdfast's state, its name in A2A 1.0, its name in A2A 0.3. A suspended task goes on with its next message, or when
# somebody resumes it.
STATES = (
    (State.SUBMITTED, "TASK_STATE_SUBMITTED", "submitted"),
    (State.DELAYED, "TASK_STATE_SUBMITTED", "submitted"),
    (State.WAITING, "TASK_STATE_SUBMITTED", "submitted"),
    (State.SUSPENDED, "TASK_STATE_SUBMITTED", "submitted"),
    (State.WORKING, "TASK_STATE_WORKING", "working"),
    (State.INPUT_REQUIRED, "TASK_STATE_INPUT_REQUIRED", "input-required"),
    (State.AUTH_REQUIRED, "TASK_STATE_AUTH_REQUIRED", "auth-required"),
    (State.COMPLETED, "TASK_STATE_COMPLETED", "completed"),
    (State.FAILED, "TASK_STATE_FAILED", "failed"),
    (State.REJECTED, "TASK_STATE_REJECTED", "rejected"),
    (State.CANCELED, "TASK_STATE_CANCELED", "canceled"),
)
NAMES_1_0 = {state: name for state, name, _ in STATES}
NAMES_0_3 = {state: name for state, _, name in STATES}


def states_of(name: str) -> tuple[State, ...]:
    """The states of Holdfast that a client means by this name of a state in A2A 1.0. Raises RpcError for an unknown
    name."""
    found = tuple(state for state, known, _ in STATES if known == name)
    if not found:
        raise RpcError(
            RpcCode.INVALID_PARAMS, f"status {name[:50]!r}: one of {', '.join(dict.fromkeys(NAMES_1_0.values()))}"
        )
    return found


def is_shown(state: State) -> bool:
    """True if A2A 0.3 has the same name for this state of Holdfast. If not, the metadata of the task have the state as
    `holdfast_state`."""
    return NAMES_0_3[state] == state


def iso(ms: int) -> str:
    """A Unix time as ISO 8601 text in UTC, with milliseconds."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}Z"


LONG_ID = (
    "long_message_id"  # key in a message: the id that its client gave, if the queue does not allow such a message id
)
_ASKS = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED})
_FAILS = frozenset({State.FAILED, State.REJECTED})


@dataclass(frozen=True, slots=True)
class _TurnOfTask:
    """One turn of a task. `result` is None if the turn has no result yet, or if its messages share the result of a
    later message."""

    number: int
    run: Run | None
    result: Result | None


def task_view(record: TaskRecord, about: About) -> AgentTask:
    """The whole task. An error has only a type and a message, because the traceback names paths of the server."""
    turns = list(_turns(record, about))
    context_id = about.context_id or next((each.run.context_id for each in turns if each.run), None) or record.task_id
    messages = [message for turn in turns for message in _messages(record.task_id, context_id, turn)]
    last = turns[-1].result
    return AgentTask(
        record.task_id,
        context_id,
        status_of(record, context_id, last),
        [
            AgentArtifact.of_turn(turn.number, turn.result.parts)
            for turn in turns
            if turn.result and turn.result.state == State.COMPLETED and turn.result.parts
        ],
        messages,
        {} if is_shown(record.state) else {"holdfast_state": str(record.state)},
    )


def status_of(record: TaskRecord, context_id: str, result: Result | None = None) -> AgentStatus:
    """The state of a task as clients see it, with a message of the agent: a question, an error, or the progress."""
    said = _said(record, result or read_result(record.result))
    number = f"{record.turn}.{record.state}"
    message = AgentMessage(f"{record.task_id}.{number}", said, "agent", context_id, record.task_id) if said else None
    return AgentStatus(record.state, changed_ms(record), message)


def read_result(document: bytes | None) -> Result:
    """The result of a turn. If the handler returned parts as its value, these are the parts of the result."""
    kept = kept_result(document)
    return msgspec.structs.replace(kept, parts=list(shown_parts(kept.parts)))


def _said(record: TaskRecord, result: Result) -> Sequence[Part]:
    if record.state in _ASKS:
        return result.parts
    if record.state in _FAILS:
        error = (result.error or {}).get("message") or record.reason
        return result.parts or ([text_part(str(error))] if error else [])
    if record.state is State.WORKING and record.progress:
        return [text_part(record.progress)]
    return []


def _turns(record: TaskRecord, about: About) -> Iterator[_TurnOfTask]:
    turns = list(kept_turns(record, about))
    for number, (operation, result) in zip([*range(1, len(turns)), record.turn], turns, strict=True):
        yield _TurnOfTask(number, kept_run(operation), read_result(result) if result else None)


def _messages(task_id: str, context_id: str, turn: _TurnOfTask) -> Iterator[AgentMessage]:
    """The messages of a turn, and the question that ended the turn. The result of a turn is not among them, because an
    artifact contains it."""
    for index, message in enumerate(turn.run.messages if turn.run else ()):
        number = f"{task_id}.{turn.number}.{index}"
        message_id = turn.run.message_id if turn.run and index == 0 else number
        yield _message(
            message, str(message.get(LONG_ID) or message.get("message_id") or message_id), task_id, context_id
        )
    if turn.result and turn.result.state in _ASKS and turn.result.parts:
        number = f"{task_id}.{turn.number}.{turn.result.state}"
        yield AgentMessage(number, turn.result.parts, "agent", context_id, task_id)


def _message(message: Message, message_id: str, task_id: str, context_id: str) -> AgentMessage:
    metadata, references = message.get("metadata"), message.get("reference_task_ids")
    return AgentMessage(
        message_id,
        message["parts"],
        "agent" if message.get("role") == "agent" else "user",
        context_id,
        task_id,
        cast("Mapping[str, Any]", metadata) if isinstance(metadata, dict) else {},
        [str(each) for each in cast("list[object]", references)] if isinstance(references, list) else (),
    )
