"""Acts of the A2A agent's clients: send messages, and set or remove the push settings of a task.

A client's first message submits a task. If the client sends the same message again, no second task is made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from holdfast.client.submission import ProducerTrace, raise_refusals
from holdfast.core.acceptance import Receipt, Submission, SubmitOptions
from holdfast.core.envelope import build_run
from holdfast.core.identity import fitting_message_id, is_task_id, keyed_id
from holdfast.core.messages import call_of
from holdfast.core.plain_json import check_json
from holdfast.errors import InvalidTaskError
from holdfastd.a2a.agent_task import AgentMessage, PushTarget, read_targets, spelled_targets, with_target
from holdfastd.a2a.agent_task_view import LONG_ID, task_view
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.operations.act import Act, Doing
from holdfastd.operations.submit_tasks import SUBMIT_TASKS, HandlerCalls, unpublished
from holdfastd.operations.tasks import SEND_MESSAGE

LONGEST_ID = 1000  # characters of an id that a client chooses

_encode = msgspec.json.Encoder().encode


class SendAgentMessage(msgspec.Struct, frozen=True):
    """A client's message. `trace`: the span in which the client calls. `target`: push settings for the task."""

    message: AgentMessage
    trace: ProducerTrace
    target: PushTarget | None = None


class SetTarget(msgspec.Struct, frozen=True):
    """Push settings of a task."""

    task_id: str
    target: PushTarget


class RemoveTarget(msgspec.Struct, frozen=True):
    """The id of push settings of a task."""

    task_id: str
    target_id: str


async def begin_agent_task(doing: Doing, given: SendAgentMessage) -> str:
    """Submit the task of a client's first message; the answer is the id of the task."""
    message, settings, retries = given.message, doing.settings, doing.manager.retries
    task_id = task_id_of(message, settings.queue_name, doing.operator.name)
    name, kwargs = call_of([{"parts": message.parts}])
    calls = HandlerCalls(doing.store, settings.queue_name, retries)
    handler = await calls.called(name, kwargs) if name else None
    lane = (handler.lane if handler else "") or settings.web_a2a_lane or settings.queue_name
    if not name:
        await calls.check_default(lane)
    elif handler is None:
        if await doing.call(doing.store.get, task_id, payloads=False) is None:  # else the message was sent before
            await calls.check_named(lane, name)  # the client would wait for minutes
        doing.asked.hint = await doing.call(unpublished, doing.store, calls)
    one = submission_of(given, task_id, lane, settings.max_message_bytes, given.target)
    if given.target:
        await _keep_target(doing, task_id, given.target)  # the task may end as soon as it is submitted
    # Before the submission: a context takes no task that has ended, and this task may end as soon as it is submitted.
    await retries.call(doing.store.note, task_id, message.context_id or task_id, "", b"{}")
    raise_refusals([one], await doing.manager.submit([one]))
    doing.asked.subject = task_id
    return task_id


async def continue_agent_task(doing: Doing, given: SendAgentMessage) -> str:
    """Send one more message to a task; the answer is the id of the task."""
    message, settings = given.message, doing.settings
    record = await doing.manager.get_task(known_id(message.task_id))
    context_id = task_view(record, await doing.store.about(record.task_id)).context_id
    if message.context_id not in ("", context_id):
        raise InvalidTaskError(f"contextId: task {record.task_id} belongs to another context")
    if given.target:
        await set_target(doing, SetTarget(record.task_id, given.target))
    of_task = msgspec.structs.replace(given, message=replace(message, context_id=context_id))
    one = submission_of(of_task, record.task_id, settings.queue_name, settings.max_message_bytes)
    answer = await doing.manager.retries.call(doing.store.message, one)
    raise_refusals([one], [Receipt(answer, record.task_id)])
    return record.task_id


async def set_target(doing: Doing, given: SetTarget) -> PushTarget:
    """Set push settings of a task. Settings without an id get the id of the task."""
    task_id = (await doing.manager.get_task(known_id(given.task_id))).task_id
    before = read_targets(await doing.store.push(task_id))
    kept = await _keep_target(doing, task_id, given.target)
    await _set_webhook(doing, task_id, before, with_target(before, kept))
    return kept


async def remove_target(doing: Doing, given: RemoveTarget) -> None:
    """Remove push settings of a task. Nothing happens if the task has no settings with this id."""
    task_id = (await doing.manager.get_task(known_id(given.task_id))).task_id
    before = read_targets(await doing.store.push(task_id))
    rest = [each for each in before if each.target_id != given.target_id]
    # The webhook goes first: the steward would send a notification without push settings as an ordinary webhook.
    await _set_webhook(doing, task_id, before, rest)
    if rest:
        await doing.store.add(task_id, push=spelled_targets(rest))
    elif before:
        await doing.store.forget_push(task_id)


def known_id(task_id: str) -> str:
    """The id, unchanged. Raises RpcError for an id that no task can have."""
    if not task_id:
        raise RpcError(RpcCode.INVALID_PARAMS, "id: the id of a task is expected")
    if not is_task_id(task_id):
        raise RpcError(RpcCode.TASK_NOT_FOUND, f"no task {task_id[:80]!a}")
    return task_id


def task_id_of(message: AgentMessage, queue: str, who: str) -> str:
    """The id of the task that a client's first message submits. The same message of the same client gives the same
    id."""
    return keyed_id(queue, "\0".join(("a2a", who, message.context_id, message.message_id)))


def submission_of(
    given: SendAgentMessage, task_id: str, lane: str, max_bytes: int, target: PushTarget | None = None
) -> Submission:
    """The submission for a message. Raises InvalidTaskError if the message is invalid or too large."""
    message, trace = given.message, given.trace
    _check(message)
    run = build_run(
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
        raise InvalidTaskError("role: a client can only send messages with the role of the user")
    if not message.parts:
        raise InvalidTaskError("parts: a message has at least one part")
    for task_id in message.references:
        if not is_task_id(task_id):
            raise InvalidTaskError(f"referenceTaskIds: {task_id[:80]!a} is not the id of a task")


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


async def _keep_target(doing: Doing, task_id: str, target: PushTarget) -> PushTarget:
    """Store push settings beside a task, which may not be submitted yet. The submission has the URL as its webhook."""
    known = target if target.target_id else msgspec.structs.replace(target, target_id=task_id)
    kept = with_target(read_targets(await doing.store.push(task_id)), known)
    await doing.store.add(task_id, push=spelled_targets(kept))
    return known


async def _set_webhook(doing: Doing, task_id: str, before: list[PushTarget], now: list[PushTarget]) -> None:
    """Make the URL of the first push settings a webhook of the task. So the steward sends the end and the questions of
    the task. A webhook of the task's producer is called, too."""
    old, new = (targets[0].url if targets else "" for targets in (before, now))
    if old != new:
        await doing.store.set_webhook_of_task(task_id, old, new)


BEGIN_AGENT_TASK = Act(SUBMIT_TASKS.name, SendAgentMessage, begin_agent_task)
CONTINUE_AGENT_TASK = Act(SEND_MESSAGE.name, SendAgentMessage, continue_agent_task)
SET_TARGET = Act("a2a/push", SetTarget, set_target, "task_id")
REMOVE_TARGET = Act("a2a/push-remove", RemoveTarget, remove_target, "task_id")
