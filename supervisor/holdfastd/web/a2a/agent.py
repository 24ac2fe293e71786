"""The operations of an agent on the queue, the same for each version of the protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import structs

from holdfast.client.submission import ProducerTrace, raise_refusals
from holdfast.core.acceptance import Receipt, Submission, SubmitOptions
from holdfast.core.envelope import build_run_of
from holdfast.core.identity import fitting_message_id, is_task_id, keyed_id
from holdfast.core.messages import call_of
from holdfast.core.plain_json import check_json
from holdfast.core.task_states import TERMINAL
from holdfast.errors import InvalidTaskError, TaskEndedError, UnknownTaskError
from holdfastd.a2a.agent_task import (
    AgentMessage,
    AgentTask,
    Listing,
    PushTarget,
    Sending,
    Told,
    read_targets,
    spelled_targets,
    with_target,
)
from holdfastd.a2a.agent_task_view import LONG_ID, task_view
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.operations.act import Face
from holdfastd.operations.notes import AskedChange
from holdfastd.operations.tasks import CANCEL_TASK, ReasonedTask
from holdfastd.web.a2a.task_list import AgentTaskList, listed
from holdfastd.web.a2a.task_stream import changes, with_emitted
from holdfastd.web.access.forms import doing
from holdfastd.web.queue.queue_access import QueueAccess

# Makes a task of the queue, or one more message for one, from what a client sends.

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
    """The submission for a message. Raises InvalidTaskError if the message is invalid or too large."""
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


# Sets, reads and removes where clients want to be told of a task.


@dataclass(frozen=True, slots=True)
class PushTargets:
    """The push settings of a queue's tasks. A task with push settings also has a webhook, so that its end and its
    questions are notified. If its producer gave it one, that one is called, too."""

    access: QueueAccess

    async def of(self, task_id: str) -> list[PushTarget]:
        return read_targets(await self.access.store.push(task_id))

    async def one(self, task_id: str, target_id: str) -> PushTarget:
        """The settings with this id; without an id the first. Raises RpcError."""
        for each in await self.of(task_id):
            if target_id in ("", each.target_id):
                return each
        raise RpcError(RpcCode.TASK_NOT_FOUND, f"task {task_id} has no such push notification settings")

    async def keep(self, task_id: str, target: PushTarget) -> PushTarget:
        """Beside a task that is not submitted yet; its submission has the URL as its webhook."""
        known = target if target.target_id else structs.replace(target, target_id=task_id)
        await self.access.store.add(task_id, push=spelled_targets(with_target(await self.of(task_id), known)))
        return known

    async def set(self, task_id: str, target: PushTarget) -> PushTarget:
        before = await self.of(task_id)
        kept = await self.keep(task_id, target)
        await self._tell(task_id, before, await self.of(task_id))
        return kept

    async def remove(self, task_id: str, target_id: str) -> None:
        """Remove settings; if there are none with this id, nothing happens."""
        before = await self.of(task_id)
        rest = [each for each in before if each.target_id != target_id]
        await self._tell(task_id, before, rest)  # first: a notice for a URL without settings goes out as a webhook
        if rest:
            await self.access.store.add(task_id, push=spelled_targets(rest))
        elif before:
            await self.access.store.forget_push(task_id)

    async def _tell(self, task_id: str, before: list[PushTarget], now: list[PushTarget]) -> None:
        """Set the webhook of the task to the URL of its first push settings."""
        old, new = (targets[0].url if targets else "" for targets in (before, now))
        if old != new:
            await self.access.store.set_webhook_of_task(task_id, old, new)


LONGEST_WAIT = 300.0  # seconds; a client that wants to wait longer subscribes, or asks again


@dataclass(frozen=True, slots=True)
class AgentClient:
    """A program that has logged in. `trace`: the span that it calls in."""

    who: str
    trace: ProducerTrace


@dataclass(frozen=True, slots=True)
class Agent:
    access: QueueAccess

    async def accept(self, sending: Sending, client: AgentClient) -> str:
        """Submit the message; returns the id of its task. Sending the same message again changes nothing."""
        if sending.message.task_id:
            return await self._go_on(sending, client)
        return await self._begin(sending, client)

    async def rested(self, task_id: str) -> None:
        """Return when the task has ended or asks for something, or after a long while."""
        with suppress(TimeoutError):
            await self.access.manager.wait(task_id, timeout=LONGEST_WAIT)

    async def view(self, task_id: str) -> AgentTask:
        """Raises RpcError for an unknown task."""
        store = self.access.store
        try:
            record = await self.access.manager.get_task(_checked(task_id))
        except UnknownTaskError as error:
            raise RpcError(RpcCode.TASK_NOT_FOUND, str(error)) from None
        return await with_emitted(store, record, task_view(record, await store.about(task_id)))

    async def cancel(self, task_id: str, asked: AskedChange) -> AgentTask:
        """Raises RpcError for a task that has ended, also if it was canceled before: A2A wants it so."""
        task = await self.view(task_id)
        if task.status.state not in TERMINAL:
            with suppress(TaskEndedError):
                await CANCEL_TASK.carry_out(doing(self.access, asked, Face.AGENT), ReasonedTask(task_id))
                return await self.view(task_id)
            task = await self.view(task_id)
        raise RpcError(RpcCode.TASK_NOT_CANCELABLE, f"task {task_id} is {task.status.state}: it cannot be canceled")

    def follow(self, task_id: str) -> AsyncGenerator[Told]:
        """The task as it is, then its changes until it rests."""
        return changes(self.access, task_id, self.view)

    async def subscribe(self, task_id: str) -> AsyncGenerator[Told]:
        """Like `follow`, but if the task asks for something now, it goes on until the task rests again. Raises RpcError
        for an ended task."""
        task = await self.view(task_id)
        if task.status.state in TERMINAL:
            text = f"task {task_id} is {task.status.state}: it has no more changes; get it instead"
            raise RpcError(RpcCode.UNSUPPORTED_OPERATION, text)
        return changes(self.access, task_id, self.view, from_rest=True)

    async def list(self, listing: Listing) -> AgentTaskList:
        return await listed(self.access, listing, self.view)

    @property
    def targets(self) -> PushTargets:
        return PushTargets(self.access)

    async def _begin(self, sending: Sending, client: AgentClient) -> str:
        access, message = self.access, sending.message
        task_id = task_id_of(message, access.queue, client.who)
        one = submission_of(
            message,
            task_id,
            client.trace,
            lane=await self._lane(message),
            max_bytes=access.settings.max_message_bytes,
            target=sending.target,
        )
        if sending.target:
            await self.targets.keep(task_id, sending.target)  # the task may end as soon as it is submitted
        # Its context takes no task that has ended, as this one may have as soon as it is submitted.
        await access.manager.retries.call(access.store.note, task_id, message.context_id or task_id, "", b"{}")
        raise_refusals([one], await access.manager.submit([one]))
        return task_id

    async def _lane(self, message: AgentMessage) -> str:
        """The lane of the handler that the message names, if it was registered with one; else the agent's lane."""
        access = self.access
        name, _ = call_of([{"parts": message.parts}])
        handler = await access.manager.retries.call(access.store.published_handler, name) if name else None
        return (handler.lane if handler else "") or access.settings.web_a2a_lane or access.queue

    async def _go_on(self, sending: Sending, client: AgentClient) -> str:
        access, message = self.access, sending.message
        task = await self.view(message.task_id)
        if message.context_id not in ("", task.context_id):
            text = f"contextId: task {task.task_id} is of another context"
            raise RpcError(RpcCode.INVALID_PARAMS, text)
        if sending.target:
            await self.targets.set(task.task_id, sending.target)
        one = submission_of(
            _of_task(message, task),
            task.task_id,
            client.trace,
            lane=access.queue,
            max_bytes=access.settings.max_message_bytes,
        )
        answer = await access.manager.retries.call(access.store.message, one)
        raise_refusals([one], [Receipt(answer, task.task_id)])
        return task.task_id


def _of_task(message: AgentMessage, task: AgentTask) -> AgentMessage:
    return replace(message, context_id=task.context_id)


def _checked(task_id: str) -> str:
    if not task_id:
        raise RpcError(RpcCode.INVALID_PARAMS, "id: the id of a task is expected")
    if not is_task_id(task_id):
        raise RpcError(RpcCode.TASK_NOT_FOUND, f"no task {task_id[:80]!a}")
    return task_id
