"""A page of tasks for clients, the last changed first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from holdfast.core.tasks import TaskRecord
from holdfast.errors import HoldfastError
from holdfastd.a2a.agent_task import AgentTask, Listing
from holdfastd.a2a.rpc_errors import RpcError
from holdfastd.a2a.task_view import changed_ms
from holdfastd.a2a.wire_1_0 import offset_of
from holdfastd.web.a2a.queue_order import QueueOrder
from holdfastd.web.queue.queue_access import QueueAccess

MOST = 1000  # tasks of one context that are looked at

View = Callable[[str], Awaitable[AgentTask]]


@dataclass(frozen=True, slots=True)
class AgentTaskList:
    """`token` continues the list, empty at its end; `total`: tasks on all pages."""

    tasks: list[AgentTask]
    token: str
    size: int
    total: int


async def listed(access: QueueAccess, wanted: Listing, view: View) -> AgentTaskList:
    """Raises RpcError for a token that cannot be."""
    records, token, total = await (_of_context if wanted.context_id else _of_queue)(access, wanted)
    if wanted.since_ms is not None:
        records = [record for record in records if changed_ms(record) >= wanted.since_ms]
    tasks = [task for task in await asyncio.gather(*(_view(view, record) for record in records)) if task is not None]
    tasks.sort(key=lambda task: task.status.at_ms, reverse=True)
    shown = [task.shortened(wanted.history_length) for task in tasks]
    return AgentTaskList(
        shown if wanted.with_artifacts else [replace(task, artifacts=()) for task in shown], token, wanted.size, total
    )


async def _of_queue(access: QueueAccess, wanted: Listing) -> tuple[list[TaskRecord], str, int]:
    records, token = await QueueOrder(access, wanted.states).page(wanted.size, wanted.token)
    return records, token, await access.manager.count_tasks(*wanted.states)


async def _of_context(access: QueueAccess, wanted: Listing) -> tuple[list[TaskRecord], str, int]:
    """The tasks that clients have sent in this context: its last ones."""
    start = offset_of(wanted.token)
    context = await access.store.conversation(wanted.context_id)
    ids = list(context.task_ids)[-MOST:] if context else []
    found = await asyncio.gather(*(access.store.get(task_id, payloads=False) for task_id in ids))
    records = [each for each in found if each is not None and (not wanted.states or each.state in wanted.states)]
    records.sort(key=changed_ms, reverse=True)
    end = start + wanted.size
    return records[start:end], str(end) if end < len(records) else "", len(records)


async def _view(view: View, record: TaskRecord) -> AgentTask | None:
    """None for a task that was deleted meanwhile."""
    try:
        return await view(record.task_id)
    except (RpcError, HoldfastError):
        return None
