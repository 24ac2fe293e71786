"""Schedules, what is said of lanes and hosts, and webhooks: they survive a Redis that has lost them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.client.schedule_definition import read_spec
from holdfast.core.acceptance import SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.errors import StoreUnavailableError
from tests.ledger.ledger import Ledger
from tests.lua.namespace import Namespace
from tests.lua.operations import submission
from tests.schedules.stage import Stage

pytestmark = pytest.mark.anyio

URL = "https://example.org/hook"


@pytest.fixture
async def stage(books: Ledger) -> AsyncIterator[Stage]:
    """A queue with schedules that the ledger keeps."""
    made = await Stage(books.stand).begin()
    await books.keep()
    yield made
    await books.redis.check()


@pytest.fixture
async def code(books: Ledger) -> AsyncIterator[Stage]:
    """A worker of that queue, which sets the schedules of its code: it knows no ledger."""
    space = Namespace(books.redis.url, queue=books.queue)
    yield await Stage(space).begin()
    await space.aclose()


async def test_a_task_of_a_schedule_keeps_its_options_when_redis_has_lost_it(books: Ledger, stage: Stage) -> None:
    asked = {"unique": "k", "concurrency_key": "c", "webhook": URL, "expires": "2m", "backoff": "5m"}
    await stage.set("j", every="1m", overlap="allow", **asked)
    [task_id] = await stage.until(60)
    await books.keep()
    await books.lose()
    kept = await stage.space.do("HMGET", books.redis.key(f"task:{task_id}"), "concurrency_key", "webhook")
    assert kept == [b"c", URL.encode()]
    assert await stage.until(120) == []  # its key is held
    assert (await stage.schedules.history("j", 1))[0].task == task_id
    await books.redis.advance(60_000)
    await stage.space.store.promote(10)
    assert await stage.state(task_id) == "canceled"  # it has expired


async def fires_of(stage: Stage, schedule_id: str) -> int:
    return (await stage.schedules.get(schedule_id)).fires


async def test_a_schedule_comes_back_with_its_count_and_fires_on(books: Ledger, stage: Stage) -> None:
    await stage.set("j", every="1m", overlap="allow", owner="me")
    assert len(await stage.until(180)) == 3
    before = await stage.schedules.get("j")
    await books.keep()
    await books.lose()
    after = await stage.schedules.get("j")
    assert (after.definition, after.fires, after.expected) == (before.definition, 3, before.expected)
    assert (after.generation, after.created) == (before.generation, before.created)
    assert await stage.schedules.owned("me") == {"j"}
    assert await stage.until(240) == ["j@20270101T000400Z"]


async def test_a_schedule_of_the_code_comes_back_as_its_application_s(books: Ledger, stage: Stage, code: Stage) -> None:
    await code.set("j", every="1m")
    await books.keep()
    await code.schedules.declare("j", read_spec({"text": "go", "every": "1m"}), "shop")
    await books.keep()
    await books.lose()
    definition = (await stage.schedules.get("j")).definition
    assert (definition.owner, definition.declared) == ("shop", True)
    assert await code.space.do("SMEMBERS", code.space.key("declared")) == {b"j"}


async def test_a_pause_comes_back_with_its_reason_and_end(books: Ledger, stage: Stage) -> None:
    await stage.set("j", every="1m")
    await stage.schedules.pause("j", "the bank is closed", datetime(2027, 1, 2, tzinfo=UTC))
    await books.keep()
    await books.lose()
    record = await stage.schedules.get("j")
    assert (record.paused, record.until) == ("the bank is closed", stage.at(86400))
    assert await stage.until(180) == []
    await stage.schedules.resume("j")
    assert await stage.until(240) == ["j@20270101T000400Z"]


async def test_what_was_missed_meanwhile_is_for_the_policy_to_decide(books: Ledger, stage: Stage) -> None:
    await stage.set("latest", every="1m", overlap="allow")
    await stage.set("skips", every="1m", overlap="allow", misfire="skip")
    await books.keep()
    await books.flush()
    await stage.space.advance(210_000)
    await books.wait_given()
    assert await stage.round() == ["latest@20270101T000300Z"]
    assert await stage.until(240) == ["latest@20270101T000400Z", "skips@20270101T000400Z"]


async def test_a_fire_that_was_ingested_is_not_made_again(books: Ledger, stage: Stage) -> None:
    """Redis is set back to before it; its task has ended, so that only the ledger knows it."""
    await stage.set("j", every="1m")
    await books.keep()
    kept = await books.picture()
    [task_id] = await stage.until(60)
    await stage.work()
    await stage.end(task_id)
    await books.keep()
    await books.set_back(kept)
    await stage.space.advance(0)
    await stage.firing.round()  # a steward that has not heard of it
    await books.keep()
    await stage.firing.round()
    assert await books.redis.entries() == []
    assert await fires_of(stage, "j") == 1
    assert await stage.until(120) == ["j@20270101T000200Z"]


async def test_a_fire_whose_task_is_known_is_not_made_again_though_its_schedule_is_behind(
    books: Ledger, stage: Stage
) -> None:
    await stage.set("j", every="1m")
    await books.keep()
    [older] = await books.rows(
        "SELECT content FROM holdfast_facts WHERE queue = $1 AND name = 'schedule|j'", books.queue
    )
    [task_id] = await stage.until(60)
    await stage.work()
    await stage.end(task_id)
    await books.keep()
    async with books.store.database.transaction() as sql:
        await sql.execute("UPDATE holdfast_facts SET content = $1 WHERE name = 'schedule|j'", older["content"])
    await books.lose()
    await stage.space.advance(0)
    assert await fires_of(stage, "j") == 0
    await stage.firing.round()
    assert await books.redis.entries() == []
    assert (await fires_of(stage, "j"), await stage.expected("j")) == (1, 120)


async def test_what_stands_at_the_key_of_a_schedule_keeps_no_setting_from_being_copied(
    books: Ledger, stage: Stage
) -> None:
    await stage.set("X", every="1m")
    await stage.set("Y", every="1m")
    await books.redis.do("DEL", books.redis.key("schedule:X"))
    await books.redis.do("RPUSH", books.redis.key("schedule:X"), "no record")
    await books.keep()
    await books.lose()
    assert [each.definition.schedule_id for each in await stage.schedules.known(["X", "Y"])] == ["Y"]


async def test_a_fire_that_nobody_ingested_is_made_again_under_its_id(books: Ledger, stage: Stage) -> None:
    await stage.set("j", every="1m")
    await books.keep()
    made = await stage.until(60)
    await books.lose()
    await stage.space.advance(0)
    assert await stage.round() == made
    assert await fires_of(stage, "j") == 1


async def test_a_fire_that_is_made_while_its_schedule_is_read_is_not_lost(
    books: Ledger, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger would know that it was made, and not its task."""
    await stage.set("j", every="1m")
    await stage.space.advance(60_000)
    made, read = [], books.store.redis_ledger.kept_settings

    async def fire_first(*args: Any) -> Any:
        made.extend(await stage.round())
        return await read(*args)

    with monkeypatch.context() as patched:
        patched.setattr(books.store.redis_ledger, "kept_settings", fire_first)
        await books.store.keep()
    assert made == ["j@20270101T000100Z"]
    await books.flush()
    await stage.space.advance(0)
    await books.wait_given()
    await stage.space.register("w")
    assert await stage.round() + await stage.work() == made
    assert await fires_of(stage, "j") == 1


