"""Documents of lanes, workers, schedules, webhooks, kinds of errors, unreadable entries and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

import msgspec

from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.activity import Happening
from holdfast.core.cadence import restored, words
from holdfast.core.error_kinds import ErrorKind
from holdfast.core.lanes import Lanes, LaneState, LimitOrder, UnreadableEntry
from holdfast.core.quiet_hosts import ALL_HOSTS, Quiet, QuietOrder
from holdfast.core.schedule_records import Occurrence, ScheduleRecord
from holdfast.core.webhook_notice import GivenUpNotice, Notice, Outbox, WaitingNotice
from holdfast.core.words import duration
from holdfast.core.worker_records import ServedLane, WorkerRecord
from holdfast_config.lanes import Rate, rate
from holdfast_config.redis_urls import mask_webhook
from holdfastd.documents.printed_times import Moment, document_of, moment, utc


class LimitDocument(TypedDict):
    """A limit. `value`: the one that applies, empty if there is none. `asked`: as an operator has set it. `told`: as
    the settings of `host` set it."""

    asked: str
    told: str
    host: str
    value: str


class ServedDocument(TypedDict):
    """Settings that workers registered for a lane. `timeout` in seconds."""

    weight: int | None
    timeout: float | None


class LaneDocument(TypedDict):
    """A lane. `waiting`: number of waiting tasks; `held`: how many of them wait outside of the list, for a limit or a
    handler. `missing`: handlers that no worker has, with the number of waiting tasks. `closed`: the reason why no task
    may start now."""

    lane: str
    waiting: int
    held: int
    running: int
    oldest_seconds: float | None
    workers: int
    weight: int | None
    timeout: float | None
    served: list[ServedDocument]
    missing: dict[str, int]
    paused: bool
    reason: str
    closed: str
    limit: LimitDocument
    per_key: LimitDocument
    rate: LimitDocument
    end: LimitDocument


def lane_document(lane: LaneState, snapshot: Lanes) -> LaneDocument:
    first = lane.served[0] if lane.served else None
    return document_of(
        LaneDocument,
        lane,
        lane=lane.name,
        oldest_seconds=None if lane.oldest_ms is None else max(0, snapshot.now_ms - lane.oldest_ms) / 1000,
        weight=first.weight if first else None,
        timeout=first.timeout if first else None,
        served=[document_of(ServedDocument, each) for each in lane.served],
        paused=lane.is_paused,
        reason=lane.paused_because,
        limit=document_of(LimitDocument, lane.limit),
        per_key=document_of(LimitDocument, lane.keys),
        rate=document_of(LimitDocument, lane.rate),
        end=document_of(LimitDocument, lane.end),
    )


def rate_words(order: LimitOrder) -> str:
    """The rate that applies now, in the form of the settings, for example 100/m; empty if there is none."""
    if not order.value:
        return ""
    given = read_rate(order.value)
    usual = rate(str(Rate(given.count, given.period_ms, 1))).burst
    return str(given) + ("" if given.burst == usual else f" burst {given.burst}")


# Describes lanes in words: their state, and the settings with which workers serve them.


def state_words(lane: LaneState) -> str:
    """`open`, or the reason why no task of the lane starts."""
    if lane.is_paused:
        return f"paused: {lane.paused_because}"
    if not lane.workers:
        return "no worker serves it"
    if lane.missing:
        return f"no worker has handler {', '.join(name or '(default)' for name in lane.missing)}"
    return {"limit": "at its limit", "rate": "at its rate"}.get(lane.closed, "open") if lane.waiting else "open"


def read_rate(stored: str) -> Rate:
    """Parse a rate from the store's text `count/period/burst`; the period is in milliseconds."""
    count, period, burst = map(int, stored.split("/"))
    return Rate(count, period, burst)


def weight_words(lane: LaneState) -> str:
    """The weights that the lane's workers have registered, nearly always a single one; empty without workers."""
    return _all(lane, lambda served: "in order" if served.weight is None else str(served.weight))


def timeout_words(lane: LaneState) -> str:
    """The time that a run in this lane may take, as its workers have registered; empty without workers or a limit."""
    return _all(lane, lambda served: duration(served.timeout) if served.timeout else "")


