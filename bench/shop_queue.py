"""A queue with something on each page of the dashboard: `filled` submits the tasks of a shop to a pool, `live` goes on
with it. The figures of the hour before are written as workers would have written them."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
import httpx
import msgspec

from bench.apps import shop
from bench.producing import QUEUE
from holdfast import TaskManager, TaskSpec, gather
from holdfast.core.rollup import MINUTE, Figures, Histogram, Rollup, Series, bucketed, fields_of

MAIL, REPORTS, IMPORTS = "mail", "reports", "imports"
LANES = ("mail=4", f"{QUEUE}=2", "reports=2", "imports=1", "partners=1")
HOURS = 122  # minutes before now that have figures
KINDS = (  # handler, lane, runs a minute, seconds of a run
    *(("mail.send", MAIL, 240, 0.05), ("invoice.make", QUEUE, 60, 0.16), ("image.resize", QUEUE, 40, 0.11)),
    *(("report.page", REPORTS, 12, 0.9), ("import.read", IMPORTS, 20, 4.0)),
)
BOOKED, ASKED, BROKEN, REPORT = "booking-1041", "booking-1042", "invoice-2207", "report-november"
REFUSED_HOST = "https://hooks.example.invalid/orders"


async def write_figures(store: Any) -> None:
    """Of each minute of the last two hours; and how many tasks waited in each lane in the last hour."""
    connection = store.connection
    this = int(time.time() * 1000) // MINUTE
    for minute in range(this - HOURS, this):
        fields = [part for field in fields_of(_rollup(minute)).items() for part in field]
        await connection.command("HSET", f"{{{QUEUE}}}:rollup:{minute}", *fields)
    await connection.command("DEL", f"{{{QUEUE}}}:depths")  # the steward has noted the present minute
    for minute in range(this - HOURS // 2, this):
        waiting = {lane: round(depth * _wave(minute) ** 3) for lane, depth in ((MAIL, 40), (QUEUE, 12), (IMPORTS, 5))}
        note = msgspec.msgpack.encode(waiting)
        await connection.command("XADD", f"{{{QUEUE}}}:depths", f"{minute * MINUTE + 1}-0", "depths", note)


def _wave(minute: int) -> float:
    return 1 + 0.35 * math.sin(minute / 9) + 0.15 * math.sin(minute * 1.7)


def _rollup(minute: int) -> Rollup:
    found: Rollup = {}
    wave = _wave(minute)
    for name, lane, runs, seconds in KINDS:
        figures = Figures()
        done = max(1, round(runs * wave))
        failed = round(done * (0.03 + 0.05 * (minute % 17 == 0)))
        figures.outcomes.update({"completed": done - failed, "failed": failed, "retry": failed // 2})
        times = [seconds * (0.7 + 0.1 * (number % 7)) * (0.9 + 0.2 * wave) for number in range(done)]
        waits = [0.05 * (1 + number % 9) * wave**3 for number in range(done)]
        figures.wait = Histogram(round(1e6 * sum(waits)), bucketed(waits))
        figures.runs = {"completed": Histogram(round(1e6 * sum(times)), bucketed(times))}
        found[Series(lane, name)] = figures
    return found


async def fill(store: Any, manager: TaskManager) -> None:
    """Everything that stays as it is."""
    connection = store.connection
    await manager.run_task(name="table.book", kwargs={"guests": 4, "api_key": "k-1"}, task_id=BOOKED)
    await manager.run_task(name="table.book", kwargs={"guests": 6, "api_key": "k-2"}, task_id=ASKED)
    wrong = {"region": "asia", "lines": [{"sku": "lamp-3", "count": 2}], "copies": 3}
    await manager.run_task(name="invoice.make", kwargs=wrong, task_id=BROKEN)
    await manager.run_tasks(
        [TaskSpec(name="mail.send", lane=MAIL, kwargs={"customer": 7000 + n}) for n in range(120)],
        batch="newsletter-november",
    )
    await manager.run_tasks(
        [TaskSpec(name="import.read", lane=IMPORTS, kwargs={"file": f"p-{n}.csv"}) for n in range(12)], batch="import-7"
    )
    pages = [shop.report_page.options(lane=REPORTS).bind(number) for number in range(1, 5)]
    await manager.run_flow(gather(pages, then=shop.report_total.options(lane=REPORTS, task_id=REPORT).bind("orders")))
    await manager.run_task(name="image.resize", kwargs={"path": "scan-77.tiff"}, task_id="image-77")
    await manager.pause_queue("partners", "the system of the partner is down until noon")
    await manager.run_tasks([TaskSpec(text=f"offer {n}", lane="partners") for n in range(3)])
    await manager.run_task("how long is the queue?", delay=7200)
    await manager.run_task("hello", webhook=REFUSED_HOST)
    for text in ("\x00\x9ebinary", '{"operation": "run", "params": '):
        await connection.command("RPUSH", QUEUE, text)
    schedules = manager.schedules
    await schedules.upsert("nightly-report", cron="0 2 * * *", timezone="Europe/Berlin", text="report of the day")
    await schedules.upsert(
        "sweep", every="5s", name="mail.send", kwargs={"customer": 1, "template": "sweep"}, lane=MAIL
    )
    await schedules.upsert(
        "month-end", rrule="FREQ=MONTHLY;BYMONTHDAY=-1", name="report.total", kwargs={"unit": "orders"}
    )
    await schedules.pause("month-end", "the year is being closed")


async def change(client: httpx.AsyncClient) -> None:
    """As an operator does, so that the activity has something. One change is refused."""
    for method, path, body in (
        ("POST", "lanes/reports/pause", {"reason": "the numbers are being corrected"}),
        ("POST", "lanes/reports/resume", {}),
        ("PUT", "lanes/imports/limits", {"running": 4}),
        ("PUT", "handlers/mail.send/limits", {"rate": "100/s"}),
        ("POST", "schedules/nightly-report/run", {}),
        ("POST", f"tasks/{BROKEN}/retry", {}),
        ("POST", "tasks/booking-9/cancel", {"reason": "the guest has called"}),
    ):
        await client.request(method, f"/api/v1/{path}", json=body)
    await client.post("/bulk/begin", data={"verb": "retry", "state": "failed", "name": "invoice.make"})


@asynccontextmanager
async def live(manager: TaskManager) -> AsyncGenerator[None]:
    """Tasks that come while the block runs, a little more than the workers can do of some."""

    async def submit() -> None:
        for number in count(1):
            mails = [TaskSpec(name="mail.send", lane=MAIL, kwargs={"customer": 3 * number + n}) for n in range(3)]
            invoice = {"region": "europe", "lines": [{"sku": "lamp-3", "count": 1}]}
            await manager.run_tasks(
                [
                    *mails,
                    TaskSpec(name="invoice.make", kwargs=invoice),
                    TaskSpec(name="image.resize", kwargs={"path": f"photo-{number}.jpg"}),
                ]
            )
            if number % 2 == 1:
                await manager.run_task(name="import.read", lane=IMPORTS, kwargs={"file": f"products-{number}.csv"})
            await anyio.sleep(1.0)

    async with anyio.create_task_group() as group:
        group.start_soon(submit)
        yield
        group.cancel_scope.cancel()
