"""rq: plain functions, named by their module."""

from __future__ import annotations

from collections.abc import Sequence

from redis import Redis
from rq import Queue

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

queue = Queue("default", connection=Redis.from_url(place.URL))


def noop(number: int, payload: str) -> None:
    record(number)


def timed(sent_ns: int) -> None:
    record(0, sent_ns)


def slow(number: int, seconds: float) -> None:
    place.block(number, seconds)


def _many(numbers: Sequence[int]) -> None:
    queue.enqueue_many([Queue.prepare_data(noop, (number, PAYLOAD)) for number in numbers])


CALLS = Calls(
    lambda number: queue.enqueue(noop, number, PAYLOAD),
    lambda sent_ns: queue.enqueue(timed, sent_ns),
    lambda number, seconds: queue.enqueue(slow, number, seconds),
    _many,
)
