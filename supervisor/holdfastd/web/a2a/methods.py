"""The methods that clients of the agent call: a table for both versions of A2A, and the operations on the queue."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.client.submission import ProducerTrace
from holdfast.core.task_states import TERMINAL
from holdfast.errors import TaskEndedError
from holdfast_config.redis_urls import mask_webhook
from holdfastd.a2a import wire_0_3, wire_1_0
from holdfastd.a2a.agent_task import AgentTask, ArtifactChange, PushTarget, Sending, Told, read_targets
from holdfastd.a2a.agent_task_view import task_view
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.operations.act import Act, Doing
from holdfastd.operations.agent_messages import (
    BEGIN_AGENT_TASK,
    CONTINUE_AGENT_TASK,
    REMOVE_TARGET,
    SET_TARGET,
    RemoveTarget,
    SendAgentMessage,
    SetTarget,
    known_id,
)
from holdfastd.operations.tasks import CANCEL_TASK, ReasonedTask
from holdfastd.web.a2a.agent_card import extended_card
from holdfastd.web.a2a.task_list import listed
from holdfastd.web.a2a.task_stream import changes, with_emitted
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.queue.redaction import Redaction

LONGEST_WAIT = 300.0  # seconds; a client that wants to wait longer subscribes, or asks again


@dataclass(frozen=True, slots=True)
class Agent:
    access: QueueAccess

    async def rested(self, task_id: str) -> None:
        """Return when the task has ended or asks for input, and after LONGEST_WAIT seconds at the latest."""
        with suppress(TimeoutError):
            await self.access.manager.wait(task_id, timeout=LONGEST_WAIT)

    async def view(self, task_id: str) -> AgentTask:
        """The whole task as clients see it. Raises UnknownTaskError."""
        store, record = self.access.store, await self.access.manager.get_task(known_id(task_id))
        return await with_emitted(store, record, task_view(record, await store.about(task_id)))

    async def cancel(self, task_id: str, doing: Doing) -> AgentTask:
        """Cancel a task. Raises RpcError for a task that has ended, also for a canceled task: A2A demands this."""
        task = await self.view(task_id)
        if task.status.state not in TERMINAL:
            with suppress(TaskEndedError):
                await CANCEL_TASK.carry_out(doing, ReasonedTask(task_id))
                return await self.view(task_id)
            task = await self.view(task_id)
        raise RpcError(RpcCode.TASK_NOT_CANCELABLE, f"task {task_id} is {task.status.state}: it cannot be canceled")

    def follow(self, task_id: str) -> AsyncGenerator[Told]:
        """The whole task, then its changes until the task has ended or asks for input."""
        return changes(self.access, task_id, self.view)

    async def subscribe(self, task_id: str) -> AsyncGenerator[Told]:
        """Like `follow`. If the task asks for input now, the stream goes on until the task asks again or has ended.
        Raises RpcError for an ended task."""
        task = await self.view(task_id)
        if task.status.state in TERMINAL:
            text = f"task {task_id} is {task.status.state}: it has no more changes; get it instead"
            raise RpcError(RpcCode.UNSUPPORTED_OPERATION, text)
        return changes(self.access, task_id, self.view, from_rest=True)

    async def targets(self, task_id: str) -> list[PushTarget]:
        """The push settings of a task. Raises UnknownTaskError."""
        return read_targets(await self.access.store.push((await self.view(task_id)).task_id))

    async def target(self, task_id: str, target_id: str) -> PushTarget:
        """The task's push settings with this id. An empty id means the first settings. Raises RpcError."""
        for each in await self.targets(task_id):
            if target_id in ("", each.target_id):
                return each
        raise RpcError(RpcCode.TASK_NOT_FOUND, f"task {task_id} has no push notification settings with this id")


Stream = AsyncGenerator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Asking:
    """A call of a method. `trace`: the span in which the client calls. `base_url`: the URL of this server for the
    client. `patiently`: waits for work, at most as long as the client waits for its answer. `doing`: the surroundings
    of the method's act. `may_change`: false for a viewer. `redaction`: hides secrets from a viewer; None for others.
    `write`: makes the answer in the form of the method's A2A version."""

    agent: Agent
    trace: ProducerTrace
    base_url: str
    params: Any
    patiently: Callable[[], AbstractAsyncContextManager[Callable[[Awaitable[object]], Awaitable[None]]]]
    doing: Doing
    may_change: bool
    redaction: Redaction | None
    write: Callable[..., Any]

    def hide(self, value: Any) -> Any:
        return self.redaction.value(value) if self.redaction else value

    def seen(self, told: Told, written: dict[str, Any]) -> Any:
        """The written form of what is told, without secrets if the client is a viewer. In emitted parts, fewer names
        hide a value (PartRedaction)."""
        if self.redaction is None:
            return written
        of_parts = self.redaction.of_parts.value
        if isinstance(told, ArtifactChange) and not told.is_whole:
            return of_parts(written)
        shown = self.hide(written)
        if isinstance(told, AgentTask) and told.run and "artifacts" in (task := written.get("task", written)):
            shown.get("task", shown)["artifacts"][-1] = of_parts(task["artifacts"][-1])  # this artifact was emitted
        return shown


