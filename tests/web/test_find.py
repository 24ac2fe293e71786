"""The box on top of every page leads to what has this id or name, and else to the tasks with this text."""

from __future__ import annotations

import pytest

from holdfast import TaskSpec
from holdfast_config import RedisSettings
from tests.web.site import Site, site

pytestmark = pytest.mark.anyio

LONG = "6f0c1c3e-8a52-4b7b-9d55-0a6c1f5d2b11"


async def found(here: Site, text: str) -> str:
    answer = await here.browser.get("/find", params={"text": text}, follow_redirects=False)
    assert answer.status_code == 303
    return answer.headers["location"]


async def test_it_finds_tasks_batches_schedules_and_lanes(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfastd.web.pages.find_page.STEPS", 10_000)  # other tests have many keys on this server
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id=LONG)
        await here.manager.run_tasks([TaskSpec(text="a"), TaskSpec(text="b")], batch="import-7")
        await here.manager.schedules.upsert("nightly-report", text="report", cron="0 2 * * *")
        await here.manager.run_task("fired", task_id="nightly-report@20261127T020000Z")
        await here.manager.run_task("hello", lane="mail")
        assert await found(here, LONG) == f"/task?id={LONG}"
        by_path = await here.browser.get(f"/tasks/{LONG}", follow_redirects=False)
        assert (by_path.status_code, by_path.headers["location"]) == (303, f"/task?id={LONG}")
        assert await found(here, f" {LONG[:9]} ") == f"/task?id={LONG}", "the only id that begins so"
        assert await found(here, LONG[:4]) == f"/tasks?text={LONG[:4]}", "too short for the beginning of an id"
        assert await found(here, "import-7") == "/batch?id=import-7"
        assert await found(here, "nightly-report") == "/schedule?id=nightly-report", "an exact name before a beginning"
        assert await found(here, "mail") == "/lane?name=mail"
        assert await found(here, "") == "/tasks"


@pytest.mark.parametrize("text", ["customer 7", "//evil.example/", "../x", "\x00", "<b>", "%2e%2e", "a" * 3000])
async def test_any_other_text_is_looked_for_in_tasks(redis_settings: RedisSettings, text: str) -> None:
    async with site(redis_settings) as here:
        assert (await found(here, text)).startswith("/tasks?text=")


async def test_a_beginning_of_several_ids_is_a_text(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for last in "12":
            await here.manager.run_task("hello", task_id=f"{LONG[:-1]}{last}")
        assert await found(here, LONG[:12]) == f"/tasks?text={LONG[:12]}"


async def test_a_search_without_tasks_says_what_else_has_the_name(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.schedules.upsert("nightly-report", text="report", cron="0 2 * * *")
        nothing = await here.page("/tasks?text=nowhere")
        assert "No batch, schedule, lane or handler has this name" in nothing
        assert 'aria-label="Find" value="nowhere"' in nothing
        assert 'href="/schedule?id=nightly-report">Show the schedule' in await here.page("/tasks?text=nightly-report")
