"""A dashboard over a queue with tasks in many states, and a Chromium that looks at it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.store import open_store
from holdfast_config import RedisSettings
from tests.servers import valkey
from tests.web.test_process import TOKEN, alone

CHROMIUM = shutil.which("chromium")
AXE = Path(__file__).parents[2] / "build" / "axe" / "axe.min.js"
WAIT = 60_000  # milliseconds; a guard alone


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    """Of a dashboard with tasks, lanes, a schedule and an entry that is no task."""
    with TemporaryDirectory(prefix="holdfast-") as name, valkey(Path(name)) as url:
        asyncio.run(_fill(url))
        with alone(Path(name), url, "0") as (_, found):
            yield found.rstrip("/")


async def _fill(url: str) -> None:
    redis = RedisSettings(url=url)
    async with open_store(redis) as store:
        manager = TaskManager(store, queue=redis.queue)
        for number in range(60):
            await manager.run_task(f"hello {number}", task_id=f"task-{number:02}", delay=3600 * (number % 2))
        await manager.run_task("a long text " * 200, task_id="long-" + "0123456789" * 9, lane="a-lane-with-a-long-name")
        await manager.cancel_task("task-02", "no longer needed")
        await manager.schedules.upsert("nightly", text="report", cron="0 3 * * *")
        await manager.pause_queue("a-lane-with-a-long-name", "maintenance")


@pytest.fixture(scope="module")
def chromium(address: str) -> Generator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-browser")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@dataclass
class Seen:
    """What a browser has complained of, and the addresses that it has asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])


@contextmanager
def opened(chromium: Any, address: str, *, logged_in: bool = True, **options: Any) -> Generator[Seen]:
    """A page of a browser of its own. At the end it has asked no other host, and complained of nothing."""
    context = chromium.new_context(base_url=address, **options)
    context.set_default_timeout(WAIT)
    seen = Seen(context.new_page())
    seen.page.on("console", lambda line: seen.complaints.append(line.text) if line.type == "error" else None)
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    if logged_in:
        seen.page.goto("/login")
        seen.page.fill("input[name=token]", TOKEN)
        seen.page.click("form.login button")
        seen.page.wait_for_selector("main h1")
        seen.page.wait_for_load_state()
    yield seen
    context.close()
    assert not [url for url in seen.requests if not url.startswith((address, "data:"))]
    assert not seen.complaints
