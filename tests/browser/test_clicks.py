"""The ways that people go most often, and the clicks that each may take."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.store import open_store
from holdfast_config import RedisSettings
from tests.browser.conftest import opened
from tests.servers import valkey
from tests.web.handlers import working
from tests.web.test_process import alone

FAILED = [f"failed-{number}" for number in range(3)]


@pytest.fixture(scope="module")
def folder() -> Generator[Path]:
    with TemporaryDirectory(prefix="holdfast-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def redis(folder: Path) -> Generator[RedisSettings]:
    with valkey(folder) as url:
        yield RedisSettings(url=url)


@pytest.fixture(scope="module")
def worked(folder: Path, redis: RedisSettings) -> Generator[str]:
    """The address of a dashboard whose queue was worked on: three tasks failed, one waits, one asks."""
    asyncio.run(_work(redis))
    with alone(folder, redis.url, "0") as (_, found):
        yield found.rstrip("/")


async def _work(redis: RedisSettings) -> None:
    async with open_store(redis) as store, working(redis):
        manager = TaskManager(store, queue=redis.queue)
        for task_id in FAILED:
            await manager.run_task(name="broken", kwargs={"why": "the printer is on fire"}, task_id=task_id)
        invoice = {"region": "eu", "lines": [], "note": "for the Grand Hotel"}
        await manager.run_task(name="invoice", kwargs=invoice, task_id="invoice-7")
        for task_id in [*FAILED, "invoice-7"]:
            await manager.wait(task_id)
        await manager.run_task("hello", lane="mail")


class Hand:
    """A hand on a mouse: it counts its clicks."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.clicks = 0
        page.on("dialog", lambda dialog: dialog.accept())

    def click(self, selector: str) -> None:
        self._page.locator(selector).first.click()
        self._page.wait_for_load_state()
        self.clicks += 1


def test_why_a_task_failed_is_one_click_from_the_list(worked: str, chromium: Any) -> None:
    with opened(chromium, worked) as seen:
        hand = Hand(seen.page)
        seen.page.goto("/tasks?state=failed")
        hand.click(f"a[href*='/task?id={FAILED[0]}']")
        seen.page.wait_for_selector("pre:visible:has-text('ValueError: the printer is on fire')")
        assert hand.clicks == 1


def test_a_lane_is_paused_with_two_clicks(worked: str, chromium: Any) -> None:
    with opened(chromium, worked) as seen:
        hand = Hand(seen.page)
        hand.click("nav a:text-is('Lanes')")
        hand.click("tr:has-text('mail') button:text-is('Pause')")
        seen.page.wait_for_selector("main .state.paused")
        assert hand.clicks == 2


def test_a_task_is_found_by_an_argument_with_one_line(worked: str, chromium: Any) -> None:
    with opened(chromium, worked) as seen:
        seen.page.click("[data-key='/']")
        seen.page.keyboard.type("Grand Hotel")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector("main a[href*='/task?id=invoice-7']")


def test_what_a_slow_handler_does_is_two_clicks_away(worked: str, chromium: Any) -> None:
    with opened(chromium, worked) as seen:
        hand = Hand(seen.page)
        hand.click("main a[href^='/handler?name=invoice']")
        hand.click("main a[href*='/task?id=invoice-7']")
        seen.page.wait_for_selector("h1:has-text('invoice')")
        assert hand.clicks == 2


def test_all_failures_of_one_kind_are_retried_with_three_clicks(worked: str, chromium: Any) -> None:
    with opened(chromium, worked) as seen:
        hand = Hand(seen.page)
        hand.click("nav a:text-is('Handlers')")
        hand.click("tr:has-text('the printer is on fire') a:text-is('Retry…')")
        seen.page.wait_for_selector("main:has-text('3 ')")
        hand.click("main form button.primary")
        seen.page.wait_for_selector("tr:has-text('Retry failed'):has-text('done'):has(td.number:text-is('3'))")
        assert hand.clicks == 3


async def _run_one(redis: RedisSettings, task_id: str = "live-1") -> None:
    async with open_store(redis) as store, working(redis):
        manager = TaskManager(store, queue=redis.queue)
        await manager.run_task(name="invoice", kwargs={"region": "eu", "lines": []}, task_id=task_id)
        await manager.wait(task_id)


def test_the_events_of_a_run_become_one_row_as_they_come(redis: RedisSettings, worked: str, chromium: Any) -> None:
    row = "#events tr[data-task='live-1']"
    with opened(chromium, worked) as seen, ThreadPoolExecutor(1) as beside:
        seen.page.goto("/events")
        seen.page.wait_for_selector("#listening:text-is('live')")
        beside.submit(asyncio.run, _run_one(redis)).result()
        seen.page.wait_for_selector(f"{row}:has-text('waited')[data-event=settled]")
        assert seen.page.locator(row).count() == 1
        told = seen.page.inner_text(f"{row} td.words")
        seen.page.goto("/events")
        assert seen.page.inner_text(f"{row} td.words") == told, "the server says the same"


def test_no_event_stands_twice_and_all_stand_in_their_order(redis: RedisSettings, worked: str, chromium: Any) -> None:
    def shown() -> list[tuple[str, str, int]]:
        found = seen.page.eval_on_selector_all("#events tr[data-task]", "rows => rows.map(row => ({...row.dataset}))")
        rows = [(each["task"], each["event"], int(each["at"])) for each in found]
        assert len(rows) == len(set(rows))
        assert [at for *_, at in rows] == sorted((at for *_, at in rows), reverse=True)
        return rows

    def run(task_id: str) -> None:
        beside.submit(asyncio.run, _run_one(redis, task_id)).result()
        seen.page.wait_for_selector(f"#events tr[data-task='{task_id}'][data-event=settled]")

    with opened(chromium, worked) as seen, ThreadPoolExecutor(1) as beside:
        seen.page.route("**/events/stream?*", lambda route: route.continue_(url=f"{worked}/events/stream?after=0-0"))
        seen.page.goto("/events")
        before = shown()
        run("once-1")
        assert len(shown()) == len(before) + 2, "a worker and its task: the server has told all events again"
        seen.page.click("#pause")
        seen.page.click("#pause")
        run("once-2")
        assert len(shown()) == len(before) + 4