async def test_a_schedule_that_goes_on_goes_on_where_its_last_end_was_lost_on_the_way(
    books: Ledger, stage: Stage
) -> None:
    await stage.set("j", schedule="CONTINUE")
    [task_id] = await stage.round()
    await stage.work()
    await books.keep()
    [behind] = await books.rows(
        "SELECT content FROM holdfast_facts WHERE queue = $1 AND name = 'schedule|j'", books.queue
    )
    await stage.end(task_id)
    await books.keep()
    async with books.store.database.transaction() as sql:
        await sql.execute("UPDATE holdfast_facts SET content = $1 WHERE name = 'schedule|j'", behind["content"])
    await books.lose()
    await stage.space.advance(120_000)
    assert len(await stage.round()) == 1


async def test_a_removed_schedule_stays_removed(books: Ledger, stage: Stage) -> None:
    """Also where Redis was set back to when it was there, and where nobody has ingested that it went."""
    await stage.set("seen", every="1m")
    await stage.set("unseen", every="1m")
    await books.keep()
    kept = await books.picture()
    await stage.schedules.remove("seen")
    await books.keep()
    await stage.schedules.remove("unseen")
    await books.set_back(kept)
    await stage.space.advance(60_000)
    assert await stage.round() == []
    while (await books.store.keep()).rebuilding:
        assert await stage.round() == []
    assert await stage.round() == []
    await books.wait_given()
    assert (await stage.schedules.list()).schedules == ()
    await books.lose()
    assert (await stage.schedules.list()).schedules == ()
    assert await books.requests() == []


async def test_a_schedule_that_its_handler_unset_stays_unset(books: Ledger, stage: Stage) -> None:
    await stage.set("j", every="1m")
    [task_id] = await stage.until(60)
    await stage.work()
    await books.keep()
    await stage.end(task_id, reason="unset-schedule")
    await books.keep()
    await books.lose()
    assert (await stage.schedules.list()).schedules == ()


