"""A schedule whose record is gone or cannot be read is set aside by name; all others go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from holdfast.core.task_states import State
from holdfast.errors import UnreadableScheduleError
from tests.lua.namespace import namespace
from tests.schedules.stage import Stage

pytestmark = pytest.mark.anyio

PAGE = 100  # schedules that a steward reads at once

Spoil = Callable[[Stage, str], Awaitable[None]]


async def gone(stage: Stage, schedule_id: str) -> None:
    await stage.space.do("DEL", stage.space.key(f"schedule:{schedule_id}"))


async def half(stage: Stage, schedule_id: str) -> None:
    await stage.space.do("HDEL", stage.space.key(f"schedule:{schedule_id}"), "spec")


async def wrong(stage: Stage, schedule_id: str) -> None:
    await stage.space.do("HSET", stage.space.key(f"schedule:{schedule_id}"), "expected", "soon")


async def endless(stage: Stage, schedule_id: str) -> None:
    await stage.space.do("HSET", stage.space.key(f"schedule:{schedule_id}"), "expected", "inf")


async def binary(stage: Stage, schedule_id: str) -> None:
    await stage.space.do("HSET", stage.space.key(f"schedule:{schedule_id}"), "task", b"\xff")


async def other(stage: Stage, schedule_id: str) -> None:
    await gone(stage, schedule_id)
    await stage.space.do("SET", stage.space.key(f"schedule:{schedule_id}"), "no hash")


@pytest.mark.parametrize("spoil", [gone, half, wrong, endless, binary, other])
async def test_schedule_that_cannot_be_read_stops_no_other(stage: Stage, spoil: Spoil) -> None:
    await stage.set("sound", every=60, overlap="allow")
    await stage.set("bad", every=60)
    await spoil(stage, "bad")
    with capture_logs() as logs:
        assert await stage.until(120, step=30) == ["sound@20270101T000100Z", "sound@20270101T000200Z"]
    warnings = [line for line in logs if line["event"] == "a schedule cannot be read; it is set aside"]
    assert [line["schedule"] for line in warnings] == ["bad"]  # once
    page = await stage.schedules.list()
    assert [schedule.definition.schedule_id for schedule in page.schedules] == ["sound"]
    [spoilt] = page.spoilt
    assert (spoilt.schedule_id, spoilt.why == "its record is gone") == ("bad", spoil in {gone, other})
    with pytest.raises(UnreadableScheduleError, match=r"schedule bad: its record is .*schedules remove bad"):
        await stage.schedules.get("bad")
    assert await stage.space.store.remove_schedule("bad") == "removed"
    await stage.set("bad", every=60)
    assert "bad@20270101T000300Z" in await stage.until(180)


async def test_many_that_cannot_be_read_keep_none_from_its_turn(stage: Stage) -> None:
    for number in range(PAGE + 1):
        await stage.set(f"bad-{number}", every=60)
        await gone(stage, f"bad-{number}")
    await stage.set("sound", every=61)
    with capture_logs():
        assert await stage.until(62, step=62) == ["sound@20270101T000101Z"]


async def test_one_that_is_set_again_meanwhile_is_not_set_aside(stage: Stage) -> None:
    await stage.set("j", every=60)
    await gone(stage, "j")
    await stage.space.advance(60_000)
    [seen] = (await stage.space.store.due_schedules(10)).spoilt
    await stage.set("j", every=60)
    assert await stage.space.store.set_schedule_aside(seen) == "changed"
    assert len(await stage.until(120)) == 1


async def test_history_that_is_no_list_is_begun_anew(stage: Stage) -> None:
    await stage.set("j", every=60)
    await stage.space.do("SET", stage.space.key("fires:j"), "no list")
    assert len(await stage.until(60)) == 1
    assert await stage.fates("j") == ["fired"]


async def test_end_of_a_task_is_settled_though_its_schedule_cannot_be_read(stage: Stage) -> None:
    await stage.set("j", every=60)
    [task] = await stage.until(60)
    await stage.work()
    await other(stage, "j")
    await stage.end(task)
    assert await stage.state(task) is State.COMPLETED
    await stage.schedules.remove("j")


async def test_pause_that_cannot_end_stops_no_other(stage: Stage) -> None:
    await stage.set("bad", every=60)
    await stage.set("sound", every=60, overlap="allow")
    key = stage.space.key("schedule:bad")
    await stage.space.do("HSET", key, "paused", "for a while", "until", stage.at(60), "cadence", "every 0 0")
    await stage.space.do("ZADD", stage.space.key("schedules"), stage.at(60), "bad")
    with capture_logs():
        assert await stage.until(120, step=60) == ["sound@20270101T000100Z", "sound@20270101T000200Z"]
    assert (await stage.space.do("HGET", key, "paused")).startswith(b"cannot be fired")


async def submitted_without_lane(stage: Stage, task_id: str) -> None:
    await stage.space.do("HDEL", stage.space.key(f"task:{task_id}"), "lane")


async def submitted_in_no_state(stage: Stage, task_id: str) -> None:
    await stage.space.do("HSET", stage.space.key(f"task:{task_id}"), "state", "x")


async def no_record(stage: Stage, task_id: str) -> None:
    await stage.space.do("DEL", stage.space.key(f"task:{task_id}"))
    await stage.space.do("SET", stage.space.key(f"task:{task_id}"), "no hash")


async def working_without_claim(stage: Stage, task_id: str) -> None:
    await stage.work()
    await stage.space.do("HDEL", stage.space.key(f"task:{task_id}"), "claim")


async def working_without_owner(stage: Stage, task_id: str) -> None:
    await stage.work()
    await stage.space.do("HDEL", stage.space.key(f"task:{task_id}"), "owner")


async def working_for_nobody(stage: Stage, task_id: str) -> None:
    await stage.work()
    await stage.space.do("HDEL", stage.space.key(f"task:{task_id}"), "lane", "owner", "claim")


BROKEN = [submitted_without_lane, submitted_in_no_state, no_record, working_for_nobody]
CLAIMED = [working_without_claim, working_without_owner]


@pytest.mark.parametrize("damage", [*BROKEN, *CLAIMED])
async def test_a_damaged_task_does_not_stop_the_schedule_that_replaces_it(unchecked: Stage, damage: Spoil) -> None:
    await unchecked.set("j", every=60, overlap="replace")
    [first] = await unchecked.until(60)
    await damage(unchecked, first)
    assert await unchecked.until(180) == ["j@20270101T000200Z", "j@20270101T000300Z"]
    assert await unchecked.state("j@20270101T000300Z") is State.SUBMITTED
    assert await unchecked.space.store.schedule("j")


@pytest.mark.parametrize("damage", BROKEN)
@pytest.mark.parametrize("unique", [None, "key"])
@pytest.mark.parametrize("overlap", ["forbid", "queue-one", "replace"])
async def test_a_damaged_task_that_nobody_runs_keeps_no_fire_back(
    unchecked: Stage, damage: Spoil, overlap: str, unique: str | None
) -> None:
    """It is set aside, and the next fire is made, with the key that the damaged one has."""
    await unchecked.set("j", every=60, overlap=overlap, unique=unique)
    [first] = await unchecked.until(60)
    await damage(unchecked, first)
    assert await unchecked.until(120) == ["j@20270101T000200Z"]
    [reason] = await unchecked.space.reasons()
    assert reason.startswith(f"the record of task {first} cannot be read: ")


async def test_a_damaged_task_that_runs_keeps_the_next_fire_back(unchecked: Stage) -> None:
    await unchecked.set("j", every=60, overlap="forbid")
    [first] = await unchecked.until(60)
    await unchecked.work()
    await unchecked.space.do("HDEL", unchecked.space.key(f"task:{first}"), "lane")
    assert await unchecked.until(120) == []


@pytest.mark.parametrize("how", ["x", None])
async def test_a_schedule_goes_on_after_a_task_that_was_set_aside(unchecked: Stage, how: str | None) -> None:
    """The schedule waits for the end of its task; a task that was set aside may never end, so it waits no longer."""
    await unchecked.set("j", schedule="CONTINUE")
    [first] = await unchecked.round()
    key = unchecked.space.key(f"task:{first}")
    await (unchecked.space.do("HSET", key, "state", how) if how else unchecked.space.do("HDEL", key, "turn"))
    await unchecked.work()
    [second] = await unchecked.until(60)
    assert second != first


async def test_what_waits_for_a_task_that_is_damaged_is_made(unchecked: Stage) -> None:
    await unchecked.set("j", every=60, overlap="queue-one")
    [first] = await unchecked.until(60)
    assert await unchecked.until(120) == []  # it waits
    await submitted_without_lane(unchecked, first)
    assert await unchecked.until(180) == ["j@20270101T000300Z"]
    await unchecked.work()
    await unchecked.end("j@20270101T000300Z")
    assert await unchecked.round() == ["j@20270101T000200Z"]


async def test_a_schedule_whose_task_is_damaged_can_be_stopped(unchecked: Stage) -> None:
    await unchecked.set("j", every=60)
    [first] = await unchecked.until(60)
    await submitted_without_lane(unchecked, first)
    assert await unchecked.set("j", schedule="STOP") == "changed"
    assert len(await unchecked.space.reasons()) == 1


async def test_an_order_for_one_whose_key_holds_something_else_says_so(stage: Stage) -> None:
    await stage.set("bad", every=60)
    await other(stage, "bad")
    with pytest.raises(UnreadableScheduleError, match="schedules remove bad"):
        await stage.schedules.pause("bad")
    with pytest.raises(UnreadableScheduleError, match="schedules remove bad"):
        await stage.space.store.resume_schedule("bad", 1, None, None)
    await stage.schedules.remove("bad")


async def test_one_whose_key_holds_something_else_is_whole_when_it_is_set_again(stage: Stage) -> None:
    await stage.set("bad", every=60)
    await other(stage, "bad")
    assert await stage.set("bad", every=60) == "new"
    assert len(await stage.until(60)) == 1


async def test_a_generation_that_is_no_number_begins_anew(stage: Stage) -> None:
    await stage.set("bad", every=60)
    await stage.space.do("HSET", stage.space.key("schedule:bad"), "generation", "x")
    assert await stage.set("bad", every=60) == "new"
    assert len(await stage.until(60)) == 1


async def test_an_index_of_an_owner_that_is_none_stops_no_change(stage: Stage) -> None:
    await stage.set("j", every=60, owner="billing")
    await stage.space.do("DEL", stage.space.key("owner:billing"))
    await stage.space.do("SET", stage.space.key("owner:billing"), "x")
    await stage.set("k", every=60, owner="billing")
    assert await stage.schedules.owned("billing") == {"k"}
    await stage.schedules.remove("j")
    await stage.schedules.remove("k")


FIELDS = (
    "generation", "expected", "due", "paused", "until", "pending", "released", "overlap", "task", "last", "fires",
    "cadence", "ended", "limit", "end", "start", "backoff", "streak", "on_failure", "owner", "declared", "asked",
    "spec", "misfire", "deadline", "jitter", "timezone", "created", "updated",
)  # fmt: skip
VALUES = ["x", "", "-1", "nan", "1e999", "9" * 15, "9" * 40, None]


async def played(stage: Stage, damage: tuple[str, str | None] | None) -> list[str]:
    """The tasks of the schedules that nobody damages. Each policy has one that is damaged, and one that is not."""
    for name in ("bad", "good"):
        for overlap in ("forbid", "queue-one", "replace"):
            await stage.set(f"{overlap}-{name}", every=60, overlap=overlap)
        await stage.set(f"continue-{name}", schedule="CONTINUE")
    made = await stage.round()
    for minute in range(1, 6):
        made += await stage.until(60 * minute, step=60)
        if minute == 2 and damage:
            for policy in ("forbid", "queue-one", "replace", "continue"):
                key = stage.space.key(f"schedule:{policy}-bad")
                field, value = damage
                await (
                    stage.space.do("HDEL", key, field) if value is None else stage.space.do("HSET", key, field, value)
                )
        for task in await stage.work() if minute % 2 == 0 else []:
            await stage.end(task)
        made += await stage.round()
    await stage.space.store.schedules_soon(0, stage.at(10_000), 0, 100)
    await stage.space.store.retire_schedules("", 100)
    await stage.schedules.list()
    return [task for task in made if "good" in task]


@pytest.mark.parametrize("field", FIELDS)
async def test_a_damaged_field_of_a_schedule_is_its_own_trouble(server_url: str, field: str) -> None:
    async with namespace(server_url) as space:
        whole = await played(await Stage(space).begin(), None)
    assert len(whole) == 14
    for value in VALUES:
        async with namespace(server_url) as space:
            with capture_logs():
                assert await played(await Stage(space).begin(), (field, value)) == whole, value
