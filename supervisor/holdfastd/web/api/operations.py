"""The operations on lanes, handlers, hosts, schedules and webhooks, and OPERATIONS, the table of all operations."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.cadence import restored, words
from holdfast.core.cadence.moments import read_moment
from holdfastd.documents import printed_times, queue_documents
from holdfastd.documents.task_documents import TaskCounts, decoded, task_counts
from holdfastd.operations import hosts, lanes, schedules, webhooks
from holdfastd.operations.act import Face
from holdfastd.operations.submit_tasks import Unchecked
from holdfastd.web.access.forms import doing
from holdfastd.web.api.operation import ApiCall, ApiOperation, Limit, PageQuery, route
from holdfastd.web.api.reports import REPORTS
from holdfastd.web.api.task_operations import BATCHES, BULK, INTAKE, SET_ASIDE, TASKS


class LaneList(TypedDict):
    """`handlers`: the rate limit of each handler; `quiet`: the orders to hosts to claim no more tasks."""

    lanes: list[queue_documents.LaneDocument]
    handlers: dict[str, str]
    quiet: list[queue_documents.QuietDocument]


class QueueLength(TypedDict):
    """The number of waiting entries: of all lanes, and of each lane."""

    length: int
    lanes: dict[str, int]


class PeekQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    lane: Annotated[str | None, Meta(description="Name of the lane. Default: the queue itself.")] = None
    limit: Limit = 10


class PeekedEntries(TypedDict):
    """The next entries. An entry is a JSON value, or a text if the entry is not JSON."""

    entries: list[Any]


async def list_lanes(call: ApiCall) -> LaneList:
    """List lanes: waiting and running tasks, workers, weight, timeout, limits, and why a lane does not move."""
    snapshot = await call.manager.lanes(*call.access.settings.lane_names)
    return {
        "lanes": [queue_documents.lane_document(lane, snapshot) for lane in snapshot.lanes],
        "handlers": {name: queue_documents.rate_words(order) for name, order in snapshot.handlers.items()},
        "quiet": queue_documents.quiet_documents(await call.store.quiet_hosts()),
    }


async def get_lane(call: ApiCall, lane: lanes.Lane) -> queue_documents.LaneDocument:
    """Show one lane in full."""
    name = await lanes.shown_lane(call.store, call.access.settings, lane)
    snapshot = await call.manager.lanes(name)
    found = next(each for each in snapshot.lanes if each.name == name)
    return queue_documents.lane_document(found, snapshot)


async def queue_length(call: ApiCall) -> QueueLength:
    """Show the number of waiting entries of each lane."""
    waiting = (await call.store.counts()).lanes
    return {"length": sum(waiting.values()), "lanes": waiting}


async def queue_count(call: ApiCall) -> TaskCounts:
    """Count tasks by state."""
    return task_counts(await call.store.counts())


async def queue_peek(call: ApiCall, query: PeekQuery) -> PeekedEntries:
    """Show the next entries without removing them."""
    settings = call.access.settings
    lane = settings.queue_name if query.lane is None else await lanes.shown_lane(call.store, settings, query.lane)
    return {"entries": [decoded(entry) for entry in await call.store.peek_entries(lane, query.limit)]}


LIMITS = {"running": 20, "per_key": None, "rate": "100/m"}
LANES = (
    ApiOperation("GET", "/lanes", list_lanes),
    ApiOperation("GET", "/lanes/{lane}", get_lane),
    route("POST", "/lanes/{lane}/pause", lanes.PAUSE_LANE),
    route("POST", "/lanes/{lane}/resume", lanes.RESUME_LANE),
    route("PUT", "/lanes/{lane}/limits", lanes.LIMIT_LANE, examples={"limits": LIMITS}),
    route("DELETE", "/lanes/{lane}/limits", lanes.RESET_LANE),
    route("PUT", "/handlers/{handler}/limits", lanes.LIMIT_HANDLER, examples={"rate": {"rate": "5/s"}}),
    route("DELETE", "/handlers/{handler}/limits", lanes.RESET_HANDLER),
    ApiOperation("GET", "/queue/length", queue_length),
    ApiOperation("GET", "/queue/count", queue_count),
    ApiOperation("GET", "/queue/peek", queue_peek),
)


class WorkerList(TypedDict):
    workers: list[queue_documents.WorkerDocument]


class HostList(TypedDict):
    """`hosts`: the number of live workers of each host; `quiet`: the orders to hosts to claim no more tasks."""

    hosts: dict[str, int]
    quiet: list[queue_documents.QuietDocument]


async def list_workers(call: ApiCall) -> WorkerList:
    """List the workers of all hosts, also those that died within a day."""
    return {"workers": [queue_documents.worker_document(worker) for worker in await call.manager.workers()]}


async def list_hosts(call: ApiCall) -> HostList:
    """List the hosts of the queue, and the orders to claim no more tasks."""
    hosts = dict[str, int]()
    for worker in await call.manager.workers():
        if worker.state != "dead":
            hosts[worker.host] = hosts.get(worker.host, 0) + 1
    return {"hosts": hosts, "quiet": queue_documents.quiet_documents(await call.store.quiet_hosts())}


HOSTS = (
    ApiOperation("GET", "/workers", list_workers),
    ApiOperation("GET", "/hosts", list_hosts),
    route("POST", "/hosts/quiet", hosts.QUIET_HOSTS),
    route("POST", "/hosts/resume", hosts.RESUME_HOSTS),
)


class ScheduleList(TypedDict):
    """A page of schedules, the next to fire first. `unreadable`: ids of schedules that cannot be read, with the reason;
    `cursor`: continues the list, empty on the last page."""

    schedules: list[queue_documents.ScheduleDocument]
    unreadable: dict[str, str]
    cursor: str


class HistoryQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Limit = 100


class ScheduleHistory(TypedDict):
    """The fires and their outcomes, newest first."""

    history: list[queue_documents.OccurrenceDocument]


class NextQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    count: Annotated[int, Meta(ge=1, le=1000, description="Number of fires.")] = 5
    after: Annotated[schedules.Time | None, Meta(description="Show the moments after this time. Default: now.")] = None


class FireTime(TypedDict):
    """A moment in the schedule's time zone and in UTC."""

    local: str
    utc: printed_times.Moment | None


