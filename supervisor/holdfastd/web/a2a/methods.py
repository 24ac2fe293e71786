"""The methods of both versions, as a table."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from holdfast.client.submission import ProducerTrace
from holdfast_config.redis_urls import mask_webhook
from holdfastd.a2a import wire_0_3, wire_1_0
from holdfastd.a2a.agent_task import (
    AgentArtifact,
    AgentMessage,
    AgentStatus,
    AgentTask,
    ArtifactChange,
    PushTarget,
    Sending,
    StatusChange,
    Told,
)
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
)
from holdfastd.operations.tasks import CANCEL_TASK
from holdfastd.web.a2a.agent import Agent
from holdfastd.web.a2a.agent_card import card, handlers_of

# Hides secrets from viewers in what the agent tells of a task. Clients that may send get all values as they are.

Hide = Callable[[Any], Any]


def task_without(hide: Hide, task: AgentTask) -> AgentTask:
    """The task with its values passed through `hide`."""
    return replace(
        task,
        context_id=hide(task.context_id),
        status=_status(hide, task.status),
        artifacts=[_artifact(hide, each) for each in task.artifacts],
        history=[_message(hide, each) for each in task.history],
        metadata=hide(task.metadata),
    )


def target_without(hide: Hide, target: PushTarget) -> PushTarget:
    """The push settings with their token passed through `hide`, and without the path of their URL, which may be a
    secret."""
    return msgspec.structs.replace(target, url=mask_webhook(target.url), **hide({"token": target.token}))


def told_without(hide: Hide, told: Told) -> Told:
    """The item of a stream with its values passed through `hide`."""
    match told:
        case AgentTask():
            return task_without(hide, told)
        case StatusChange():
            return replace(told, context_id=hide(told.context_id), status=_status(hide, told.status))
        case ArtifactChange():
            return replace(told, context_id=hide(told.context_id), artifact=_artifact(hide, told.artifact))


def _status(hide: Hide, status: AgentStatus) -> AgentStatus:
    return replace(status, message=_message(hide, status.message)) if status.message else status


def _artifact(hide: Hide, artifact: AgentArtifact) -> AgentArtifact:
    return replace(artifact, parts=hide(artifact.parts))


def _message(hide: Hide, message: AgentMessage) -> AgentMessage:
    """Ids of messages and conversations are texts of a client, too."""
    return replace(
        message,
        message_id=hide(message.message_id),
        context_id=hide(message.context_id),
        parts=hide(message.parts),
        metadata=hide(message.metadata),
    )


Written = dict[str, Any] | list[dict[str, Any]] | None
Stream = AsyncGenerator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Asking:
    """A call of a method: in which span, at which URL, with which parameters. `patiently` waits for something, at most
    as long as the client waits for its answer. `doing`: the surroundings of its act. `may_change`: the client is no
    viewer. `hide` removes from a value what the client may not see."""

    agent: Agent
    trace: ProducerTrace
    base_url: str
    params: Any
    patiently: Callable[[], AbstractAsyncContextManager[Callable[[Awaitable[object]], Awaitable[None]]]]
    doing: Doing
    may_change: bool
    hide: Hide


@dataclass(frozen=True, slots=True)
class _NamedMethod:
    """`act`: that it carries out; None: it only reads."""

    version: str
    name: str
    act: Act[Any, Any] | None
    params: type


@dataclass(frozen=True, slots=True)
class Method(_NamedMethod):
    call: Callable[[Asking], Awaitable[Written]]


@dataclass(frozen=True, slots=True)
class StreamMethod(_NamedMethod):
    """A method that answers with a stream; its change is made when the stream begins."""

    call: Callable[[Asking], Awaitable[Stream]]


def _send(write: Callable[[AgentTask], Written]) -> Callable[[Asking], Awaitable[Written]]:
    async def send(asking: Asking) -> Written:
        sending = asking.params.sending
        if not sending.waits:
            task_id = await _accept(asking, sending)
        else:
            async with asking.patiently() as wait:  # before the message is accepted, as too many may wait
                task_id = await _accept(asking, sending)
                await wait(asking.agent.rested(task_id))
        return write((await asking.agent.view(task_id)).shortened(sending.history_length))

    return send


def _stream(write: Callable[[Told], dict[str, Any]]) -> Callable[[Asking], Awaitable[Stream]]:
    async def stream(asking: Asking) -> Stream:
        sending = asking.params.sending
        task_id = await _accept(asking, sending)
        return _written(asking.agent.follow(task_id), write, sending.history_length)

    return stream


def _subscribe(write: Callable[[Told], dict[str, Any]]) -> Callable[[Asking], Awaitable[Stream]]:
    async def subscribe(asking: Asking) -> Stream:
        return _written(
            await asking.agent.subscribe(asking.params.id), lambda told: write(told_without(asking.hide, told)), None
        )

    return subscribe


def _get(write: Callable[[AgentTask], Written]) -> Callable[[Asking], Awaitable[Written]]:
    async def get(asking: Asking) -> Written:
        task = (await asking.agent.view(asking.params.id)).shortened(asking.params.history_length)
        return write(task_without(asking.hide, task))

    return get


def _cancel(write: Callable[[AgentTask], Written]) -> Callable[[Asking], Awaitable[Written]]:
    async def cancel(asking: Asking) -> Written:
        return write(await asking.agent.cancel(asking.params.id, asking.doing))

    return cancel


async def _list(asking: Asking) -> Written:
    wanted = asking.params.listing
    found = await asking.agent.list(wanted)
    tasks = [task_without(asking.hide, each) for each in found.tasks]
    return wire_1_0.write_page(tasks, found.token, found.size, found.total, with_artifacts=wanted.with_artifacts)


def _set_push(write: Callable[[str, PushTarget], Written]) -> Callable[[Asking], Awaitable[Written]]:
    async def set_push(asking: Asking) -> Written:
        given = SetTarget(asking.params.task_id, asking.params.target)
        return write(given.task_id, await SET_TARGET.carry_out(asking.doing, given))

    return set_push


def _get_push(write: Callable[[str, PushTarget], Written]) -> Callable[[Asking], Awaitable[Written]]:
    async def get_push(asking: Asking) -> Written:
        params = asking.params
        return write(params.task_id, _shown(asking, await asking.agent.target(params.task_id, params.target_id)))

    return get_push


def _shown(asking: Asking, target: PushTarget) -> PushTarget:
    return target if asking.may_change else target_without(asking.hide, target)


def _list_push(write: Callable[[str, list[PushTarget], slice], Written]) -> Callable[[Asking], Awaitable[Written]]:
    async def list_push(asking: Asking) -> Written:
        params = asking.params
        targets = [_shown(asking, each) for each in await asking.agent.targets(params.task_id)]
        return write(params.task_id, targets, params.page)

    return list_push


def _remove_push(removed: Written) -> Callable[[Asking], Awaitable[Written]]:
    async def remove_push(asking: Asking) -> Written:
        given = RemoveTarget(asking.params.task_id, asking.params.target_id)
        await REMOVE_TARGET.carry_out(asking.doing, given)
        return removed

    return remove_push


def _extended_card(version: str) -> Callable[[Asking], Awaitable[Written]]:
    async def extended_card(asking: Asking) -> Written:
        access = asking.agent.access
        handlers = [access.redaction.handler(each) for each in await handlers_of(access)]
        return card(access.settings, asking.base_url, handlers, version, is_extended=True)

    return extended_card


SEND, READ = BEGIN_AGENT_TASK, None
UNKNOWN = "a2a"  # the change of a request that does not say which

METHODS: tuple[Method | StreamMethod, ...] = (
    Method("1.0", "SendMessage", SEND, wire_1_0.SendParams10, _send(wire_1_0.sent)),
    StreamMethod("1.0", "SendStreamingMessage", SEND, wire_1_0.SendParams10, _stream(wire_1_0.told)),
    Method("1.0", "GetTask", READ, wire_1_0.TaskParams10, _get(wire_1_0.write_task)),
    Method("1.0", "ListTasks", READ, wire_1_0.ListParams10, _list),
    Method("1.0", "CancelTask", CANCEL_TASK, wire_1_0.TaskParams10, _cancel(wire_1_0.write_task)),
    StreamMethod("1.0", "SubscribeToTask", READ, wire_1_0.TaskParams10, _subscribe(wire_1_0.told)),
    Method(
        "1.0", "CreateTaskPushNotificationConfig", SET_TARGET, wire_1_0.PushParams10, _set_push(wire_1_0.write_target)
    ),
    Method("1.0", "GetTaskPushNotificationConfig", READ, wire_1_0.PushKey10, _get_push(wire_1_0.write_target)),
    Method(
        "1.0", "ListTaskPushNotificationConfigs", READ, wire_1_0.PushListParams10, _list_push(wire_1_0.write_targets)
    ),
    Method("1.0", "DeleteTaskPushNotificationConfig", REMOVE_TARGET, wire_1_0.PushKey10, _remove_push({})),
    Method("1.0", "GetExtendedAgentCard", READ, wire_1_0.NoParams, _extended_card("1.0")),
    Method("0.3", "message/send", SEND, wire_0_3.SendParams03, _send(wire_0_3.write_task)),
    StreamMethod("0.3", "message/stream", SEND, wire_0_3.SendParams03, _stream(wire_0_3.told)),
    Method("0.3", "tasks/get", READ, wire_0_3.TaskParams03, _get(wire_0_3.write_task)),
    Method("0.3", "tasks/cancel", CANCEL_TASK, wire_0_3.TaskParams03, _cancel(wire_0_3.write_task)),
    StreamMethod("0.3", "tasks/resubscribe", READ, wire_0_3.TaskParams03, _subscribe(wire_0_3.told)),
    Method(
        "0.3", "tasks/pushNotificationConfig/set", SET_TARGET, wire_0_3.PushParams03, _set_push(wire_0_3.write_target)
    ),
    Method("0.3", "tasks/pushNotificationConfig/get", READ, wire_0_3.PushKey03, _get_push(wire_0_3.write_target)),
    Method(
        "0.3", "tasks/pushNotificationConfig/list", READ, wire_0_3.PushListParams03, _list_push(wire_0_3.write_targets)
    ),
    Method("0.3", "tasks/pushNotificationConfig/delete", REMOVE_TARGET, wire_0_3.PushKey03, _remove_push(None)),
    Method("0.3", "agent/getAuthenticatedExtendedCard", READ, wire_1_0.NoParams, _extended_card("0.3")),
)
WITHOUT_HEADER = "0.3"
VERSIONS = tuple(dict.fromkeys(method.version for method in METHODS))


def method_of(name: str, version: str) -> Method | StreamMethod:
    """The method that a client of this version calls; none: of 0.3, which had no such header. Raises RpcError."""
    known = ".".join((version or WITHOUT_HEADER).split(".")[:2])
    if known not in VERSIONS:
        raise RpcError(
            RpcCode.VERSION_NOT_SUPPORTED, f"A2A-Version {version[:20]!r}: {' and '.join(VERSIONS)} are spoken here"
        )
    for method in METHODS:
        if (method.name, method.version) == (name, known):
            return method
    text = f"method {name[:80]!r} is not known in A2A {known}"
    for other in METHODS:
        if other.name == name:
            text += f"; A2A {other.version} has it: send A2A-Version: {other.version}"
            raise RpcError(RpcCode.METHOD_NOT_FOUND, text, 400)  # what the client does not send is a matter of HTTP
    raise RpcError(RpcCode.METHOD_NOT_FOUND, text)


def change_of(name: str, is_of_task: bool) -> str:
    """What Activity calls the change that a method of this name makes, in any version; empty for what only reads. The
    name of the agent for a method that is none. `is_of_task`: the message is for a task that is there."""
    for method in METHODS:
        if method.name == name:
            act = CONTINUE_AGENT_TASK if method.act is SEND and is_of_task else method.act
            return act.name if act else ""
    return UNKNOWN


async def _accept(asking: Asking, sending: Sending) -> str:
    """Submit the message; returns the id of the task. It is noted in Activity now, because the task may take long."""
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
