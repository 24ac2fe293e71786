"""The pages of lanes: their numbers, who serves them, and the forms that pause and limit them."""

from __future__ import annotations

import re
from urllib.parse import unquote

import msgspec
import pytest

from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.worker_records import Introduction, ServedLane, ServedWork
from holdfast_config import RedisSettings
from holdfastd.steward.duties.lane_duties import lane_depths
from tests.web.site import HTML, Site, site

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"


async def lane_of(here: Site, name: str) -> dict[str, str]:
    """The limits in force."""
    (lane,) = [each for each in (await here.manager.lanes(name)).lanes if each.name == name]
    return {"running": lane.limit.asked, "per_key": lane.keys.asked, "rate": lane.rate.asked}


async def test_a_pause_has_the_reason_that_was_typed_and_who_typed_it(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        answer = await here.change("/lanes/pause", lane="mail", create="true", reason=f"the provider is down {SCRIPT}")
        assert answer.headers["location"] == "/lane?name=mail"
        shown = await here.page("/lane?name=mail")
        assert f"the provider is down {SCRIPT} (paused by token on the web, from 192.0.2.7)" in shown
        assert SCRIPT not in (await here.browser.get("/lane?name=mail", headers=HTML)).text
        await here.change("/lanes/resume", lane="mail")
        assert not any(lane.is_paused for lane in (await here.manager.lanes("mail")).lanes)


async def test_limits_are_set_shown_changed_and_removed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.change(
            "/lanes/limit", lane="mail", create="true", running="20", per_key="none", rate="100/m", burst="7"
        )
        assert await lane_of(here, "mail") == {"running": "20", "per_key": "none", "rate": "100/60000/7"}
        shown = await here.page("/lane?name=mail")
        for text in ('name="running" value="20"', 'name="rate" value="100/m"', 'name="burst" value="7"', "burst 7"):
            assert text in shown
        assert "100/m burst 7" in await here.page("/lanes")
        await here.change("/lanes/limit", lane="mail", running="", per_key="2", rate="")
        assert await lane_of(here, "mail") == {"running": "", "per_key": "2", "rate": ""}
        (noted, *_) = await here.store.activity_before("", 10)
        assert (noted.who, noted.change, noted.subject) == ("token", "lanes/limit", "mail")
        assert noted.outcome == "running tasks 20 → none, per key none → 2, rate 100/m burst 7 → none"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"running": "many"}, "running: 'many' is not allowed: use a whole number from 1 to"),
        ({"running": "0"}, "running: '0' is not allowed"),
        ({"per_key": SCRIPT}, "is not allowed"),
        ({"rate": "fast"}, "100/m"),
        ({"rate": "5/m", "burst": "x"}, "burst"),
    ],
    ids=["a word", "zero", "a script", "no rate", "no burst"],
)
async def test_a_limit_that_is_not_one_gives_the_form_again_with_what_was_typed(
    redis_settings: RedisSettings, fields: dict[str, str], says: str
) -> None:
    async with site(redis_settings) as here:
        await here.store.bound([LaneLimit(LaneBound.LIMIT, "mail", "3")])
        answer = await here.change("/lanes/limit", lane="mail", **fields)
        assert answer.status_code == 400
        assert SCRIPT not in answer.text
        for name, value in fields.items():
            typed = value.replace("<", "&lt;").replace(">", "&gt;")
            assert f'name="{name}" value="{typed}"' in answer.text
        assert says in answer.text.replace("&#39;", "'")
        assert (await lane_of(here, "mail"))["running"] == "3", "nothing has changed"
        (noted, *_) = await here.store.activity_before("", 1)
        assert noted.outcome


