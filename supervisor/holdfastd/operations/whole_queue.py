"""Acts on a whole queue: clear it, delete it, put back tasks of lost workers. Only the command line has these acts."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.task_filter import Age, age_ms
from holdfast.core.worker_records import Stray
from holdfastd.operations.act import Act, Doing
from holdfastd.operations.known import Create
from holdfastd.operations.lanes import known_lane

Silence = Annotated[
    Age,
    Meta(description="Time without a heartbeat after which a worker counts as lost. Default: lease plus its grace."),
]

PAGE = 500  # keys read at once

Lane = Annotated[str | None, Meta(description="Name of the lane. Default: the queue itself.")]


class ClearQueue(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The lane whose waiting tasks are canceled."""

    lane: Lane = None
    delayed: Annotated[bool, Meta(description="Also cancel tasks that are due later.")] = False
    create: Create = False


class ObliterateQueue(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`force`: delete the queue even while workers are registered."""

    force: Annotated[
        bool, Meta(description="Delete while workers are registered, too; results of their running tasks are lost.")
    ] = False


class RecoverTasks(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Whether tasks are only listed, and the time after which a worker counts as lost."""

    dry_run: Annotated[bool, Meta(description="List the tasks without changing them.")] = False
    silent_for: Silence = None


class Cleared(TypedDict):
    """The number of canceled tasks."""

    cleared: int


class Deleted(TypedDict):
    """The number of deleted keys."""

    deleted: int


class Recovered(TypedDict):
    """The tasks of lost workers."""

    tasks: list[Stray]


async def clear_queue(doing: Doing, given: ClearQueue) -> Cleared:
    """Cancel all tasks that wait in the queue. Running tasks continue."""
    lane = None if given.lane is None else await known_lane(doing, given.lane, given)
    doing.asked.subject = lane or doing.settings.queue_name
    return {"cleared": await doing.manager.clear_queue(lane, delayed=given.delayed, on_step=doing.step)}


async def obliterate_queue(doing: Doing, given: ObliterateQueue) -> Deleted:
    """Delete all data of this queue: tasks in every state, lanes, schedules, dead letters and history.

    Activity then has one entry: it names who deleted the queue.
    """
    doing.asked.subject = doing.settings.queue_name
    return {"deleted": await doing.manager.obliterate_queue(force=given.force, on_step=doing.step)}


async def recover_tasks(doing: Doing, given: RecoverTasks) -> Recovered:
    """Put tasks back into the queue that are marked as working but whose workers are dead, unknown or silent.

    Supervisors do this all the time. Use it for a queue without a running supervisor, or for tasks that an older system
    left behind. A worker that was only disconnected cancels these tasks when it is back.
    """
    settings, cursor, read, found = doing.settings, "", 0, dict[str, Stray]()
    if given.dry_run:
        doing.asked.change = ""  # nothing is changed
    asked_ms = age_ms("silent_for", given.silent_for)
    silence_ms = round((settings.lease + settings.lease_grace) * 1000) if asked_ms is None else asked_ms
    put_back, runs = not given.dry_run, settings.max_crashes
    while True:
        page = await doing.call(doing.store.strays, cursor, PAGE, silence_ms, put_back=put_back, max_crashes=runs)
        found |= {stray.task_id: stray for stray in page.found}
        doing.asked.done = len(found)
        read += PAGE  # an estimate: the store does not say how many keys it read
        if doing.on_step:
            doing.on_step(read)
        if not (cursor := page.cursor):
            return {"tasks": list(found.values())}


CLEAR_QUEUE = Act("queue/clear", ClearQueue, clear_queue, "lane")
OBLITERATE_QUEUE = Act("queue/obliterate", ObliterateQueue, obliterate_queue)
RECOVER_TASKS = Act("queue/recover", RecoverTasks, recover_tasks)
