"""Makes a task of the queue, or one more message for one, from what a client sends."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.client.submit_trace import ProducerTrace
from holdfast.core.envelope import build_run_of
from holdfast.core.identity import fitting_message_id, is_task_id, keyed_id
from holdfast.core.messages import call_of
from holdfast.core.plain_json import check_json
from holdfast.core.submit_options import SubmitOptions
from holdfast.core.tasks import Submission
from holdfast.errors import InvalidTaskError
from holdfastd.a2a.agent_task import AgentMessage
from holdfastd.a2a.push_target import PushTarget
from holdfastd.a2a.task_view import LONG_ID

LONGEST_ID = 1000  # characters of an id that a client chooses

_encode = msgspec.json.Encoder().encode


def task_id_of(message: AgentMessage, queue: str, who: str) -> str:
    """The id of the task that a first message makes: the same message of the same client is the same task."""
    return keyed_id(queue, "\0".join(("a2a", who, message.context_id, message.message_id)))


def submission_of(
    message: AgentMessage,
    task_id: str,
    trace: ProducerTrace,
    *,
    lane: str,
    max_bytes: int,
    target: PushTarget | None = None,
) -> Submission:
    """Raises InvalidTaskError for a message that cannot be one, or is too large."""
    _check(message)
    run = build_run_of(
        task_id,
        _encoded(message),
        context_id=message.context_id or None,
        message_id=message.message_id,
        trace_id=trace.trace_id,
        span_id=trace.span_id,
        trace_flags=trace.flags,
    )
    if len(run.operation) > max_bytes:
        raise InvalidTaskError(f"the message has {len(run.operation)} bytes: at most {max_bytes} are allowed")
    name, _ = call_of([{"parts": message.parts}])
    options = SubmitOptions(webhook=target.url) if target else None
    return Submission(task_id, run.message_id, run.digest, run.operation, lane, name=name or "", options=options)


def _check(message: AgentMessage) -> None:
    for what, value in (("messageId", message.message_id), ("contextId", message.context_id)):
        if len(value) > LONGEST_ID or (what == "messageId" and not value):
            raise InvalidTaskError(f"{what}: a text of 1 to {LONGEST_ID} characters is expected")
        check_json(what, value)
    if message.role != "user":
        raise InvalidTaskError("role: a client sends messages of the user")
    if not message.parts:
        raise InvalidTaskError("parts: a message has at least one part")
    for task_id in message.references:
        if not is_task_id(task_id):
            raise InvalidTaskError(f"referenceTaskIds: {task_id[:80]!a} is no id of a task")


def _encoded(message: AgentMessage) -> bytes:
    check_json("message", message.parts)
    check_json("metadata", message.metadata)
    fields: dict[str, Any] = {
        "kind": "message",
        "role": message.role,
        "parts": message.parts,
        "metadata": message.metadata,
    }
    if message.references:
        fields["reference_task_ids"] = message.references
    if fitting_message_id(message.message_id) != message.message_id:
        fields[LONG_ID] = message.message_id
    return _encode(fields)