def _all(lane: LaneState, text: Callable[[ServedLane], str]) -> str:
    return " or ".join(dict.fromkeys(words for served in lane.served if (words := text(served))))


# Workers, and the orders to hosts to claim nothing, as documents.


class QuietDocument(TypedDict):
    """An order to claim no tasks, which applies now. `host`: null for all hosts. `word`: `quiet` or `halt`."""

    host: str | None
    word: str
    since: Moment | None
    by: str
    reason: str


class OrderDocument(TypedDict):
    """The answer to an order. `workers`: the number of workers to which it applies."""

    host: str | None
    word: str
    changed: bool
    workers: int


class EndedOrderDocument(OrderDocument):
    """The answer to the end of an order. `quiet`: the orders that remain."""

    quiet: list[QuietDocument]


class WorkerDocument(TypedDict):
    """A worker. The record of a dead worker is kept for a day. `died_ms`: its death in Unix milliseconds; `held`: the
    tasks that it had at its death."""

    incarnation: str
    state: str
    host: str
    pid: int
    slot: int
    running: list[str]
    beat_ago_ms: int
    cause: str
    died_ms: int | None
    held: list[str]
    quiet: bool
    kind: str


def quiet_documents(quiet: Sequence[Quiet]) -> list[QuietDocument]:
    return [
        document_of(
            QuietDocument,
            each,
            host=None if each.is_all else each.host,
            word="halt" if each.is_halt else "quiet",
            since=moment(each.since_ms),
        )
        for each in quiet
    ]


def order_document(host: str, word: str, order: QuietOrder) -> OrderDocument:
    return {
        "host": None if host == ALL_HOSTS else host,
        "word": word,
        "changed": order.is_new,
        "workers": order.workers,
    }


def ended_order_document(host: str, word: str, order: QuietOrder, remaining: Sequence[Quiet]) -> EndedOrderDocument:
    return {**order_document(host, word, order), "quiet": quiet_documents(remaining)}


def worker_document(worker: WorkerRecord) -> WorkerDocument:
    return document_of(
        WorkerDocument, worker, running=list(worker.running), held=list(worker.held), kind=str(worker.kind)
    )


# Schedules and their histories as documents.


class EndedRunDocument(TypedDict):
    """A run of a schedule that has ended."""

    task: str
    state: str
    at: Moment | None


class ScheduleDocument(TypedDict):
    """A schedule. `failures`: the number of tasks in a row that failed. `task`: the last task. `last`: the run that
    ended last. `spec`: the spec as it was set, without fields that have their defaults."""

    schedule: str
    state: Literal["active", "paused", "ended"]
    next: Moment | None
    due: Moment | None
    words: str
    timezone: str
    generation: int
    fires: int
    failures: int
    paused: str | None
    until: Moment | None
    ended: str | None
    task: str | None
    last: EndedRunDocument | None
    owner: str | None
    declared: bool
    created: Moment | None
    updated: Moment | None
    spec: ScheduleSpec


class OccurrenceDocument(TypedDict):
    """A line of a schedule's history."""

    at: Moment | None
    what: str
    scheduled_at: Moment | None
    task: str | None
    detail: str


def schedule_document(record: ScheduleRecord) -> ScheduleDocument:
    definition, last = record.definition, record.last
    return {
        "schedule": definition.schedule_id,
        "state": "paused" if record.paused else "ended" if record.ended else "active",
        "next": utc(record.expected),
        "due": utc(record.due),
        "words": words(restored(definition.cadence)),
        "timezone": definition.timezone,
        "generation": record.generation,
        "fires": record.fires,
        "failures": record.streak,
        "paused": record.paused or None,
        "until": utc(record.until),
        "ended": record.ended or None,
        "task": record.task or None,
        "last": None if last is None else {"task": last.task, "state": last.state, "at": utc(last.at)},
        "owner": definition.owner or None,
        "declared": definition.declared,
        "created": utc(record.created),
        "updated": utc(record.updated),
        "spec": msgspec.json.decode(definition.spec),
    }


