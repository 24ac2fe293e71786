"""huey: a result is stored, as the function returns one."""

from __future__ import annotations

from huey import RedisHuey

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

huey = RedisHuey("bench", url=place.URL)


@huey.task()
def noop(number: int, payload: str) -> int:
    record(number)
    return 1


@huey.task()
def timed(sent_ns: int) -> int:
    record(0, sent_ns)
    return 1


@huey.task()
def slow(number: int, seconds: float) -> int:
    place.block(number, seconds)
    return 1


CALLS = Calls(lambda number: noop(number, PAYLOAD), timed, slow)
