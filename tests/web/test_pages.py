"""The pages: what they show of a queue, that they escape everything, and what they say while the store is away."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfast_config import RedisSettings
from holdfastd.web.views.menu_and_strip import ENTRIES
from tests.servers import serve
from tests.web.site import HTML, site

pytestmark = pytest.mark.anyio

KEPT = ("--appendonly", "yes")  # of a store that has its sessions again when it comes back

SCRIPT = "<script>alert(1)</script>"


async def test_every_page_of_the_menu_is_there_when_nothing_is(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for entry in ENTRIES:
            assert f"<h1>{entry.title}</h1>" in await here.page(entry.path)


async def test_a_task_is_found_in_its_state_with_its_history(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello there", task_id="greeting")
        await here.manager.run_task("later", task_id="later", delay=3600)
        listed = await here.page("/tasks?state=submitted")
        assert "greeting" in listed
        assert ">later<" not in listed
        shown = await here.page("/task?id=greeting")
        assert "hello there" in shown
        assert "accepted" in shown
        assert (await here.browser.get("/tasks?task_id=greeting")).headers["location"] == "/task?id=greeting"


async def test_a_list_goes_on_where_its_page_ends(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for number in range(60):
            await here.manager.run_task("x", task_id=f"task-{number:02}")
        first = await here.page("/tasks?state=submitted")
        address = first.split('class="more" href="', 1)[1].split('"', 1)[0]
        rest = await here.page(address)
        assert [sum(f">task-{n:02}<" in text for text in (first, rest)) for n in range(60)] == [1] * 60


SHOWN = {False: (True, False), True: (False, True)}  # what does not exist is told calmly, with a way to find another


@pytest.mark.parametrize(
    "address",
    ["/tasks?state=lost", "/tasks?newer=soon", "/tasks?lane=%00", "/tasks?cursor=zzz", "/task?id=", "/task?id=none",
     "/schedule?id=none", "/schedules?cursor=x", "/nowhere", "/events?before=zzz", "/dead?cursor=%00"],
)  # fmt: skip
async def test_an_address_that_asks_for_nonsense_is_answered_with_a_sentence(
    redis_settings: RedisSettings, address: str
) -> None:
    async with site(redis_settings) as here:
        answer = await here.browser.get(address, headers=HTML)
        assert 400 <= answer.status_code < 500, answer.text
        assert ('role="alert"' in answer.text, "The box on top finds" in answer.text) == SHOWN[
            answer.status_code == 404
        ]


async def test_a_state_that_does_not_exist_is_refused_with_the_possible_ones(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        refused = await here.page("/tasks?state=failed,lost", 400)
        assert "is not allowed: use one of " in refused


async def test_no_text_of_a_user_becomes_markup(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        manager = here.manager
        await manager.run_task(SCRIPT, task_id="t", metadata={SCRIPT: SCRIPT})
        await manager.run_task(data={SCRIPT: SCRIPT}, lane=SCRIPT, task_id="t2")
        await manager.cancel_task("t2", SCRIPT)
        await manager.pause_queue(SCRIPT, SCRIPT)
        await manager.schedules.upsert(SCRIPT, text=SCRIPT, cron="0 3 * * *")
        await manager.schedules.pause(SCRIPT, SCRIPT)
        await here.change("/tasks/cancel", task_id=SCRIPT)
        await push(redis_settings, SCRIPT)
        addresses = [entry.path for entry in ENTRIES]
        addresses += ["/task?id=t", "/task?id=t2", f"/schedule?id={SCRIPT}", f"/tasks?lane={SCRIPT}"]
        addresses += [f"/task?id={SCRIPT}none", f"/tasks?state={SCRIPT}", f"/login?next=/{SCRIPT}", f"/{SCRIPT}"]
        shown = ""
        for address in addresses:
            text = (await here.browser.get(address, headers=HTML)).text
            assert SCRIPT not in text, address
            shown += text
        assert shown.count("&lt;script&gt;alert(1)") >= 10, "the texts are shown"


async def push(redis_settings: RedisSettings, entry: str) -> None:
    """Push an entry that is no task."""
    import redis.asyncio

    async with redis.asyncio.Redis.from_url(redis_settings.url) as client:
        await client.rpush(redis_settings.queue, entry)


async def test_a_store_that_is_away_is_said_and_the_page_comes_back(short_path: Path) -> None:
    with serve(short_path, *KEPT) as server:
        async with site(RedisSettings(url=server.url, queue="q")) as here:
            os.kill(server.pid, signal.SIGKILL)
            away = await here.page("/lanes", 503)
            assert "cannot be reached" in away
            assert 'hx-trigger="every 2s"' in away, "it asks again"
            with serve(short_path, *KEPT):
                assert "<h1>Lanes</h1>" in await here.page("/lanes")


async def test_the_overview_says_what_is_wrong(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello")
        assert "no worker runs" in await here.page("/")


async def test_changes_are_carried_out_and_name_who_asked(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        manager = here.manager
        await manager.run_task("hello", task_id="t")
        assert (await here.change("/tasks/pause", task_id="t")).headers["location"] == "/task?id=t"
        assert (await manager.get_task("t")).state is State.SUSPENDED
        await here.change("/tasks/resume", task_id="t")
        assert (await manager.get_task("t")).state is State.SUBMITTED
        await here.change("/tasks/cancel", task_id="t")
        record = await manager.get_task("t")
        assert (record.state, record.reason) == (State.CANCELED, "canceled by token on the web, from 192.0.2.7")
        await here.change("/tasks/retry", task_id="t")
        assert (await manager.get_task("t.r1")).state is State.SUBMITTED
        await here.change("/tasks/remove", task_id="t")
        assert "no task t" in await here.page("/task?id=t", 404)


async def test_schedules_run_pause_resume_and_go(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        schedules = here.manager.schedules
        await schedules.upsert("nightly", text="report", cron="0 3 * * *")
        await here.change("/schedules/run", schedule_id="nightly")
        assert (await schedules.history("nightly", 1))[0].what == "fired"
        await here.change("/schedules/pause", schedule_id="nightly")
        assert (await schedules.get("nightly")).paused
        await here.change("/schedules/resume", schedule_id="nightly")
        assert not (await schedules.get("nightly")).paused
        shown = await here.page("/schedule?id=nightly")
        assert '<span class="state open">open</span>' in shown, "the fire has a row with its result"
        await here.change("/schedules/remove", schedule_id="nightly")
        assert "There is no schedule" in await here.page("/schedules")


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/tasks/cancel", {"task_id": "none"}, 404),
        ("/tasks/cancel", {}, 400),
        ("/tasks/retry", {"task_id": "t"}, 409),
        ("/tasks/remove", {"task_id": "t"}, 409),
        ("/schedules/run", {"schedule_id": "none"}, 404),
        ("/lanes/pause", {"lane": "\x00"}, 400),
    ],
)
async def test_a_change_that_cannot_be_is_a_sentence(
    redis_settings: RedisSettings, path: str, fields: dict[str, str], status: int
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        answer = await here.change(path, **fields)
        assert (answer.status_code, 'role="alert"' in answer.text) == (status, status != 404), answer.text
        assert (await here.manager.get_task("t")).state is State.SUBMITTED


async def test_activity_names_who_changed_what_from_where_and_what_was_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        await here.change("/tasks/cancel", task_id="t")
        await here.change("/tasks/cancel", task_id="none")
        refused, done = await here.store.activity_before("", 10)
        assert (done.who, done.origin, done.change, done.subject, done.outcome) == (
            "token",
            "192.0.2.7",
            "tasks/cancel",
            "t",
            "",
        )
        assert (refused.subject, "no task none" in refused.outcome) == ("none", True)
        shown = await here.page("/activity")
        assert "192.0.2.7" in shown
        assert "no task none" in shown
        assert "Nobody has changed anything" in await here.page(f"/activity?before={done.position}")


async def test_the_numbers_of_the_overview_are_polled_without_its_charts(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert "data-chart=" in await here.page("/")
        polled = await here.browser.get("/", headers={**HTML, "hx-target": "live"})
        assert "data-chart=" not in polled.text
        assert 'id="tables"' in polled.text
