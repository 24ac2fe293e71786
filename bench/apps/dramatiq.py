"""dramatiq with its Results middleware, so that results are kept as elsewhere."""

from __future__ import annotations

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

broker = RedisBroker(url=place.URL)
broker.add_middleware(Results(backend=RedisBackend(url=place.URL), store_results=True))
dramatiq.set_broker(broker)


@dramatiq.actor
def noop(number: int, payload: str) -> None:
    record(number)


@dramatiq.actor
def timed(sent_ns: int) -> None:
    record(0, sent_ns)


@dramatiq.actor
def slow(number: int, seconds: float) -> None:
    place.block(number, seconds)


CALLS = Calls(lambda number: noop.send(number, PAYLOAD), timed.send, slow.send)
