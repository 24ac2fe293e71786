"""A page of tasks for clients, the last changed first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from holdfast.core.tasks import TaskRecord
from holdfast.errors import HoldfastError
from holdfastd.a2a.agent_task import AgentTask, Listing
from holdfastd.a2a.rpc_errors import RpcCode, RpcError
from holdfastd.a2a.task_view import changed_ms
from holdfastd.web.a2a.queue_order import QueueOrder, place_of
from holdfastd.web.queue.queue_access import QueueAccess

MOST = 1000  # tasks of one context that are looked at

_PLACE = re.compile(r"\d{15} .+")
_Cut = tuple[list[TaskRecord], str, int]  # a page of tasks, its token, and how many there are on all pages

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
    tasks = [task for task in await asyncio.gather(*(_view(view, record) for record in records)) if task is not None]
    tasks.sort(key=lambda task: task.status.at_ms, reverse=True)
    shown = [task.shortened(wanted.history_length) for task in tasks]
    return AgentTaskList(
        shown if wanted.with_artifacts else [replace(task, artifacts=()) for task in shown], token, wanted.size, total
    )


async def _of_queue(access: QueueAccess, wanted: Listing) -> _Cut:
    order = QueueOrder(access, wanted.states)
    if wanted.since_ms is not None:
        return _page_of(await order.changed_since(wanted.since_ms), wanted)
    records, token = await order.page(wanted.size, wanted.token)
    return records, token, await access.manager.count_tasks(*wanted.states)


async def _of_context(access: QueueAccess, wanted: Listing) -> _Cut:
    """The tasks that clients have sent in this context: its last ones."""
    context = await access.store.conversation(wanted.context_id)
    ids = list(context.task_ids)[-MOST:] if context else []
    found = await asyncio.gather(*(access.store.get(task_id, payloads=False) for task_id in ids))
    records = [each for each in found if each is not None and (not wanted.states or each.state in wanted.states)]
    return _page_of([each for each in records if changed_ms(each) >= (wanted.since_ms or 0)], wanted)


def _page_of(records: list[TaskRecord], wanted: Listing) -> _Cut:
    """The next of all these tasks, the last changed first. A token names the last task of the page before, so what
    changes meanwhile, and comes to the beginning, moves none behind it. Raises RpcError."""
    if wanted.token and not _PLACE.fullmatch(wanted.token):
        raise RpcError(RpcCode.INVALID_PARAMS, "pageToken: the nextPageToken of the page before is expected")
    places = sorted(((place_of(each), each) for each in records), key=lambda placed: placed[0], reverse=True)
    behind = [placed for placed in places if not wanted.token or placed[0] < wanted.token]
    page = behind[: wanted.size]
    token = page[-1][0] if len(behind) > wanted.size else ""
    return [each for _, each in page], token, len(records)


async def _view(view: View, record: TaskRecord) -> AgentTask | None:
    """None for a task that was deleted meanwhile."""
    try:
        return await view(record.task_id)
    except (RpcError, HoldfastError):
        return None