@dataclass(frozen=True, slots=True)
class Method:
    """A method of A2A. `act`: the act that the method carries out; None: the method only reads. `streams`: the method
    answers with a Stream, and carries out its act when the stream begins."""

    version: str
    name: str
    act: Act[Any, Any] | None
    params: type
    call: Callable[[Asking], Awaitable[Any]]
    write: Callable[..., Any]
    streams: bool = False


async def _send(asking: Asking) -> Any:
    sending = asking.params.sending
    if not sending.waits:
        task_id = await _accept(asking, sending)
    else:
        async with asking.patiently() as wait:  # refuses if too many requests wait, so before the message is accepted
            task_id = await _accept(asking, sending)
            await wait(asking.agent.rested(task_id))
    return asking.write((await asking.agent.view(task_id)).shortened(sending.history_length))


async def _stream(asking: Asking) -> Stream:
    sending = asking.params.sending
    task_id = await _accept(asking, sending)
    return _written(asking.agent.follow(task_id), asking.write, sending.history_length)


async def _subscribe(asking: Asking) -> Stream:
    told = await asking.agent.subscribe(asking.params.id)
    return _written(told, lambda each: asking.seen(each, asking.write(each)), None)


async def _get(asking: Asking) -> Any:
    task = await asking.agent.view(asking.params.id)
    return asking.seen(task, asking.write(task.shortened(asking.params.history_length)))


async def _cancel(asking: Asking) -> Any:
    return asking.write(await asking.agent.cancel(asking.params.id, asking.doing))


async def _list(asking: Asking) -> Any:
    wanted = asking.params.listing
    tasks, token, total = await listed(asking.agent.access, wanted, asking.agent.view)
    page = asking.write(tasks, token, wanted.size, total, with_artifacts=wanted.with_artifacts)
    return {**page, "tasks": [asking.seen(*each) for each in zip(tasks, page["tasks"], strict=True)]}


async def _set_push(asking: Asking) -> Any:
    given = SetTarget(asking.params.task_id, asking.params.target)
    return asking.write(given.task_id, await SET_TARGET.carry_out(asking.doing, given))


async def _get_push(asking: Asking) -> Any:
    params = asking.params
    return asking.write(params.task_id, _shown(asking, await asking.agent.target(params.task_id, params.target_id)))


async def _list_push(asking: Asking) -> Any:
    params = asking.params
    targets = [_shown(asking, each) for each in await asking.agent.targets(params.task_id)]
    return asking.write(params.task_id, targets, params.page)


async def _remove_push(asking: Asking) -> Any:
    await REMOVE_TARGET.carry_out(asking.doing, RemoveTarget(asking.params.task_id, asking.params.target_id))
    return asking.write()


def _shown(asking: Asking, target: PushTarget) -> PushTarget:
    """The push settings as the client may see them. A viewer sees neither the token nor the path of the URL, which may
    be a secret."""
    if asking.may_change:
        return target
    return msgspec.structs.replace(target, url=mask_webhook(target.url), **asking.hide({"token": target.token}))


async def _extended_card(asking: Asking) -> Any:
    return await extended_card(asking.agent.access, asking.base_url, asking.write())


SEND, READ = BEGIN_AGENT_TASK, None
UNKNOWN = "a2a"  # the name in Activity for a request without a known method