async def test_what_was_asked_of_a_schedule_and_not_ingested_is_done_again(books: Ledger, stage: Stage) -> None:
    await stage.set("changes", every="1m")
    await stage.set("pauses", every="1m")
    await books.keep()
    await stage.set("changes", every="2m")
    await stage.set("new", every="3m")
    await stage.schedules.pause("pauses", "enough")
    await books.flush()
    await books.wait_given()
    schedules = {each.definition.schedule_id: each for each in (await stage.schedules.list()).schedules}
    assert sorted(schedules) == ["changes", "new", "pauses"]
    assert '"2m"' in schedules["changes"].definition.spec
    assert schedules["pauses"].paused == "enough"
    assert await books.requests() == []


async def test_while_it_is_rebuilt_changes_are_kept_and_done_in_their_order(books: Ledger, stage: Stage) -> None:
    await stage.set("j", every="1m")
    await books.keep()
    await books.flush()
    for asked in (books.store.pause_schedule("j", "enough", None), books.store.remove_schedule("j")):
        with pytest.raises(StoreUnavailableError, match="schedule j is kept in PostgreSQL"):
            await asked
    await books.wait_given()
    assert (await stage.schedules.list()).schedules == ()
    assert await books.requests() == []


async def test_what_was_asked_holds_where_redis_is_lost_again_in_the_midst(books: Ledger, stage: Stage) -> None:
    await stage.set("j", every="1m")
    await books.keep()
    await stage.schedules.pause("j", "enough")
    await books.flush()
    while (await books.store.ledger()).phase != "sweeping":
        await books.store.keep()
    await books.flush()
    await books.wait_given()
    assert (await stage.schedules.get("j")).paused == "enough"
    assert await books.requests() == []


async def test_a_schedule_set_by_code_after_the_loss_keeps_its_pause_and_count(
    books: Ledger, stage: Stage, code: Stage
) -> None:
    """Workers know no ledger: one that starts anew finds none, and sets its own."""
    await code.set("same", every="1m")
    await code.set("other", every="1m")
    await stage.until(60)
    for each in ("same", "other"):
        await stage.schedules.pause(each, "enough")
    await books.keep()
    await books.flush()
    await stage.space.advance(1000)
    await code.set("same", every="1m")
    await code.set("other", every="7m")
    await books.wait_given()
    same, other = await stage.schedules.get("same"), await stage.schedules.get("other")
    assert (same.paused, same.fires, same.generation) == ("enough", 1, 1)
    assert (other.paused, other.fires, other.generation) == ("enough", 0, 2)
    assert '"7m"' in other.definition.spec


async def test_what_events_were_trimmed_of_is_read_anew_and_nothing_removed_comes_back(
    books: Ledger, stage: Stage, code: Stage
) -> None:
    await stage.set("stays", every="1m")
    await stage.set("goes", every="1m")
    await books.keep()
    await code.schedules.remove("goes")
    await stage.schedules.pause("stays", "enough")
    await books.submit("t")
    await books.redis.do("XTRIM", books.redis.key("events"), "MAXLEN", "=", 1)
    await books.keep()
    await books.keep()
    assert [each.definition.schedule_id for each in (await stage.schedules.list()).schedules] == ["stays"]
    await books.lose()
    [only] = (await stage.schedules.list()).schedules
    assert (only.definition.schedule_id, only.paused) == ("stays", "enough")


async def test_a_redis_of_before_is_read_once_with_all_its_facts(books: Ledger, stage: Stage, code: Stage) -> None:
    """The database is new, the queue is not."""
    async with books.store.database.transaction() as sql:
        await sql.execute("DELETE FROM holdfast_queues WHERE queue = $1", books.queue)
    await books.store.disown()
    await code.space.store.pause_lane(books.queue, "closed")
    await code.set("j", every="1m")
    await books.keep()
    await books.lose()
    assert (await stage.schedules.get("j")).paused == ""
    [lane] = (await books.store.lanes([books.queue])).lanes
    assert lane.paused_because == "closed"


async def test_a_paused_lane_starts_nothing_of_what_goes_back(books: Ledger, stage: Stage) -> None:
    await books.submit("t1")
    await books.keep()
    await books.store.pause_lane(books.queue, "the bank is closed")
    await books.flush()
    while (await books.store.keep()).rebuilding:
        await stage.space.register("w")
        assert await stage.space.take("w", 1) == []
    await books.wait_given()
    [lane] = (await books.store.lanes([books.queue])).lanes
    assert lane.paused_because == "the bank is closed"
    await books.store.resume_lane(books.queue)
    await books.keep()
    await books.lose()
    await stage.space.register("w")
    assert [each.task_id for each in await stage.space.take("w")] == ["t1"]