class NextFires(TypedDict):
    words: str
    timezone: str
    next: list[FireTime]


async def list_schedules(call: ApiCall, query: PageQuery) -> ScheduleList:
    """List schedules in the order of their next fires."""
    page = await call.manager.schedules.list(query.limit, query.cursor)
    return {
        "schedules": [queue_documents.schedule_document(each) for each in page.schedules],
        "unreadable": {each.schedule_id: each.why for each in page.spoilt},
        "cursor": page.cursor,
    }


async def get_schedule(call: ApiCall, schedule_id: schedules.ScheduleId) -> queue_documents.ScheduleDocument:
    """Show a schedule in full."""
    return queue_documents.schedule_document(await call.manager.schedules.get(schedule_id))


class SetQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    unchecked: Unchecked = False


async def put_schedule(
    call: ApiCall, schedule_id: schedules.ScheduleId, body: ScheduleSpec, query: SetQuery
) -> schedules.PutSchedule:
    """Create or change a schedule. An equal definition changes nothing, but restarts a schedule that has ended.

    A handler or arguments that do not fit what live workers have published are refused, unless `unchecked` is set.
    """
    answer = await schedules.SET_SCHEDULE.carry_out(
        doing(call.access, call.asked, Face.API), schedules.SetSchedule(schedule_id, body, unchecked=query.unchecked)
    )
    call.status = 201 if answer["word"] == "new" else 200
    return answer


async def schedule_history(call: ApiCall, schedule_id: schedules.ScheduleId, query: HistoryQuery) -> ScheduleHistory:
    """Show the history of a schedule's fires, newest first. The last hundred lines are kept."""
    lines = await call.manager.schedules.history(schedule_id, query.limit)
    if not lines:  # a known schedule has at least one line: the schedule was set
        await call.manager.schedules.get(schedule_id)
    return {"history": [queue_documents.occurrence_document(line) for line in lines]}


async def next_fires(call: ApiCall, schedule_id: schedules.ScheduleId, query: NextQuery) -> NextFires:
    """Show the next fires of a schedule, in its time zone and in UTC."""
    definition = (await call.manager.schedules.get(schedule_id)).definition
    after = None if query.after is None else read_moment(query.after, definition.timezone)
    moments = await call.manager.schedules.preview(schedule_id, query.count, after)
    return {
        "words": words(restored(definition.cadence)),
        "timezone": definition.timezone,
        "next": [
            {"local": printed_times.zoned(each, definition.timezone), "utc": printed_times.utc(each)}
            for each in moments
        ],
    }


EXAMPLES = {
    "nightly": {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "name": "billing.close_day"},
    "interval": {"every": "5m", "text": "sweep", "overlap": "queue-one"},
}
SCHEDULES = (
    ApiOperation("GET", "/schedules", list_schedules),
    ApiOperation("GET", "/schedules/{schedule_id}", get_schedule),
    ApiOperation("PUT", "/schedules/{schedule_id}", put_schedule, schedules.SET_SCHEDULE, (200, 201), EXAMPLES),
    route("DELETE", "/schedules/{schedule_id}", schedules.REMOVE_SCHEDULE),
    route("POST", "/schedules/{schedule_id}/run", schedules.RUN_SCHEDULE),
    route("POST", "/schedules/{schedule_id}/pause", schedules.PAUSE_SCHEDULE),
    route("POST", "/schedules/{schedule_id}/resume", schedules.RESUME_SCHEDULE),
    ApiOperation("GET", "/schedules/{schedule_id}/history", schedule_history),
    ApiOperation("GET", "/schedules/{schedule_id}/next", next_fires),
)


Offset = Annotated[
    str, Meta(pattern=r"^[0-9]{0,7}$", description="Continue after an earlier page: the cursor of that page.")
]


class WebhookQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Limit = 100
    cursor: Offset = ""


class WebhookList(queue_documents.OutboxDocument):
    """A page of waiting webhooks, and the last ones that were given up; these can be tried again. `total` webhooks
    wait. `url`: for tasks without a webhook of their own. `cursor`: continues the list, empty on the last page."""

    cursor: str


async def list_webhooks(call: ApiCall, query: WebhookQuery) -> WebhookList:
    """List webhooks that wait to be delivered, the next to be tried first, and the last ones that were given up."""
    outbox = await call.store.outbox(int(query.cursor or 0), query.limit)
    following = int(query.cursor or 0) + query.limit
    listed = queue_documents.outbox_document(outbox, await call.store.given_up(query.limit))
    return {**listed, "cursor": str(following) if following < outbox.total else ""}


WEBHOOKS = (
    ApiOperation("GET", "/webhooks", list_webhooks),
    route("POST", "/webhooks/{webhook}/retry", webhooks.RETRY_WEBHOOK),
    route("POST", "/webhooks/{webhook}/give-up", webhooks.GIVE_UP_WEBHOOK),
)


OPERATIONS = (*INTAKE, *TASKS, *BULK, *LANES, *HOSTS, *SCHEDULES, *BATCHES, *SET_ASIDE, *WEBHOOKS, *REPORTS)
