"""No table loses content: its cells stand beside each other in their card, and no text is cut without an ellipsis."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from holdfast import TaskSpec
from holdfast.client.manager import TaskManager
from holdfast.store import open_store
from holdfast_config import RedisSettings
from tests.browser.conftest import opened
from tests.servers import valkey
from tests.web.handlers import working
from tests.web.test_process import alone

CUSTOMERS = "of-the-largest-customers-" * 3
HANDLER = "customer_relationship.notification_service.send_quarterly_summary_of_all_open_invoices"
BATCH, SCHEDULE = f"batch-{CUSTOMERS}", f"schedule {CUSTOMERS} daily"
PATHS = (
    *("/", "/lanes", "/tasks", "/tasks?state=failed", "/handlers", "/handler?name=broken"),
    *("/schedules", f"/schedule?id={SCHEDULE}", "/batches", f"/batch?id={BATCH}&end=all", "/dead"),
)
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "tablet": {"viewport": {"width": 820, "height": 1180}},
    "phone": {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True},
}
FAULTS = (Path(__file__).parent / "table_faults.js").read_text()


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    """Of a dashboard whose tables have long names, errors and reasons."""
    with TemporaryDirectory(prefix="holdfast-") as name, valkey(Path(name)) as url:
        asyncio.run(_fill(RedisSettings(url=url)))
        with alone(Path(name), url, "0") as (_, found):
            yield found.rstrip("/")


async def _fill(redis: RedisSettings) -> None:
    async with open_store(redis) as store:
        manager = TaskManager(store, queue=redis.queue)
        why = "ConnectionRefusedError: the mail server refuses the recipient, CustomerRelationshipNotFoundError"
        async with working(redis):
            await manager.schedules.upsert(SCHEDULE, cron="*/5 8-18 * * 1-5", name="broken", kwargs={"why": why})
            await manager.wait(await manager.schedules.run(SCHEDULE))
            for number in range(3):
                await manager.run_task(name="broken", kwargs={"why": why}, task_id=f"{CUSTOMERS}{number}")
                await manager.wait(f"{CUSTOMERS}{number}")
        specs = [TaskSpec(name=HANDLER, lane=f"lane-{CUSTOMERS}", kwargs={"note": CUSTOMERS}) for _ in range(3)]
        await manager.run_tasks(specs, batch=BATCH)
        await manager.run_task("hello", lane="mail")
        await manager.pause_queue("mail", f"until the customer has called: {CUSTOMERS}")


def _faults(chromium: Any, address: str, look: str, *paths: str) -> list[str]:
    found: list[str] = []
    with opened(chromium, address, **LOOKS[look]) as seen:
        for path in paths:
            seen.page.goto(path)
            assert seen.page.locator("main .scroll > table").count(), f"{path} has no table"
            found += [f"{path}: {each}" for each in seen.page.evaluate(FAULTS)]
    return found


@pytest.mark.parametrize("look", LOOKS)
def test_each_table_shows_all_its_cells(chromium: Any, address: str, look: str) -> None:
    faults = _faults(chromium, address, look, *PATHS)
    assert not faults, "\n".join(faults)


def test_the_table_of_bulk_changes_shows_all_its_cells(chromium: Any, address: str) -> None:
    with opened(chromium, address) as seen:
        seen.page.goto("/tasks/bulk?verb=retry&state=failed")
        seen.page.click("main form button.primary")
        seen.page.wait_for_selector("h1:text-is('Bulk changes')")
    faults = [fault for look in LOOKS for fault in _faults(chromium, address, look, "/bulk", "/activity")]
    assert not faults, "\n".join(faults)
