"""Fills a queue as one that was long in use: tasks in all states, a hundred handlers, lanes, schedules, figures."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from bench.producing import QUEUE
from holdfast import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.rollup import (
    MINUTE,
    MINUTES_KEPT_MS,
    PACKED,
    PACKED_BYTES,
    PACKED_KEPT_MS,
    Figures,
    Histogram,
    Rollup,
    Series,
    bucketed,
    fields_of,
    packed,
    sum_of,
)
from holdfast.core.worker_records import Introduction
from holdfast.store.redis import RedisStore

HANDLERS = 100
LANES = (QUEUE, *(f"lane-{number}" for number in range(9)))
WORKERS = 40
SCHEDULES = 500
BATCHES = 20
AT_ONCE = 1000  # tasks of one submit
SLOTS = 100
WAITING = 0.15  # of all tasks; 0.02 are delayed, the others have ended
DELAYED = 0.02
FAILED = 0.05  # of those that have ended
KINDS = 30  # kinds of errors of each handler
RARE = "needle-in-a-haystack"  # in the arguments of one task in 100,000

_FAILURE = (
    b'{"error":{"type":"ValueError","message":"the address of the customer is not known","traceback":"Traceback"}}'
)
_ARGUMENTS = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "region": {"type": "string"}, "note": {"type": "string"}},
    "required": ["order"],
}
_RESULT = b'{"text":"sent to 3 addresses of the customer"}'


def handler(number: int) -> str:
    return f"shop.handler_{number % HANDLERS:03}"


def _spec(number: int, *, delay: float | None = None) -> TaskSpec:
    kwargs = {"order": number, "region": ("eu", "us", "asia")[number % 3], "note": "x" * 120}
    if number % 100_000 == 77:
        kwargs["note"] = RARE
    return TaskSpec(name=handler(number), kwargs=kwargs, lane=LANES[number % len(LANES)], delay=delay)


async def fill(store: RedisStore, tasks: int) -> None:
    """So many tasks, and what stands beside them."""
    manager = TaskManager(store, queue=QUEUE)
    for slot in range(WORKERS):
        await store.register(Introduction(f"{slot:032x}", f"host-{slot % 4}", "boot", 100 + slot, slot))
    await store.publish_handlers([PublishedHandler(handler(number), _ARGUMENTS) for number in range(HANDLERS)])
    await _batches(manager)
    await _ended(store, manager, round(tasks * (1 - WAITING - DELAYED)))
    for start in range(0, round(tasks * WAITING), AT_ONCE):
        await manager.run_tasks([_spec(start + n) for n in range(min(AT_ONCE, tasks))])
    for start in range(0, round(tasks * DELAYED), AT_ONCE):
        await manager.run_tasks([_spec(start + n, delay=86_400.0 + n) for n in range(min(AT_ONCE, tasks))])
    for number in range(SCHEDULES):
        await manager.schedules.upsert(f"schedule-{number}", cron=f"{number % 60} 3 * * *", name=handler(number))
    await _figures(store)


async def _batches(manager: TaskManager) -> None:
    for number in range(BATCHES):
        await manager.run_tasks([_spec(n) for n in range(100)], batch=f"batch-{number}")


async def _ended(store: RedisStore, manager: TaskManager, number: int) -> None:
    """Submit, claim and settle these, and leave some running."""
    done, request, held = 0, 0, list[Delivery]()
    worker = f"{0:032x}"
    while done < number:
        await manager.run_tasks([_spec(done + n) for n in range(AT_ONCE)])
        for _ in range(AT_ONCE // SLOTS):
            request += 1
            settled = [_settlement(each) for each in held]
            held = list((await store.pull(worker, request, SLOTS, LANES, settled)).deliveries)
        done += AT_ONCE
    for slot in range(1, WORKERS):
        await store.pull(f"{slot:032x}", 1, 5, LANES, [])


def _settlement(one: Delivery) -> Settlement:
    if random.random() >= FAILED:
        return Settlement(one.task_id, one.claim, Settle.COMPLETED, _RESULT)
    error = (
        f"ValueError\nshop.handlers:send\nthe address is not known to {random.randrange(KINDS) * 'the office of '}us"
    )
    return Settlement(one.task_id, one.claim, Settle.FAILED, _FAILURE, error=error)


async def _figures(store: RedisStore) -> None:
    """Of each minute that is kept, and packed ones of all lengths."""
    connection: Any = store.connection
    now = int(time.time() * 1000)
    rollup = _rollup()
    fields = [part for name, value in fields_of(rollup).items() for part in (name, value)]
    for minute in _stretches(now, MINUTE, MINUTES_KEPT_MS):
        await connection.command("HSET", f"{{{QUEUE}}}:rollup:{minute}", *fields)
    for length in PACKED:
        text = packed(sum_of([rollup] * (length // MINUTE)), PACKED_BYTES[length])
        for number in _stretches(now, length, PACKED_KEPT_MS):
            await connection.command("SET", connection.keys.packed_rollup(length, number), text)


def _stretches(now: int, length: int, kept: int) -> Iterator[int]:
    return iter(range((now - kept) // length, now // length))


def _rollup() -> Rollup:
    found: Rollup = {}
    for number in range(HANDLERS):
        figures = Figures()
        figures.outcomes.update({"completed": 90 + number, "failed": 5, "retry": 3})
        seconds = [0.01 * (1 + n) for n in range(20)]
        times = Histogram(round(1e6 * sum(seconds)), bucketed(seconds))
        figures.wait = times
        figures.runs = {"completed": times, "failed": times}
        found[Series(LANES[number % len(LANES)], handler(number))] = figures
    return found
