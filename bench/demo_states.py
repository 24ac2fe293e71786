"""Five states of a queue, for pictures of the dashboard: empty, usual, a million tasks, longest names, much wrong.

Each is a block that holds while the pictures are taken, and gives the dashboard's address, its pages by name and the
texts of this machine that a picture must not show.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx

from bench import full_queue, shop_queue
from bench.apps.longest import LONGEST_NAME, UNBROKEN
from bench.dashboard import dashboard
from bench.dashboard_pictures import PAGES, PASSWORD, WARM, address, users
from bench.pool import ROOT, Pool, folder, pool
from bench.producing import QUEUE
from bench.server import server
from holdfast import TaskManager, TaskSpec
from holdfast.core.worker_records import Introduction
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings

TASKS = 1_000_000
SHOP, LONGEST = "bench.apps.shop:handlers", "bench.apps.longest:handlers"
EVERYWHERE = {"new-schedule": "/schedules/new", "not-found": "/nothing/here", "find-nothing": "/tasks?text=nowhere"}
LISTS = {name: path for name, path in PAGES.items() if "=" not in path} | EVERYWHERE
LONG_LANE, LONG_ID = "lane-of-the-largest-customers-" * 3, "task-of-the-largest-customer-" * 3
LONG_BATCH, LONG_SCHEDULE = "batch-of-the-largest-customers-" * 3, "schedule of the largest customer, " * 3 + "daily"


@dataclass(frozen=True, slots=True)
class State:
    """A queue that can be looked at. `names`: texts of this machine, and what stands for each in a picture."""

    base: str
    pages: Mapping[str, str]
    names: list[list[str]]


@asynccontextmanager
async def _shop(
    pages: Mapping[str, str], app: str = SHOP, lanes: tuple[str, ...] = shop_queue.LANES
) -> AsyncGenerator[tuple[State, Pool, Any, TaskManager]]:
    """A pool of three workers with the dashboard."""
    with folder() as place:
        flags = ["--concurrency", "4", "--drain-timeout", "1", "--web", "0", "--web-users-file", str(users(place))]
        environ = {"PATH": os.environ["PATH"], "HOME": str(place)}
        with pool(app, 3, place, environ, *flags, "--lanes", ",".join(lanes)) as running:
            async with open_store(RedisSettings(url=running.url)) as store:
                yield State(address(running), pages, _names(place)), running, store, TaskManager(store, queue=QUEUE)


def _names(place: Path) -> list[list[str]]:
    return [[socket.gethostname(), "host-1"], [str(ROOT), "/srv/shop"], [str(place), "/run/holdfast"]]


@asynccontextmanager
async def empty() -> AsyncGenerator[State]:
    """A pool that has seen no task."""
    async with _shop(LISTS) as (state, *_):
        yield state


@asynccontextmanager
async def usual() -> AsyncGenerator[State]:
    """A shop at work, with a little of everything."""
    async with _shop(PAGES | EVERYWHERE) as (state, _, store, manager):
        await shop_queue.write_figures(store)
        await shop_queue.fill(store, manager)
        async with (
            shop_queue.live(manager),
            httpx.AsyncClient(base_url=state.base, auth=("ada", PASSWORD)) as client,
        ):
            await anyio.sleep(WARM / 2)
            await shop_queue.change(client)
            await manager.run_task("Friday", task_id=shop_queue.BOOKED)
            await anyio.sleep(WARM / 2)
            yield state


@asynccontextmanager
async def million() -> AsyncGenerator[State]:
    """A server with a million tasks, of a hundred handlers."""
    with folder() as place, server(place) as url:
        store = RedisStore(RedisSettings(url, 60, QUEUE))
        try:
            await full_queue.fill(store, TASKS)
        finally:
            await store.aclose()
        own = {
            "handler": f"/handler?name={full_queue.handler(7)}",
            "lane": "/lane?name=lane-3",
            "tasks-found": "/tasks?text=customer",
            "bulk-confirm": "/tasks/bulk?verb=retry&state=failed",
            "batch": "/batch?id=batch-1",
            "schedule": "/schedule?id=schedule-7",
        }
        with dashboard(url, place, "--web-users-file", str(users(place))) as (base, _):
            yield State(base.rstrip("/"), LISTS | own, _names(place))


@asynccontextmanager
async def longest() -> AsyncGenerator[State]:
    """Names, arguments and errors as long as they may be, in several scripts, and many lanes."""
    own = {
        "task": f"/task?id={LONG_ID}",
        "task-failed": f"/task?id={LONG_ID}failed",
        "lane": f"/lane?name={LONG_LANE}",
        "handler": f"/handler?name={LONGEST_NAME}",
        "submit": f"/submit?name={LONGEST_NAME}",
        "schedule": f"/schedule?id={LONG_SCHEDULE}",
        "batch": f"/batch?id={LONG_BATCH}",
        "bulk-confirm": f"/tasks/bulk?verb=retry&state=failed&name={LONGEST_NAME}",
    }
    lanes = (LONG_LANE, QUEUE, *(f"customer-{number:03}" for number in range(40)))
    async with _shop(LISTS | own, LONGEST, lanes) as (state, _, _store, manager):
        long = {
            "note": UNBROKEN,
            "to": ["שלום עולם", "你好世界", "🚀" * 40],
            "<b>": {"deep": {"deeper": [UNBROKEN] * 5}},
        }
        await manager.run_task(name=LONGEST_NAME, lane=LONG_LANE, kwargs=long, task_id=LONG_ID)
        await manager.run_task(name=LONGEST_NAME, kwargs=long | {"fails": True}, task_id=f"{LONG_ID}failed")
        batch = [
            TaskSpec(name=LONGEST_NAME, lane=f"customer-{n:03}", kwargs=long | {"seconds": 600}) for n in range(40)
        ]
        await manager.run_tasks(batch, batch=LONG_BATCH)
        await manager.run_task(UNBROKEN * 20)
        await manager.pause_queue("customer-007", f"{UNBROKEN}: until the customer has called")
        await manager.schedules.upsert(LONG_SCHEDULE, cron="*/5 8-18 * * 1-5", name=LONGEST_NAME, kwargs=long)
        await anyio.sleep(WARM / 3)
        yield state


@asynccontextmanager
async def wrong() -> AsyncGenerator[State]:
    """Whatever can be wrong at once: a stopped worker, a lost host, a lane that nobody serves, failures, a handler that
    nobody has, receivers that refuse, unreadable entries."""
    async with _shop(PAGES | EVERYWHERE) as (state, running, store, manager):
        await shop_queue.write_figures(store)
        await shop_queue.fill(store, manager)
        mails = [TaskSpec(name="mail.send", lane=shop_queue.MAIL, kwargs={"customer": 41 * n}) for n in range(150)]
        await manager.run_tasks(mails)
        await manager.run_tasks([TaskSpec(name="image.resize", kwargs={"path": f"scan-{n}.tiff"}) for n in range(4)])
        await manager.run_tasks([TaskSpec(name="mail.sned", kwargs={"customer": n}) for n in range(9)])
        await manager.run_tasks([TaskSpec(text=f"order {n}", lane="orphans") for n in range(219)])
        await manager.run_tasks([TaskSpec(text=f"offer {n}", lane="partners") for n in range(60)])
        await manager.run_tasks([TaskSpec(text="hello", webhook=shop_queue.REFUSED_HOST) for _ in range(5)])
        await store.register(Introduction(f"{7:032x}", "host-2", "boot", 100, 0))
        async with shop_queue.live(manager):
            await anyio.sleep(WARM / 2)
            stopped = next(each.pid for each in running.status().processes if each.kind == "worker")
            os.kill(stopped, signal.SIGSTOP)
            try:
                await anyio.sleep(WARM / 3)
                yield state
            finally:
                os.kill(stopped, signal.SIGCONT)


STATES: dict[str, Callable[[], AbstractAsyncContextManager[State]]] = {
    "empty": empty,
    "usual": usual,
    "million": million,
    "longest": longest,
    "wrong": wrong,
}
