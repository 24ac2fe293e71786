"""One measurement: fill a queue, let two workers empty it, then time single tasks on the quiet queue."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import uvloop

from bench import bare, producing
from bench.environ import environ
from bench.pool import folder, pool
from bench.producing import Producer
from bench.records import Records, records
from bench.server import server
from bench.waiting import until

TASKS = 20_000
SINGLY = 4_000  # of them are submitted one at a time
QUIET = 334  # tasks that are timed on the quiet queue, after some that are not
UNTIMED = 20
WORKERS = 2
PATIENCE = 120.0  # seconds
HANDLER = "bench.handlers:noop"

Producing = AbstractAsyncContextManager[Producer]


@dataclass(slots=True)
class Measured:
    """Rates in tasks a second, latencies from submit to handler in milliseconds."""

    drain: float = 0.0
    singly: float = 0.0
    in_batches: float = 0.0
    latencies: list[float] = field(default_factory=list[float])
    others: float = 0.0  # cores that were busy with something else


def of_bare() -> Measured:
    """The hand-written loop, on a server that keeps nothing on disk."""
    measured = Measured()
    with records() as seen, folder() as place, server(place) as url:
        uvloop.run(_fill(producing.by_hand(url), measured))
        with bare.workers(url, WORKERS, environ(seen)):
            _emptied(seen, measured)
            uvloop.run(_quiet(producing.by_hand(url), seen, measured))
    return measured


def of_ours(*flags: str) -> Measured:
    """The pool with these flags, on such a server."""
    measured = Measured()
    with records() as seen, folder() as place, server(place) as url:
        uvloop.run(_fill(producing.ours(url), measured))
        with pool(HANDLER, WORKERS, place, environ(seen), "--redis-url", url, *flags):
            _measure_ours(url, seen, measured)
    return measured


def of_embedded() -> Measured:
    """The pool as it is without any flag: on its embedded store, which writes to its AOF every second."""
    measured = Measured()
    with records() as seen, folder() as place:
        with pool(HANDLER, 1, place, environ(seen), "--queue-name", "elsewhere") as idle:
            uvloop.run(_fill(producing.ours(idle.url), measured))
        with pool(HANDLER, WORKERS, place, environ(seen)) as working:
            _measure_ours(working.url, seen, measured)
    return measured


def _measure_ours(url: str, seen: Records, measured: Measured) -> None:
    _emptied(seen, measured)
    uvloop.run(producing.all_completed(url, TASKS))
    uvloop.run(_quiet(producing.ours(url), seen, measured))


async def _fill(producing: Producing, measured: Measured) -> None:
    async with producing as producer:
        measured.singly = await producer.singly(range(SINGLY))
        measured.in_batches = await producer.in_batches(range(SINGLY, TASKS))


def _emptied(seen: Records, measured: Measured) -> None:
    until(lambda: seen.count() >= TASKS, PATIENCE, "all tasks have run")
    ran = seen.read()
    assert {record.number for record in ran} == set(range(TASKS)), "some task has not run"
    assert len(ran) == TASKS, "some task has run twice"
    measured.drain = (TASKS - 1) / ((ran[-1].at_ns - ran[0].at_ns) / 1e9)


async def _quiet(producing: Producing, seen: Records, measured: Measured) -> None:
    start = seen.count()
    async with producing as producer:
        await producer.quietly(range(TASKS, TASKS + UNTIMED + QUIET))
    until(lambda: seen.count() >= start + UNTIMED + QUIET, PATIENCE, "the timed tasks have run")
    timed = seen.read(start)[UNTIMED:]
    measured.latencies = [(record.at_ns - record.sent_ns) / 1e6 for record in timed]