METHODS = (
    Method("1.0", "SendMessage", SEND, wire_1_0.SendParams10, _send, wire_1_0.sent),
    Method("1.0", "SendStreamingMessage", SEND, wire_1_0.SendParams10, _stream, wire_1_0.told, streams=True),
    Method("1.0", "GetTask", READ, wire_1_0.TaskParams, _get, wire_1_0.write_task),
    Method("1.0", "ListTasks", READ, wire_1_0.ListParams10, _list, wire_1_0.write_page),
    Method("1.0", "CancelTask", CANCEL_TASK, wire_1_0.TaskParams, _cancel, wire_1_0.write_task),
    Method("1.0", "SubscribeToTask", READ, wire_1_0.TaskParams, _subscribe, wire_1_0.told, streams=True),
    Method(
        "1.0", "CreateTaskPushNotificationConfig", SET_TARGET, wire_1_0.PushParams10, _set_push, wire_1_0.write_target
    ),
    Method("1.0", "GetTaskPushNotificationConfig", READ, wire_1_0.PushKey10, _get_push, wire_1_0.write_target),
    Method(
        "1.0", "ListTaskPushNotificationConfigs", READ, wire_1_0.PushListParams10, _list_push, wire_1_0.write_targets
    ),
    Method("1.0", "DeleteTaskPushNotificationConfig", REMOVE_TARGET, wire_1_0.PushKey10, _remove_push, dict),
    Method("1.0", "GetExtendedAgentCard", READ, wire_1_0.NoParams, _extended_card, lambda: "1.0"),
    Method("0.3", "message/send", SEND, wire_0_3.SendParams03, _send, wire_0_3.write_task),
    Method("0.3", "message/stream", SEND, wire_0_3.SendParams03, _stream, wire_0_3.told, streams=True),
    Method("0.3", "tasks/get", READ, wire_1_0.TaskParams, _get, wire_0_3.write_task),
    Method("0.3", "tasks/cancel", CANCEL_TASK, wire_1_0.TaskParams, _cancel, wire_0_3.write_task),
    Method("0.3", "tasks/resubscribe", READ, wire_1_0.TaskParams, _subscribe, wire_0_3.told, streams=True),
    Method(
        "0.3", "tasks/pushNotificationConfig/set", SET_TARGET, wire_0_3.PushParams03, _set_push, wire_0_3.write_target
    ),
    Method("0.3", "tasks/pushNotificationConfig/get", READ, wire_0_3.PushKey03, _get_push, wire_0_3.write_target),
    Method(
        "0.3", "tasks/pushNotificationConfig/list", READ, wire_0_3.PushListParams03, _list_push, wire_0_3.write_targets
    ),
    Method("0.3", "tasks/pushNotificationConfig/delete", REMOVE_TARGET, wire_0_3.PushKey03, _remove_push, lambda: None),
    Method("0.3", "agent/getAuthenticatedExtendedCard", READ, wire_1_0.NoParams, _extended_card, lambda: "0.3"),
)
WITHOUT_HEADER = "0.3"
VERSIONS = tuple(dict.fromkeys(method.version for method in METHODS))


def method_of(name: str, version: str) -> Method:
    """The method with this name in this version of A2A. An empty version means 0.3, whose clients send no header
    A2A-Version. Raises RpcError."""
    known = ".".join((version or WITHOUT_HEADER).split(".")[:2])
    if known not in VERSIONS:
        raise RpcError(
            RpcCode.VERSION_NOT_SUPPORTED, f"A2A-Version {version[:20]!r}: this agent speaks {' and '.join(VERSIONS)}"
        )
    for method in METHODS:
        if (method.name, method.version) == (name, known):
            return method
    text = f"method {name[:80]!r} is not known in A2A {known}"
    for other in METHODS:
        if other.name == name:
            text += f"; A2A {other.version} has it: send A2A-Version: {other.version}"
            raise RpcError(RpcCode.METHOD_NOT_FOUND, text, 400)  # an HTTP error, because an HTTP header is missing
    raise RpcError(RpcCode.METHOD_NOT_FOUND, text)


def change_of(name: str, is_of_task: bool) -> str:
    """The name in Activity of the change that a method makes, in any version; empty for a method that only reads.
    UNKNOWN if no method has this name. `is_of_task`: the message is for an existing task."""
    for method in METHODS:
        if method.name == name:
            act = CONTINUE_AGENT_TASK if method.act is SEND and is_of_task else method.act
            return act.name if act else ""
    return UNKNOWN


async def _accept(asking: Asking, sending: Sending) -> str:
    """Submit the message; the answer is the id of the task. Activity gets the entry now, because the task may take
    long."""
    act = CONTINUE_AGENT_TASK if sending.message.task_id else BEGIN_AGENT_TASK
    task_id = await act.carry_out(asking.doing, SendAgentMessage(sending.message, asking.trace, sending.target))
    await asking.doing.asked.write()
    return task_id


async def _written(
    told: AsyncGenerator[Told], write: Callable[[Told], dict[str, Any]], history_length: int | None
) -> Stream:
    try:
        async for each in told:
            yield write(each.shortened(history_length) if isinstance(each, AgentTask) else each)
    finally:
        await told.aclose()