def occurrence_document(line: Occurrence) -> OccurrenceDocument:
    return document_of(
        OccurrenceDocument, line, at=utc(line.at), scheduled_at=utc(line.scheduled_at), task=line.task or None
    )


# Webhooks that wait, as documents.


class WebhookDocument(TypedDict):
    """A webhook notice that waits to be delivered. `webhook`: its name. `url`: without secrets. `at`: when its task
    came to `state`. `due`: the next try. `why`: why the last try failed, or why the record cannot be read, or empty."""

    webhook: str
    task_id: str
    state: str
    url: str
    at: Moment | None
    tries: int
    due: Moment | None
    why: str


class GivenUpDocument(TypedDict):
    """A webhook notice that was given up. `webhook`: its name, with which it can be tried again. `url`: without
    secrets. `at`: when it was given up; `why`: the reason."""

    webhook: str
    task_id: str
    state: str
    url: str
    at: Moment | None
    tries: int
    why: str


def given_up_document(each: GivenUpNotice) -> GivenUpDocument:
    notice, at = each.notice, moment(each.given_up_ms)
    url = mask_webhook(notice.url)
    return document_of(GivenUpDocument, notice, webhook=notice.name, url=url, at=at, why=each.why)


def webhook_document(each: WaitingNotice) -> WebhookDocument:
    notice, due = each.notice, moment(each.due_ms)
    if isinstance(notice, Notice):
        url, at = mask_webhook(notice.url), moment(notice.at_ms)
        return document_of(WebhookDocument, notice, webhook=notice.name, url=url, at=at, due=due)
    return {
        "webhook": notice.name,
        "task_id": notice.name.partition("|")[0],
        "state": "",
        "url": "",
        "at": None,
        "tries": 0,
        "due": due,
        "why": notice.why,
    }


class OutboxDocument(TypedDict):
    """The webhooks that wait, the next to be tried first, and the last ones that were given up, the latest first.
    `total` webhooks wait. `url`: for tasks without a webhook of their own."""

    url: str
    total: int
    webhooks: list[WebhookDocument]
    given_up: list[GivenUpDocument]


def outbox_document(outbox: Outbox, given_up: Sequence[GivenUpNotice]) -> OutboxDocument:
    return {
        "url": mask_webhook(outbox.url) if outbox.url else "",
        "total": outbox.total,
        "webhooks": [webhook_document(each) for each in outbox.waiting],
        "given_up": [given_up_document(each) for each in given_up],
    }


# Kinds of errors, unreadable entries and events as documents.


class ErrorKindDocument(TypedDict):
    """A kind of errors. `kind`: its id, which the filter `error` of tasks takes. `place`: module and function.
    `message`: with `#` for each number or id, and `…` for each address, path or quoted value.
    `runs`: the failed runs since `first`.
    `failed`: the tasks that failed with it and were not retried; `dead`: the dead letters among them; `latest`: the
    id of one of the tasks that failed last."""

    kind: str
    handler: str
    type: str
    place: str
    message: str
    runs: int
    failed: int
    dead: int
    latest: str
    first: Moment | None
    last: Moment | None


def error_kind_document(each: ErrorKind) -> ErrorKindDocument:
    first, last = moment(each.first_ms), moment(each.last_ms)
    return document_of(ErrorKindDocument, each, kind=each.kind_id, first=first, last=last)


class UnreadableDocument(TypedDict):
    """An entry that was set aside. `size`: its bytes; `cut`: only its beginning is kept."""

    address: str
    at: Moment | None
    lane: str
    reason: str
    size: int
    cut: bool
    raw: str


class EventDocument(TypedDict):
    """An event. `id`: the id of the task or worker."""

    at: Moment | None
    position: str
    event: str
    id: str
    detail: str


def unreadable_document(each: UnreadableEntry) -> UnreadableDocument:
    raw = each.raw.decode("utf-8", "backslashreplace")
    return document_of(UnreadableDocument, each, at=moment(each.at_ms), size=each.size, cut=each.is_cut, raw=raw)


def event_document(event: Happening) -> EventDocument:
    return document_of(EventDocument, event, at=moment(event.at_ms), id=event.subject)