async def test_bounds_come_back_and_count(books: Ledger, stage: Stage) -> None:
    await books.store.bound(
        [LaneLimit(LaneBound.LIMIT, books.queue, "1"), LaneLimit(LaneBound.RATE, "slow", "10/1000/4")]
    )
    await books.store.declare("here", [LaneLimit(LaneBound.KEYS, books.queue, "2")])
    await books.submit("t1", "t2")
    await books.keep()
    before = await books.store.lanes([])
    await books.lose()
    after = await books.store.lanes([])
    assert [(lane.name, lane.limit, lane.keys, lane.rate) for lane in after.lanes] == [
        (lane.name, lane.limit, lane.keys, lane.rate) for lane in before.lanes
    ]
    await stage.space.register("w")
    assert [each.task_id for each in await stage.space.take("w")] == ["t1"]


async def test_a_redis_set_back_says_of_lanes_what_was_said_last(books: Ledger, stage: Stage) -> None:
    await books.store.pause_lane("resumed", "closed")
    await books.store.bound([LaneLimit(LaneBound.LIMIT, "free", "1"), LaneLimit(LaneBound.LIMIT, "less", "1")])
    await books.keep()
    kept = await books.picture()
    await books.store.resume_lane("resumed")
    await books.store.pause_lane("paused", "closed")
    await books.store.bound([LaneLimit(LaneBound.LIMIT, "free", ""), LaneLimit(LaneBound.LIMIT, "less", "2")])
    await books.keep()
    await books.set_back(kept)
    await books.wait_given()
    lanes = {lane.name: lane for lane in (await books.store.lanes(["resumed"])).lanes}
    assert (lanes["paused"].is_paused, lanes["resumed"].is_paused) == (True, False)
    assert lanes["less"].limit.value == "2"
    assert "free" not in lanes
    assert (await books.store.ledger()).losses == 1


async def test_a_quiet_host_stays_quiet(books: Ledger, stage: Stage) -> None:
    await books.store.quiet_host("*", "me", "maintenance")
    await books.store.halt_host("*", "me", "upgrade")
    number = await books.store.last_halt("host")
    await books.submit("t1")
    await books.keep()
    await books.lose()
    await stage.space.register("w")
    kept = [(order.host, order.reason, order.is_halt) for order in await books.store.quiet_hosts()]
    assert kept == [("*", "maintenance", False), ("*", "upgrade", True)]
    assert await books.store.last_halt("host") == number
    await books.store.resume_host("*", "me")
    assert await stage.space.take("w") == []
    await books.store.end_halt("*", "me")
    assert await books.store.last_halt("host") == number  # a process that did not hear of it ends all the same


@pytest.mark.parametrize("lasts", [True, False], ids=["that lasts", "that has ended"])
async def test_the_next_halt_counts_for_who_has_seen_one_though_the_clock_of_a_new_server_is_behind(
    books: Ledger, stage: Stage, lasts: bool
) -> None:
    hosts = ("a", "b", "*", "c", "host")
    for host in hosts:
        await books.store.halt_host(host, "me", "upgrade")
    seen = await books.store.last_halt("host")
    await books.keep()
    if not lasts:
        for host in hosts:
            await books.store.end_halt(host, "me")
        await books.keep()
    await books.lose()
    if not lasts:
        assert await books.store.last_halt("host") == 0  # else whoever started meanwhile would end
    await stage.space.advance(-60_000)
    await books.store.halt_host("*", "me", "again")
    assert await books.store.last_halt("host") > seen


async def test_webhooks_that_wait_are_told_after_a_loss(books: Ledger, stage: Stage) -> None:
    """Of a task that has ended, with all of it; of one that asks; not what was told before."""
    await books.store.set_webhook("https://example.org/all")
    await books.store.submit_with_options([submission("ended", books.queue, options=SubmitOptions(webhook=URL))])
    await books.submit("told", "asks")
    ended, told, asks = await stage.space.take("w", 3)
    await stage.space.settle("w", told, Settle.COMPLETED, result=b'"out"')
    [notice], _ = await books.store.take_notices(1, 60_000)
    await books.keep()
    await stage.space.settle("w", ended, Settle.COMPLETED, result=b'"out"')
    await stage.space.settle("w", asks, Settle.INPUT_REQUIRED, result=b'"what?"')
    before = {each.name: each for each in (await books.store.take_notices(10, 60_000))[0]}
    await books.store.notice_done(notice.name)
    await books.keep()
    await books.lose()
    notices = {each.name: each for each in (await books.store.take_notices(10, 60_000))[0]}
    assert notices == before
    assert {each.url for each in notices.values()} == {URL, "https://example.org/all"}
    record = await books.store.get("ended")
    assert record is not None
    assert record.result == b'"out"'
    await books.store.set_webhook("")
    await books.keep()
    await books.lose()
    assert await books.redis.do("HGET", books.redis.key("meta"), "webhook") is None
