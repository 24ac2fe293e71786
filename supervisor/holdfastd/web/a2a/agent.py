"""The operations of an agent on the queue, the same for each version of the protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass

from holdfast.core.task_states import TERMINAL
from holdfast.errors import TaskEndedError
from holdfastd.a2a.agent_task import AgentTask, Listing, PushTarget, Told, read_targets
from holdfastd.a2a.agent_task_view import task_view
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.operations.act import Doing
from holdfastd.operations.agent_messages import known_id
from holdfastd.operations.tasks import CANCEL_TASK, ReasonedTask
from holdfastd.web.a2a.task_list import AgentTaskList, listed
from holdfastd.web.a2a.task_stream import changes, with_emitted
from holdfastd.web.queue.queue_access import QueueAccess

LONGEST_WAIT = 300.0  # seconds; a client that wants to wait longer subscribes, or asks again


@dataclass(frozen=True, slots=True)
class Agent:
    access: QueueAccess

    async def rested(self, task_id: str) -> None:
        """Return when the task has ended or asks for something, or after a long while."""
        with suppress(TimeoutError):
            await self.access.manager.wait(task_id, timeout=LONGEST_WAIT)

    async def view(self, task_id: str) -> AgentTask:
        """Raises UnknownTaskError."""
        store, record = self.access.store, await self.access.manager.get_task(known_id(task_id))
        return await with_emitted(store, record, task_view(record, await store.about(task_id)))

    async def cancel(self, task_id: str, doing: Doing) -> AgentTask:
        """Raises RpcError for a task that has ended, also if it was canceled before: A2A wants it so."""
        task = await self.view(task_id)
        if task.status.state not in TERMINAL:
            with suppress(TaskEndedError):
                await CANCEL_TASK.carry_out(doing, ReasonedTask(task_id))
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

    async def targets(self, task_id: str) -> list[PushTarget]:
        """The push settings of a task. Raises UnknownTaskError."""
        return read_targets(await self.access.store.push((await self.view(task_id)).task_id))

    async def target(self, task_id: str, target_id: str) -> PushTarget:
        """The settings with this id; without an id the first. Raises RpcError."""
        for each in await self.targets(task_id):
            if target_id in ("", each.target_id):
                return each
        raise RpcError(RpcCode.TASK_NOT_FOUND, f"task {task_id} has no such push notification settings")

    async def list(self, listing: Listing) -> AgentTaskList:
        return await listed(self.access, listing, self.view)
