"""Workers, and the orders to hosts to claim nothing, as documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from holdfast.core.quiet_hosts import ALL_HOSTS, Quiet, QuietOrder
from holdfast.core.worker_records import WorkerRecord
from holdfastd.documents.times import Moment, moment


class QuietDocument(TypedDict):
    """An order in force. `host`: null for all; `word`: quiet or halt."""

    host: str | None
    word: str
    since: Moment | None
    by: str
    reason: str


class OrderDocument(TypedDict):
    """The answer to an order. `workers`: the number that it is for."""

    host: str | None
    word: str
    changed: bool
    workers: int


class EndedOrderDocument(OrderDocument):
    """The answer to the end of an order. `quiet`: the orders that remain."""

    quiet: list[QuietDocument]


class WorkerDocument(TypedDict):
    """A worker. A dead one is kept for a day; `died_ms`: Unix milliseconds; `held`: the tasks that it had then."""

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
        {
            "host": None if each.is_all else each.host,
            "word": "halt" if each.is_halt else "quiet",
            "since": moment(each.since_ms),
            "by": each.by,
            "reason": each.reason,
        }
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
    return {
        "incarnation": worker.incarnation,
        "state": worker.state,
        "host": worker.host,
        "pid": worker.pid,
        "slot": worker.slot,
        "running": list(worker.running),
        "beat_ago_ms": worker.beat_ago_ms,
        "cause": worker.cause,
        "died_ms": worker.died_ms,
        "held": list(worker.held),
        "quiet": worker.quiet,
        "kind": str(worker.kind),
    }