async def test_the_rate_of_a_handler_is_set_and_shown(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert (await here.change("/handlers/limit", handler="billing", create="true", rate="5/s")).status_code == 303
        assert 'name="rate" value="5/s"' in await here.page("/lanes"), "it is changed in its row"
        (noted,) = await here.store.activity_before("", 10)
        assert noted.outcome == "rate none → 5/s"
        answer = await here.change("/handlers/limit", handler="billing", rate="soon")
        assert (answer.status_code, 'value="soon"' in answer.text) == (400, True)
        assert (await here.change("/handlers/limit", handler="", rate="5/s")).status_code == 400


@pytest.mark.parametrize("name", ["", "%00", "a%20b", SCRIPT])
async def test_a_lane_that_cannot_be_is_a_sentence(redis_settings: RedisSettings, name: str) -> None:
    async with site(redis_settings) as here:
        answer = await here.browser.get(f"/lane?name={name}", headers=HTML)
        assert answer.status_code in {400, 404}
        assert SCRIPT not in answer.text


async def test_a_lane_shows_how_many_tasks_have_waited_who_serves_it_and_its_tasks(
    redis_settings: RedisSettings,
) -> None:
    async with site(redis_settings) as here:
        for number in range(3):
            await here.manager.run_task("x", task_id=f"t{number}", lane="mail", name="mail.send")
        assert "data-chart" not in await here.page("/lane?name=mail"), "nothing has been noted yet"
        await lane_depths(here.store).run_once()
        await lane_depths(here.store).run_once()  # of another host
        ((_, waiting),) = await here.store.depths(0)
        assert waiting == {"mail": 3}
        served = ServedWork((ServedLane("mail"),), frozenset({"mail.send"}))
        await here.store.register(Introduction("w-1", "far", "boot", 4711, 5, served))
        shown = await here.page("/lane?name=mail")
        assert "Not enough data yet" in shown, "one number makes no line"
        now_ms, key = await here.store.clock_ms(), f"{{{redis_settings.queue}}}:depths"
        await here.store.connection.command("DEL", key)
        for ago in (2, 1, 0):
            note = msgspec.msgpack.encode({"mail": 5 + ago})
            await here.store.connection.command("XADD", key, f"{now_ms - ago * 60_000}-0", "depths", note)
        shown = await here.page("/lane?name=mail")
        assert '"names": ["waiting"]' in shown
        assert "[7.0, 6.0, 5.0]" in shown
        found = re.search(r'"window": \[(\d+), (\d+)\]', shown)
        assert found, shown
        assert int(found[2]) - int(found[1]) == 3600, "the whole hour, also where nothing was noted"
        assert '<a href="/workers#worker-5-on-far-(pid-4711)">worker 5 on far</a>' in unquote(shown)
        assert 'id="worker-5-on-far-(pid-4711)"' in await here.page("/workers")
        assert 'href="/task?id=t2"' in shown
        assert 'href="/tasks?lane=mail"' in shown
        assert 'class="spark"' in await here.page("/lanes")


async def test_lanes_that_stand_still_come_first_and_are_counted_in_the_menu(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        served = ServedWork((ServedLane("a-well"), ServedLane("b-paused")))
        await here.store.register(Introduction("w-1", "far", "boot", 4711, 5, served))
        await here.manager.run_task("x", lane="d-nobody")
        await here.manager.run_task("x", lane="a-well")
        await here.manager.pause_queue("b-paused", "the provider is down")
        shown = await here.page("/lanes")
        lanes = re.findall(r'<th scope="row"><a href="/lane\?name=([a-d]-[a-z-]+)">', shown)
        assert lanes == ["d-nobody", "b-paused", "a-well"]
        badges = re.findall(r'<span class="state (\w+)">(?:no worker|paused|open)', shown)
        assert badges == ["failed", "paused", "active"]
        assert 'class="waits bad" id="waits-lanes">2</span>' in shown


async def test_a_lane_is_paused_with_the_button_of_its_page(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("x", lane="mail")
        shown = await here.page("/lane?name=mail")
        head = shown.split('class="head"', 1)[1].split('id="live"', 1)[0]
        assert 'action="/lanes/pause"' in head
        await here.change("/lanes/pause", lane="mail", reason="")
        head = (await here.page("/lane?name=mail")).split('class="head"', 1)[1].split('id="live"', 1)[0]
        assert 'action="/lanes/resume"' in head
        assert 'action="/lanes/pause"' not in head


async def test_a_note_of_depths_has_the_fullest_lanes(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.store.redis.lanes.MOST_DEPTHS", 1)
    async with site(redis_settings) as here:
        for lane in ("few", "many", "many"):
            await here.manager.run_task("x", lane=lane)
        await here.store.note_depths()
        assert [waiting for _, waiting in await here.store.depths(0)] == [{"many": 2}]
