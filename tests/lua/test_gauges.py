"""The gauges of the queue: one steward of all hosts reports the queue, and its numbers are those of the store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.core.store_info import Gauges
from holdfast.core.worker_records import ServedLane, ServedWork
from tests.lua.namespace import Namespace
from tests.lua.operations import introduction

pytestmark = pytest.mark.anyio


async def test_one_steward_has_the_duty_until_it_gives_it_up(space: Namespace) -> None:
    assert await space.store.report_duty("one", 60_000)
    assert not await space.store.report_duty("two", 60_000)
    assert await space.store.report_duty("one", 60_000)
    assert not await space.store.report_duty("two", 0)
    assert not await space.store.report_duty("two", 60_000), "it gave up what it had not"
    assert not await space.store.report_duty("one", 0)
    assert await space.store.report_duty("two", 60_000)
    await space.check()


async def test_the_duty_of_a_steward_that_is_gone_passes_on(space: Namespace) -> None:
    assert await space.store.report_duty("one", 60_000)
    assert 0 < await space.do("PTTL", space.key("reporter")) <= 60_000
    await space.do("PEXPIRE", space.key("reporter"), 1)
    while not await space.store.report_duty("two", 60_000):
        pass


async def test_something_else_under_the_key_is_replaced(space: Namespace) -> None:
    await space.do("RPUSH", space.key("reporter"), "x")
    assert await space.store.report_duty("one", 60_000)
    assert not await space.store.report_duty("two", 60_000)


async def gauges(space: Namespace) -> Gauges:
    return await space.store.gauges(15_000)


async def test_an_empty_queue_has_zeros(space: Namespace) -> None:
    found = await gauges(space)
    assert (found.workers, found.silent, found.webhooks, found.schedules, found.due_ms) == (0, 0, 0, 0, None)
    assert found.now_ms == await space.store.clock_ms()


async def test_workers_without_heartbeats_are_silent_after_a_lease(space: Namespace) -> None:
    await space.register("a")
    await space.register("b")
    await space.advance(15_000)
    assert (await gauges(space)).silent == 0
    await space.store.vouch(["a"])
    await space.advance(1)
    found = await gauges(space)
    assert (found.workers, found.silent) == (2, 1)


async def test_a_schedule_that_will_never_fire_is_not_due(space: Namespace) -> None:
    await space.do("ZADD", space.key("schedules"), "+inf", "paused")
    found = await gauges(space)
    assert (found.schedules, found.due_ms) == (1, None)
    await space.do("ZADD", space.key("schedules"), 1_700_000_000_000, "due")
    found = await gauges(space)
    assert (found.schedules, found.due_ms) == (2, 1_700_000_000_000)


async def test_lanes_name_the_settings_of_their_workers(space: Namespace) -> None:
    served = ServedLane(space.queue, 2, 1.5)
    await space.store.register(replace(introduction("w"), service=ServedWork((served, ServedLane("other")))))
    found = {lane.name: lane for lane in (await space.store.lanes([])).lanes}
    assert (found[space.queue].workers, found[space.queue].served) == (1, (served,))
    assert found["other"].served == (ServedLane("other"),)


async def test_keys_of_another_type_count_as_empty(space: Namespace) -> None:
    for key in ("schedules", "webhooks"):
        await space.do("SET", space.key(key), "x")
    found = await gauges(space)
    assert (found.webhooks, found.schedules, found.due_ms) == (0, 0, None)
