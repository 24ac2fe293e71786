"""The schedule scenarios that we answer to, by number; what is arithmetic alone is in tests/core/test_cadence.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from holdfast.client.schedule_definition import read_spec
from holdfast.client.schedules import Schedules
from holdfast.core.delivery import Settle
from holdfast.core.schedule_records import EndedRun
from holdfast.core.task_states import State
from holdfast.core.worker_records import ServedLane, ServedWork
from holdfast.errors import InvalidScheduleError, ScheduleBusyError, UnknownScheduleError
from holdfast_config.lanes import lanes
from tests.lua.operations import introduction
from tests.schedules.stage import Stage, utc

pytestmark = pytest.mark.anyio


class Between:
    """The store; `then` happens between an answer to `fire` and what its caller does next."""

    def __init__(self, store: Any, then: Callable[..., Awaitable[object]]) -> None:
        self._store = store
        self._then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def fire(self, orders: Any) -> Any:
        answers = await self._store.fire(orders)
        await self._then(orders)
        return answers


async def run_between(stage: Stage, then: Callable[..., Awaitable[object]]) -> str:
    store: Any = Between(stage.space.store, then)
    return await Schedules(store, stage.space.queue).run("j")


async def test_01_now_is_one_run_and_then_the_end(stage: Stage) -> None:
    await stage.set("j", schedule="NOW")
    assert len(await stage.round()) == 1
    assert await stage.until(100, step=50) == []
    assert (await stage.schedules.get("j")).ended


async def test_02_a_moment_to_come(stage: Stage) -> None:
    await stage.set("j", at=(stage.origin + 2000) / 1000)
    assert await stage.until(1) == []
    assert len(await stage.until(2)) == 1
    assert await stage.until(10) == []


async def test_03_a_moment_that_has_passed_is_late_and_once(stage: Stage) -> None:
    await stage.set("j", schedule="AT:2026-12-31T23:00:00Z")
    assert len(await stage.round()) == 1
    assert await stage.until(10) == []
    [fired] = [line for line in await stage.schedules.history("j") if line.what == "fired"]
    assert fired.detail == "3600000 ms late"


async def test_04_continue_goes_on_after_its_run(stage: Stage) -> None:
    await stage.set("j", schedule="CONTINUE", backoff=2)
    [first] = await stage.round()
    await stage.work()
    assert await stage.until(7) == []
    await stage.end(first)
    assert await stage.expected("j") == 9
    assert await stage.until(8) == []
    assert len(await stage.until(9)) == 1


async def test_04_continue_takes_the_backoff_that_its_handler_asks_for(stage: Stage) -> None:
    await stage.set("j", schedule="CONTINUE", backoff=2)
    [first] = await stage.round()
    await stage.work()
    await stage.end(first, backoff=30)
    assert await stage.expected("j") == 30


@pytest.mark.parametrize("word", ["stop-schedule", "unset-schedule"])
async def test_05_a_handler_ends_its_schedule_and_setting_it_again_runs(stage: Stage, word: str) -> None:
    await stage.set("j", every=10)
    [first] = await stage.until(10)
    await stage.work()
    await stage.end(first, reason=word)
    assert await stage.until(60) == []
    assert await stage.set("j", every=10) in {"new", "changed"}
    assert len(await stage.until(70)) == 1


async def test_06_stop_takes_back_what_still_waits(stage: Stage) -> None:
    await stage.set("j", schedule="NOW")
    [queued] = await stage.round()
    await stage.set("j", schedule="STOP")
    assert await stage.work() == []
    assert await stage.state(queued) == State.CANCELED


@pytest.mark.parametrize(
    "wrong",
    [
        {"cron": "61 * * * *"},
        {"rrule": "FREQ=SOMETIMES"},
        {"every": 0},  # 08
        {"every": -1},
        {"every": float("nan")},
        {"cron": "* * * * *", "every": 5},
        {},
        {"cron": "0 0 31 2 *"},  # 09
        {"cron": "* * * * *", "timezone": "Mars/Base"},
        {"every": 5, "overlap": "never"},
        {"every": 5, "misfire": "all:0"},
        {"every": 5, "limit": 0},
        {"every": 5, "start": "2027-02-01", "end": "2027-01-01"},
        {"every": 5, "jitter": 6},
        {"every": 5, "start_deadline": "soon"},
        {"cron": "* * * * *", "anchor": 5},
        {"every": 5, "text": None},
        {"every": 5, "max_attempts": 0},
        {"every": 5, "on_failure": "cry"},
        {"every": 5, "color": "red"},
        {"every": [5]},
    ],
)
async def test_07_to_09_what_is_wrong_is_refused_and_changes_nothing(stage: Stage, wrong: dict[str, object]) -> None:
    await stage.set("j", every=60)
    before = await stage.schedules.get("j")
    with pytest.raises(InvalidScheduleError):
        await stage.set("j", **wrong)
    with pytest.raises(InvalidScheduleError):
        await stage.set("bad\nid", every=60)
    assert await stage.schedules.get("j") == before
    assert len((await stage.schedules.list()).schedules) == 1


async def test_10_a_changed_cadence_is_the_same_schedule(stage: Stage) -> None:
    await stage.set("j", every=900, overlap="allow")
    assert await stage.set("j", every=60, overlap="allow") == "changed"
    assert len((await stage.schedules.list()).schedules) == 1
    assert await stage.expected("j") == 60
    assert len(await stage.until(900, step=20)) == 15  # and none of the old one besides


async def test_11_the_same_upsert_from_many_changes_nothing(stage: Stage) -> None:
    await stage.schedules.upsert("j", every=60, text="go")
    await stage.space.advance(30_000)
    words: list[str] = []

    async def upsert() -> None:
        words.append(await stage.set("j", again=False, every=60))

    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(upsert)
    assert words == ["same"] * 100
    assert await stage.expected("j") == 60
    assert (await stage.schedules.get("j")).generation == 1


async def test_12_an_upsert_leaves_a_pause(stage: Stage) -> None:
    await stage.set("j", every=60)
    await stage.schedules.pause("j", "holidays")
    await stage.set("j", every=30)
    assert (await stage.schedules.get("j")).paused == "holidays"
    assert await stage.until(120, step=10) == []


async def test_13_an_anchor_in_the_past_does_not_fire_at_once(stage: Stage) -> None:
    await stage.set("j", every=60, anchor="2026-12-31T23:59:30Z")
    assert await stage.round() == []
    assert await stage.expected("j") == 30


async def test_14_a_resume_makes_up_for_nothing(stage: Stage) -> None:
    await stage.set("j", every=60)
    await stage.schedules.pause("j")
    assert await stage.until(630, step=30) == []
    await stage.schedules.resume("j")
    assert await stage.round() == []
    assert await stage.expected("j") == 660


async def test_14_a_pause_may_have_an_end(stage: Stage) -> None:
    from datetime import UTC, datetime

    await stage.set("j", every=60, overlap="allow")
    await stage.schedules.pause("j", until=datetime.fromtimestamp(stage.at(150) / 1000, UTC))
    assert await stage.until(179) == []
    assert len(await stage.until(180)) == 1


async def test_15_a_pause_lets_a_fire_that_was_seen_do_nothing(stage: Stage) -> None:
    await stage.set("j", every=60)
    await stage.space.advance(60_000)
    due = await stage.space.store.due_schedules(10)
    await stage.schedules.pause("j")
    orders = [stage.firing.order(record, due.now) for record in due.records]
    assert await stage.space.store.fire([order for order in orders if order]) == ["paused"]
    assert await stage.work() == []


async def test_16_a_removed_schedule_stays_removed(stage: Stage) -> None:
    await stage.set("j", every=60)
    await stage.space.advance(60_000)
    due = await stage.space.store.due_schedules(10)
    await stage.schedules.remove("j")
    orders = [stage.firing.order(record, due.now) for record in due.records]
    assert await stage.space.store.fire([order for order in orders if order]) == ["gone"]
    assert (await stage.schedules.list()).schedules == ()


async def test_17_an_unknown_id_is_an_error(stage: Stage) -> None:
    for call in (
        stage.schedules.pause,
        stage.schedules.resume,
        stage.schedules.remove,
        stage.schedules.run,
        stage.schedules.get,
    ):
        with pytest.raises(UnknownScheduleError, match="no schedule nobody"):
            await call("nobody")


async def test_18_unset_while_it_runs_lets_the_run_complete(stage: Stage) -> None:
    await stage.set("j", every=60)
    [task_id] = await stage.until(60)
    await stage.work()
    await stage.schedules.remove("j")
    await stage.end(task_id)
    assert await stage.state(task_id) == State.COMPLETED
    assert await stage.until(300, step=60) == []


async def test_19_a_moment_set_while_it_runs(stage: Stage) -> None:
    await stage.set("j", schedule="CONTINUE")
    [first] = await stage.round()
    await stage.work()
    await stage.set("j", at=stage.at(50) / 1000)
    await stage.end(first)
    assert await stage.until(49) == []
    assert len(await stage.until(50)) == 1
    assert await stage.until(100, step=10) == []


async def test_a_fire_that_waited_is_made_once(stage: Stage) -> None:
    await stage.set("j", every=1, overlap="queue-one")
    [first] = await stage.until(1)
    await stage.work()
    assert await stage.until(2) == []
    await stage.end(first)
    due = await stage.space.store.due_schedules(10)
    orders = [order for record in due.records if (order := stage.firing.order(record, due.now))]
    assert await stage.space.store.fire(orders) == ["fired"]
    assert await stage.space.store.fire(orders) == ["changed"]
    assert await stage.fates("j") == ["fired", "waits", "ended", "fired"]


async def test_a_run_of_before_a_change_has_no_say(stage: Stage) -> None:
    await stage.set("j", schedule="CONTINUE")
    [first] = await stage.round()
    await stage.work()
    await stage.set("j", schedule="CONTINUE", start=stage.at(100) / 1000)
    await stage.end(first, backoff=1)
    assert await stage.until(50, step=10) == []


@pytest.mark.parametrize(
    ("overlap", "at_once", "text"),
    [
        ("allow", 1, ["fired", "fired"]),
        ("forbid", 0, ["fired", "skipped"]),
        ("queue-one", 0, ["fired", "waits"]),
        ("replace", 1, ["fired", "ended", "fired"]),
    ],
)
async def test_20_now_while_it_runs(stage: Stage, overlap: str, at_once: int, text: list[str]) -> None:
    await stage.set("j", schedule="NOW", overlap=overlap)
    [first] = await stage.round()
    await stage.work()
    await stage.space.advance(1000)
    await stage.set("j", schedule="NOW", overlap=overlap, lane=None, metadata={"second": True})
    assert len(await stage.round()) == at_once
    assert await stage.fates("j") == text
    assert await stage.state(first) == (State.CANCELED if overlap == "replace" else State.WORKING)
    if overlap == "queue-one":
        await stage.end(first)
        assert len(await stage.round()) == 1
        assert await stage.until(30, step=10) == []


async def test_21_forbid_skips_and_says_so(stage: Stage) -> None:
    await stage.set("j", every=1, overlap="forbid")
    made: list[str] = []
    ends = 0
    for second in range(1, 11):
        if made and second == ends:
            await stage.end(made[-1])
        if new := await stage.until(second):
            made += new
            ends = second + 5
            assert await stage.work() == new
    assert len(made) == 2
    assert (await stage.fates("j")).count("skipped") == 8


async def test_22_two_stewards_make_one_task(stage: Stage) -> None:
    await stage.set("j", every=60)
    await stage.space.advance(60_000)
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(stage.firing.round)
    assert len(await stage.work()) == 1
    assert await stage.fates("j") == ["fired"]
    assert (await stage.schedules.get("j")).fires == 1


async def test_a_fire_that_was_decided_before_a_change_is_not_made(stage: Stage) -> None:
    await stage.set("j", at=stage.at(5) / 1000)
    await stage.space.advance(5000)
    due = await stage.space.store.due_schedules(10)
    await stage.set("j", at=stage.at(5) / 1000, text="something else")
    orders = [stage.firing.order(record, due.now) for record in due.records]
    assert await stage.space.store.fire([order for order in orders if order]) == ["changed"]
    assert len(await stage.round()) == 1


async def test_what_was_decided_for_another_moment_is_decided_anew(stage: Stage) -> None:
    await stage.set("j", at=stage.at(5) / 1000, misfire="skip")
    await stage.space.advance(5000)
    due = await stage.space.store.due_schedules(10)
    orders = [order for record in due.records if (order := stage.firing.order(record, due.now))]
    await stage.space.advance(-1)
    assert await stage.space.store.fire(orders) == ["stale"]
    await stage.space.advance(600_001)
    assert await stage.space.store.fire(orders) == ["stale"]
    assert await stage.round() == []
    assert await stage.fates("j") == ["missed"]


async def test_a_fire_that_waits_is_made_also_when_the_next_is_due(stage: Stage) -> None:
    await stage.set("j", every=1, overlap="queue-one")
    [first] = await stage.until(1)
    await stage.work()
    await stage.until(2)
    await stage.end(first)
    await stage.space.advance(1000)
    due = await stage.space.store.due_schedules(10)
    [record] = due.records
    assert record.released
    orders = [stage.firing.order(replace(record, released=False), due.now)]  # as a steward saw it before the end
    assert await stage.space.store.fire([order for order in orders if order]) == ["fired"]
    assert (await stage.space.store.due_schedules(10)).records


@pytest.mark.parametrize(
    "spec",
    [{"cron": "* * * * *", "end": "2027-01-01T00:01:30Z"}, {"rrule": "FREQ=MINUTELY;UNTIL=20270101T000130Z"}],
    ids=str,
)
async def test_what_has_come_to_its_end_since_it_was_set_is_no_mistake(stage: Stage, spec: dict[str, Any]) -> None:
    """Every process that starts sets it again, and is not refused for the day it starts on."""
    await stage.set("j", **spec)
    assert await stage.until(600, step=30)
    assert await stage.set("j", again=False, **spec) == "same"
    await stage.schedules.check_all({"j": read_spec({"text": "go", **spec})})
    with pytest.raises(InvalidScheduleError, match="never fires"):
        await stage.set("k", **spec)


async def test_a_store_of_before_makes_the_same_fires_again(stage: Stage) -> None:
    """Restored from an older copy: what was made since is made anew, under the same ids, as misfire allows."""
    await stage.set("j", every=60, overlap="allow", misfire="all:5")
    key = stage.space.key("schedule:j")
    copy = await stage.space.do("DUMP", key)
    made = await stage.until(120, step=60)
    await stage.space.do("RESTORE", key, 0, copy, "REPLACE")
    await stage.space.do("ZADD", stage.space.key("schedules"), stage.at(60), "j")
    assert await stage.round() == []  # these tasks are known
    assert made == ["j@20270101T000100Z", "j@20270101T000200Z"]
    lines = await stage.schedules.history("j", 2)
    assert [(line.what, line.detail, line.task) for line in reversed(lines)] == [
        ("skipped", "made before", task_id) for task_id in made
    ]
    assert await stage.expected("j") == 180


@pytest.mark.parametrize("unique", [None, "key"])
async def test_a_fire_that_is_asked_for_again_does_not_replace_itself(stage: Stage, unique: str | None) -> None:
    """An error behind its task, and before the next moment was noted: the fire is asked for again."""
    await stage.set("j", every=60, overlap="replace", unique=unique)
    [made] = await stage.until(60)
    key = stage.space.key("schedule:j")
    await stage.space.do("HSET", key, "expected", stage.at(60), "due", stage.at(60))
    await stage.space.do("ZADD", stage.space.key("schedules"), stage.at(60), "j")
    assert await stage.round() == []
    assert await stage.state(made) == State.SUBMITTED
    assert await stage.expected("j") == 120


async def test_an_owner_finds_its_own(stage: Stage) -> None:
    for name, owner in (("a", "billing"), ("b", "billing"), ("c", ""), ("d", "others")):
        await stage.set(name, every=60, owner=owner)
    assert await stage.schedules.owned("billing") == {"a", "b"}
    await stage.set("a", every=60, owner="others")
    await stage.schedules.remove("b")
    assert await stage.schedules.owned("billing") == frozenset()
    assert await stage.schedules.owned("others") == {"a", "d"}


async def test_continue_keeps_its_bounds(stage: Stage) -> None:
    await stage.set("j", schedule="CONTINUE", limit=2)
    for second in (1, 2):
        [task_id] = await stage.until(second)
        await stage.work()
        await stage.end(task_id)
    assert await stage.until(9) == []
    assert (await stage.schedules.get("j")).ended == "it has fired for the last time"


async def test_24_a_clock_put_back_fires_nothing_again(stage: Stage) -> None:
    await stage.set("j", every=60, overlap="allow")
    assert len(await stage.until(120, step=60)) == 2
    await stage.space.advance(-3_600_000)
    assert await stage.round() == []
    await stage.space.advance(3_600_000)
    assert await stage.round() == []
    assert await stage.expected("j") == 180


@pytest.mark.parametrize(
    ("misfire", "fires"),
    [
        ("latest", ["01-01T00:10:00"]),
        ("all:5", [f"01-01T00:0{minute}:00" for minute in range(1, 6)]),
        ("skip", []),
    ],
)
async def test_25_what_is_made_up_for_after_ten_minutes(stage: Stage, misfire: str, fires: list[str]) -> None:
    await stage.set("j", cron="* * * * *", misfire=misfire, overlap="allow")
    await stage.space.advance(630_000)
    await stage.round()
    history = list(reversed(await stage.schedules.history("j")))
    assert [utc(line.scheduled_at or 0) for line in history if line.what == "fired"] == fires
    assert await stage.expected("j") == 660
    assert [line.what for line in history if line.what == "missed"] == ["missed"]


async def test_26_beyond_the_start_deadline_it_is_recorded_and_not_run(stage: Stage) -> None:
    await stage.set("j", cron="0 * * * *", start_deadline=60)
    await stage.space.advance(3_600_000 + 61_000)
    assert await stage.round() == []
    assert await stage.fates("j") == ["missed"]
    assert len(await stage.until(7200, step=3600)) == 1


async def test_27_a_year_away_is_bounded_work(stage: Stage) -> None:
    await stage.set("j", every=1, misfire="all:5", overlap="allow")
    await stage.space.advance(365 * 86_400_000)
    assert len(await stage.round()) == 5
    assert len(await stage.fates("j")) == 6


async def test_28_slow_handlers_do_not_make_it_drift(stage: Stage) -> None:
    await stage.set("j", every=60)
    for run in range(1, 101):
        [task_id] = await stage.until(60 * run, step=60)
        await stage.work()
        await stage.space.advance(7_000)
        await stage.end(task_id)
    assert await stage.expected("j") == 60 * 101


async def test_34_count_is_kept_when_everything_begins_anew(stage: Stage) -> None:
    await stage.schedules.upsert("j", rrule="FREQ=MINUTELY;COUNT=2", text="go", overlap="allow")
    made = await stage.round()
    stage.schedules = Schedules(stage.space.store, stage.space.queue)
    await stage.schedules.upsert("j", rrule="FREQ=MINUTELY;COUNT=2", text="go", overlap="allow")
    made += await stage.until(600, step=30)
    await stage.schedules.upsert("j", rrule="FREQ=MINUTELY;COUNT=2", text="go", overlap="allow")
    made += await stage.until(1200, step=30)
    assert len(made) == 2


async def test_36_lanes_by_their_spelling(stage: Stage) -> None:
    space, spelled = stage.space, lanes("A:A:B")
    names, weights = [lane.name for lane in spelled], [lane.weight for lane in spelled]

    async def served(number: int) -> str:
        """The lanes of the next tasks, claimed one at a time."""
        order = ""
        for _ in range(number):
            [delivery] = (await space.pull("w", 1, lanes=names, weights=weights)).deliveries
            order += delivery.lane
        return order

    for number in range(4):
        await space.submit(f"a{number}", lane="A")
        await space.submit(f"b{number}", lane="B")
    assert await served(6) == "AABAAB"
    assert await served(2) == "BB"


async def test_37_jitter_is_the_same_for_the_same_fire(stage: Stage) -> None:
    await stage.set("a", cron="0 * * * *", jitter=60)
    record = await stage.schedules.get("a")
    assert record.expected == stage.at(3600)
    assert record.due is not None
    assert stage.at(3600) <= record.due < stage.at(3660)
    assert await stage.until((record.due - stage.origin) / 1000 - 0.001, step=3600) == []
    assert await stage.until((record.due - stage.origin) / 1000) == ["a@20270101T010000Z"]
    await stage.schedules.remove("a")
    await stage.set("a", cron="0 * * * *", jitter=60, after=stage.at(0))
    assert (await stage.schedules.get("a")).due == record.due


async def test_a_run_out_of_turn_leaves_what_is_expected(stage: Stage) -> None:
    await stage.set("j", every=60)
    task_id = await stage.schedules.run("j")
    assert await stage.work() == [task_id]
    assert await stage.expected("j") == 60
    await stage.space.advance(1)
    with pytest.raises(ScheduleBusyError, match=task_id):
        await stage.schedules.run("j")


async def test_a_run_out_of_turn_whose_answer_was_lost_is_one_run(stage: Stage) -> None:
    """The call is repeated. The second one is left out, as the task of the first one has not ended."""
    await stage.set("j", every=60)
    task_id = await run_between(stage, stage.space.store.fire)
    assert await stage.work() == [task_id]


async def test_a_run_out_of_turn_is_told_from_the_fires_behind_it(stage: Stage) -> None:
    """One of them is left out: because of another task than that of the run, or of the one that forbids the run."""
    await stage.set("j", every=60)

    async def next_fires(_: object) -> None:
        for task_id in await stage.work():
            await stage.end(task_id)
        await stage.until(150)

    task_id = await run_between(stage, next_fires)
    assert await stage.state(task_id) is State.COMPLETED
    assert [line.what for line in await stage.schedules.history("j", 2)] == ["skipped", "fired"]

    async def left_out(_: object) -> None:
        await stage.until(200)

    with pytest.raises(ScheduleBusyError):
        await run_between(stage, left_out)


async def test_the_first_fires_may_lie_before_it_was_set(stage: Stage) -> None:
    await stage.set("j", cron="0 * * * *", after=stage.at(-7200))
    assert await stage.round() == ["j@20270101T000000Z"]


async def test_bounds_are_kept(stage: Stage) -> None:
    await stage.set(
        "j", every=60, anchor=stage.origin / 1000, start=stage.at(100) / 1000, end=stage.at(300) / 1000, overlap="allow"
    )
    assert len(await stage.until(600, step=10)) == 4
    await stage.set("k", every=60, limit=2, overlap="allow")
    assert len(await stage.until(1200, step=60)) == 2


@pytest.mark.parametrize(("on_failure", "later"), [("continue", 1), ("stop", 0)])
async def test_a_failure_ends_it_where_it_is_told_to(stage: Stage, on_failure: str, later: int) -> None:
    await stage.set("j", every=60, on_failure=on_failure)
    [task_id] = await stage.until(60)
    await stage.work()
    await stage.end(task_id, Settle.FAILED)
    assert (await stage.schedules.get("j")).streak == 1
    assert len(await stage.until(120)) == later


async def test_a_schedule_knows_the_end_of_its_last_run_also_when_the_next_one_runs(stage: Stage) -> None:
    await stage.set("j", every=60)
    assert (await stage.schedules.get("j")).last is None
    [first] = await stage.until(60)
    await stage.work()
    await stage.end(first, Settle.FAILED)
    ended = stage.space.clock.now_ms
    [second] = await stage.until(120)
    for _ in range(2):  # a changed definition keeps it
        record = await stage.schedules.get("j")
        assert (record.task, record.last) == (second, EndedRun(first, State.FAILED, ended))
        await stage.set("j", every=60, on_failure="stop")


async def test_a_schedule_that_cannot_be_fired_stops_no_other(stage: Stage) -> None:
    await stage.set("broken", every=60)
    await stage.set("sound", every=60)
    await stage.space.do("HSET", stage.space.key("schedule:broken"), "spec", "{")
    assert await stage.until(60) == ["sound@20270101T000100Z"]
    assert (await stage.schedules.get("broken")).paused.startswith("cannot be fired")


async def test_a_schedule_whose_lane_is_no_list_submits_nothing_and_stops_no_other(stage: Stage) -> None:
    taken = f"{stage.space.queue}:taken"
    await stage.space.do("HSET", taken, "a", "1")
    await stage.set("broken", every=60, lane=taken)
    await stage.set("sound", every=60)
    assert await stage.until(60) == ["sound@20270101T000100Z"]
    record = await stage.schedules.get("broken")
    assert (record.paused, record.fires) == ("cannot be fired: the key of its lane is no list", 0)
    with pytest.raises(InvalidScheduleError, match="is not a list"):
        await stage.schedules.run("broken")
    assert not await stage.space.do("KEYS", stage.space.key("task:broken*"))
    await stage.space.do("DEL", taken)
    await stage.schedules.resume("broken")
    assert "broken@20270101T000200Z" in await stage.until(120)


@pytest.mark.parametrize("overlap", ["forbid", "queue-one"])
async def test_a_continue_set_while_an_earlier_run_goes_on_begins_after_it(stage: Stage, overlap: str) -> None:
    await stage.set("j", schedule="NOW")
    [first] = await stage.round()
    await stage.work()
    await stage.until(1)
    await stage.set("j", schedule="CONTINUE", backoff=5, overlap=overlap)
    assert await stage.until(2) == []
    await stage.end(first)
    [second] = await stage.until(10)
    await stage.work()
    await stage.end(second)
    assert len(await stage.until(20)) == 1


async def test_a_fire_whose_handler_nobody_has_waits_fails_and_the_schedule_goes_on(stage: Stage) -> None:
    space = stage.space
    await space.store.recover("w", "gone", False)
    service = ServedWork((ServedLane(space.queue),), frozenset({"known"}))
    await space.store.register(replace(introduction("a"), service=service))
    await stage.schedules.put("j", read_spec({"every": 60, "name": "new"}))
    [fire] = await stage.until(60)
    assert await space.take("a") == []
    assert (await space.task(fire)).deliveries == 0
    assert await stage.until(120) == []  # it waits: the next one is skipped
    for _ in range(10):  # what a steward does each second
        await space.store.unserved(10_000, 100)
        await stage.until((space.clock.now_ms - stage.origin) / 1000 + 1)
    await space.store.unserved(10_000, 100)
    record = await space.task(fire)
    assert (record.state, record.dead) == ("failed", True)
    assert len(await stage.until(180)) == 1
    assert await stage.fates("j") == ["fired", "skipped", "ended", "fired"]
