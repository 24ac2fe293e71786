"""The pages of lanes, batches, webhooks, dead letters and unreadable entries."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.manager import TaskManager
from holdfast.client.task_filter import TaskFilter
from holdfast.core.batches import BatchPage, BatchRecord, TaskEnd
from holdfast.core.error_kinds import without_variables
from holdfast.core.lanes import LaneState, LimitOrder
from holdfast.core.rollup import HOUR, MINUTE
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, Wanted
from holdfast.core.webhook_notice import WaitingNotice
from holdfast.errors import HoldfastError
from holdfast_config.lanes import list_name
from holdfast_config.redis_urls import mask_webhook
from holdfastd.documents import queue_documents
from holdfastd.documents.queue_documents import WebhookDocument, given_up_document, webhook_document
from holdfastd.documents.task_list import chosen_columns, read_rows
from holdfastd.operations.batches import known_batch
from holdfastd.operations.error_statuses import NotFoundError, status_of
from holdfastd.operations.lanes import shown_lane
from holdfastd.operations.reading import read_texts
from holdfastd.operations.tasks import OPEN
from holdfastd.operations.unreadable import missing
from holdfastd.web.pages.report_pages import LEAST_POINTS, Chart, polyline, recent_errors
from holdfastd.web.queue.found_tasks import TaskSearch, filter_texts, found_tasks
from holdfastd.web.queue.queue_access import list_place, queue_of
from holdfastd.web.rendering import page

LATEST = 10  # tasks of one lane
OF_LANE = "task,handler,arguments,state,age,wait,duration,runs,reason"
HOURS = 6  # of the chart of a lane


async def lanes(
    request: Request, typed: Mapping[str, str] | None = None, error: HoldfastError | None = None
) -> Response:
    """The page of all lanes. `typed`: the fields of a refused rate of a handler; `error`: why it was refused."""
    access = queue_of(request)
    found = await access.manager.lanes(*access.settings.lane_names)
    return page(
        request,
        "lanes.html",
        status_of(error),
        lanes=sorted(found.lanes, key=_harm),
        now_ms=found.now_ms,
        depths=_courses(
            await access.store.depths(found.now_ms - HOUR),
            found.now_ms,
            {each.name: each.waiting for each in found.lanes},
        ),
        rates={name: (order, *_rate(order)) for name, order in found.handlers.items() if order.asked or order.told},
        names=[each.name for each in await access.store.published_handlers() if each.name],
        typed=typed or {},
        problem=str(error or ""),
    )


async def lane(
    request: Request, typed: Mapping[str, str] | None = None, error: HoldfastError | None = None
) -> Response:
    """The page of one lane. `typed`: the fields of refused limits; `error`: why they were refused."""
    access = queue_of(request)
    name = request.query_params.get("name", "") if typed is None else typed.get("lane", "")
    try:
        wanted = list_name(name)
    except ValueError as flaw:
        raise HTTPException(400, f"lane {name[:80]!r}: {flaw}") from None
    found, unknown = await access.manager.lanes(wanted), None
    try:
        await shown_lane(access.store, access.settings, wanted)
    except NotFoundError as not_found:  # the form accepts an unknown lane if `create` is checked
        unknown = not_found
    shown = next(each for each in found.lanes if each.name == wanted)
    tasks = (await access.store.tasks(Wanted(states=tuple(State), lane=wanted, newest_first=True), LATEST)).tasks
    names = dict.fromkeys(["", *(task.name for task in tasks)])
    served = await access.store.service([(wanted, each) for each in names])
    since, report = found.now_ms - HOURS * HOUR, await request.app.state.reports.of(HOUR)
    return page(
        request,
        "lane.html",
        status_of(error or unknown),
        lane=shown,
        now_ms=found.now_ms,
        living=found.living,
        servers=list(dict.fromkeys(server for each in served for server in each.servers)),
        tasks=await read_rows(access.store, tasks, access.redaction.value),
        columns=chosen_columns([OF_LANE]),
        depth=_depth(await access.store.depths(since), wanted, found.now_ms),
        figures=next((each for each in (report.lanes if report else ()) if each.now.name == wanted), None),
        unknown=str(unknown or ""),
        typed=_limits(shown) if typed is None else typed,
        problem=str(error or ""),
    )


def _harm(lane: LaneState) -> int:
    """The place of a lane in the list: first lanes whose tasks find no worker or no handler, then paused lanes, then
    lanes at a limit."""
    stops = lane.missing or (lane.waiting and not lane.workers)
    return next((place for place, is_so in enumerate((stops, lane.is_paused, lane.closed)) if is_so), 3)


Notes = Sequence[tuple[int, Mapping[str, int]]]  # for each note: its time in ms, and the waiting tasks by lane


def _courses(notes: Notes, now_ms: int, now: Mapping[str, int]) -> dict[str, tuple[str, float]]:
    """For each lane that has or had waiting tasks: the small chart (sparkline) of their number in the last hour, as the
    points of an SVG polyline, and the largest number. `now`: the present numbers. Empty with too few notes."""
    if len(notes) < LEAST_POINTS:
        return {}
    lanes = {lane for _, waiting in (*notes, (now_ms, now)) for lane, number in waiting.items() if number}
    courses = {lane: list[float | None]([None] * (HOUR // MINUTE + 1)) for lane in lanes}
    for ms, waiting in notes:
        for lane, course in courses.items():
            course[(ms - now_ms) // MINUTE - 1] = float(waiting.get(lane, 0))
    for lane, course in courses.items():
        course[-1] = float(now.get(lane, 0))
    return {lane: (polyline(course), max(each or 0.0 for each in course)) for lane, course in courses.items()}


def _depth(notes: Notes, lane: str, now_ms: int) -> Chart | None:
    """The chart of the number of tasks that waited in a lane. It shows the last hour, or the last HOURS if numbers of
    two hours are known. None if the store has noted too few numbers."""
    if len(notes) < LEAST_POINTS:
        return None
    at, depths = [ms // 1000 for ms, _ in notes], [float(waiting.get(lane, 0)) for _, waiting in notes]
    hours = 1 if notes[0][0] > now_ms - 2 * HOUR else HOURS
    title = f"Waiting tasks in the last {hours} hours" if hours > 1 else "Waiting tasks in the last hour"
    window = (now_ms - hours * HOUR) // 1000, now_ms // 1000
    return Chart(title, "", at, {"waiting": [*depths]}, window=window)


def _limits(lane: LaneState) -> dict[str, str]:
    """The limits that an operator has set, as the fields of the form."""
    rate, burst = _rate(lane.rate)
    return {"running": lane.limit.asked, "per_key": lane.keys.asked, "rate": rate, "burst": burst}


def _rate(order: LimitOrder) -> tuple[str, str]:
    """The rate and the burst that an operator has set, as the fields of a form."""
    if "/" not in order.asked:
        return order.asked, ""
    rate = queue_documents.read_rate(order.asked)
    return str(rate), str(rate.burst)


# The pages of batches: the list, the latest first, and one batch with its tasks.

PAGE = 50
OF_BATCH = "task,handler,arguments,state,lane,wait,duration,runs,reason"
ALL = "all"  # without it, the page of a batch with failures shows what has failed
ENDS = tuple(str(end) for end in TaskEnd if end is not TaskEnd.RETRIED)


BATCHES: dict[str, Callable[[BatchRecord], object]] = {  # usual filters of the list
    "failed": lambda each: each.counts.failed + each.counts.rejected,
    "open": lambda each: each.counts.open,
    "ended": lambda each: not each.counts.open,
}
LONGEST = 0.025  # seconds after which the search for batches reads no further page


class WantedBatches(NamedTuple):
    """A filter of batches. `state`: one of BATCHES, empty for all. `text`: a part of the id."""

    state: str
    text: str

    def admits(self, batch: BatchRecord) -> bool:
        return self.text in batch.batch_id and (not self.state or bool(BATCHES[self.state](batch)))


async def batches(request: Request) -> Response:
    query = request.query_params
    wanted = WantedBatches(query.get("state", ""), query.get("text", "").strip())
    if wanted.state and wanted.state not in BATCHES:
        raise HTTPException(400, f"state {wanted.state[:50]!r}: one of {', '.join(BATCHES)} is expected")
    found = await _found_batches(queue_of(request).manager, wanted, query.get("cursor", ""))
    return page(request, "batches.html", found=found, wanted=wanted, states=list(BATCHES))


async def _found_batches(manager: TaskManager, wanted: WantedBatches, cursor: str) -> BatchPage:
    """The batches from the cursor on that the filter admits; those of one page without a filter."""
    found, unreadable, until = list[BatchRecord](), list[str](), time.monotonic() + LONGEST
    while True:
        read = await manager.batches(PAGE, cursor)
        found += [each for each in read.batches if wanted.admits(each)]
        unreadable, cursor = [*unreadable, *read.unreadable], read.cursor
        if not cursor or len(found) >= PAGE // 2 or time.monotonic() >= until:
            return BatchPage(tuple(found), cursor, tuple(unreadable))


async def batch(request: Request) -> Response:
    access, query = queue_of(request), request.query_params
    asked = query.get("end", "")
    if asked and asked not in (ALL, *ENDS):
        raise HTTPException(400, f"end {asked[:50]!r}: one of {', '.join((ALL, *ENDS))} is expected")
    record = await known_batch(access.store, query.get("id", ""))
    wanted = "" if asked == ALL else asked or (TaskEnd.FAILED if record.counts.failed else "")
    states = OPEN if wanted == TaskEnd.OPEN else [State(wanted)] if wanted in set(State) else State
    found = await found_tasks(
        access, TaskSearch(state=[*states], batch=record.batch_id), PAGE, query.get("cursor", ""), newest_first=False
    )
    return page(
        request,
        "batch.html",
        batch=record,
        ends=ENDS,
        wanted=wanted,
        tasks=[] if wanted == TaskEnd.GONE else await read_rows(access.store, found.tasks, access.redaction.value),
        columns=chosen_columns([OF_BATCH]),
        kinds=_kinds(found.tasks) if wanted == TaskEnd.FAILED else (),
        left=_left(record),
        cursor="" if wanted == TaskEnd.GONE else found.cursor,
    )


class FailedKind(NamedTuple):
    """The failed tasks of a list with one handler and one kind of error. `reason`: without the parts that differ."""

    handler: str
    kind_id: str
    reason: str
    number: int


def _kinds(tasks: Sequence[TaskRecord]) -> list[FailedKind]:
    """The kinds of errors of these tasks, the most frequent first."""
    first = {(task.name, task.error_kind): task.reason for task in reversed(tasks)}
    counts = Counter((task.name, task.error_kind) for task in tasks)
    return [FailedKind(*key, _of_kind(first[key]), number) for key, number in counts.most_common()]


def _of_kind(reason: str) -> str:
    kind, colon, message = reason.partition(": ")
    return f"{kind}{colon}{without_variables(message)}"


def _left(batch: BatchRecord) -> float | None:
    """The seconds until the open tasks of the batch have ended, if they end as fast as the others did; None if that
    cannot be said."""
    passed, ended = batch.now_ms - batch.created_ms, batch.counts.ended
    return passed / 1000 * batch.counts.open / ended if ended and batch.counts.open and passed > 0 else None


# The page of webhooks: those that wait to be delivered, the next one to be tried first, and those that were given up.


async def webhooks(request: Request) -> Response:
    access, after = queue_of(request), list_place(request)
    outbox, counters = await access.store.outbox(after, PAGE), (await access.store.counts()).counters
    following = after + PAGE if after + PAGE < outbox.total else None
    return page(
        request,
        "webhooks.html",
        url=mask_webhook(outbox.url) if outbox.url else "",
        total=outbox.total,
        waiting=_by_receiver([(each, webhook_document(each)) for each in outbox.waiting]),
        given_up=[(each, given_up_document(each)) for each in await access.store.given_up(PAGE)] if not after else (),
        delivered=counters.get("webhooks", 0),
        dropped=counters.get("webhooks-dropped", 0),
        following=following,
        now_ms=await access.store.clock_ms(),
    )


Waiting = tuple[WaitingNotice, WebhookDocument]


def _by_receiver(waiting: Sequence[Waiting]) -> dict[str, list[Waiting]]:
    """The notices by the host of their receiver; the host first whose notice is tried next."""
    found = dict[str, list[Waiting]]()
    for each in waiting:
        found.setdefault(urlsplit(each[1]["url"]).netloc, []).append(each)
    return found


WEEK_MS = 604_800_000  # the course of a kind with dead letters

# The pages of dead letters (tasks that failed for good) and of unreadable entries (entries that are no valid tasks).


async def dead(request: Request) -> Response:
    """The page of dead letters: their kinds of errors, and a list that can be filtered like the list of tasks."""
    access, query = queue_of(request), request.query_params
    wanted = read_texts(filter_texts(query, TaskFilter), TaskFilter)
    if wanted.query:
        failed = replace(wanted, state=[State.FAILED])
        found = await found_tasks(access, failed, PAGE, query.get("cursor", ""))
        found = dataclasses.replace(found, tasks=tuple(task for task in found.tasks if task.dead))
    else:
        failed, found = TaskFilter(state=[State.FAILED]), await access.store.dead_letters(PAGE, query.get("cursor", ""))
    return page(
        request,
        "dead.html",
        wanted=wanted,
        failed=failed,
        found=found,
        rows=await read_rows(access.store, found.tasks, access.redaction.value),
        kinds=await recent_errors(request, WEEK_MS, wanted.name, dead=True),
    )


async def unreadable(request: Request) -> Response:
    access = queue_of(request)
    counts = await access.store.counts()
    return page(request, "unreadable.html", entries=await access.store.unreadable(PAGE), all=counts.unreadable)


async def entry(request: Request) -> Response:
    access, address = queue_of(request), request.query_params.get("address", "")
    found = await access.store.unreadable_at(address)
    if found is None:
        raise missing(address)
    return page(request, "entry.html", entry=found)
