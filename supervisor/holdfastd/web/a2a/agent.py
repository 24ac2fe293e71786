"""The operations of an agent on the queue, the same for each version of the protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, replace

from holdfast.client.submission import raise_refusals
from holdfast.client.submit_trace import ProducerTrace
from holdfast.core.identity import is_task_id
from holdfast.core.messages import call_of
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Receipt
from holdfast.errors import UnknownTaskError
from holdfastd.a2a.agent_task import AgentMessage, AgentTask, Listing, Sending, Told
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.a2a.task_view import task_view
from holdfastd.web.a2a.accept import submission_of, task_id_of
from holdfastd.web.a2a.emitted_artifact import with_emitted
from holdfastd.web.a2a.push_targets import PushTargets
from holdfastd.web.a2a.task_list import AgentTaskList, listed
from holdfastd.web.a2a.task_stream import changes
from holdfastd.web.queue.queue_access import QueueAccess

LONGEST_WAIT = 300.0  # seconds; a client that wants to wait longer subscribes, or asks again


@dataclass(frozen=True, slots=True)
class AgentClient:
    """A program that has logged in. `origin`: the address that it calls from; `trace`: the span that it calls in."""

    who: str
    origin: str
    trace: ProducerTrace


@dataclass(frozen=True, slots=True)
class Agent:
    access: QueueAccess

    async def accept(self, sending: Sending, client: AgentClient) -> str:
        """Submit the message; the id of its task. The same message again is the same task, or changes nothing."""
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

    async def cancel(self, task_id: str, client: AgentClient) -> AgentTask:
        task = await self.view(task_id)
        if task.status.state not in TERMINAL:
            state = await self.access.manager.cancel_task(
                task_id, f"canceled by {client.who} through A2A, from {client.origin}"
            )
            if state is State.CANCELED:
                return await self.view(task_id)
            task = await self.view(task_id)
        raise RpcError(RpcCode.TASK_NOT_CANCELABLE, f"task {task_id} is {task.status.state}: it cannot be canceled")

    def follow(self, task_id: str) -> AsyncGenerator[Told]:
        """The task as it is, then its changes until it rests."""
        return changes(self.access, task_id, self.view)

    async def subscribe(self, task_id: str) -> AsyncGenerator[Told]:
        """As `follow`, of a task that asks for something until it rests again. Raises RpcError for one that has
        ended."""
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
        """That of the handler which the message names, if it was registered with one."""
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
