"""celery with its Redis broker and Redis results."""

from __future__ import annotations

from celery import Celery

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

app = Celery("bench.apps.celery", broker=place.URL, backend=place.URL)


@app.task(name="noop")
def noop(number: int, payload: str) -> None:
    record(number)


@app.task(name="timed")
def timed(sent_ns: int) -> None:
    record(0, sent_ns)


@app.task(name="slow")
def slow(number: int, seconds: float) -> None:
    place.block(number, seconds)


CALLS = Calls(lambda number: noop.delay(number, PAYLOAD), timed.delay, slow.delay)
