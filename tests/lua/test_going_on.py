"""Schedules that go on when a task of theirs has ended: their worker makes the fire before it claims again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.client.schedules import Schedules
from holdfast.core.delivery import Delivery, Pulled, Settle, Standing
from holdfast.core.task_states import State
from tests.lua.namespace import Namespace, settlement
from tests.lua.operations import control

pytestmark = pytest.mark.anyio

EVERYTHING = 1_000_000  # bytes


def firing(space: Namespace) -> ScheduleFirer:
    return ScheduleFirer(space.store, space.queue, EVERYTHING)


async def begun(space: Namespace, **spec: Any) -> Delivery:
    """The first run of the schedule `j`."""
    await space.register("a")
    await Schedules(space.store, space.queue).upsert("j", text="x", schedule="CONTINUE", **spec)
    await firing(space).round()
    [held] = await space.take("a", 1)
    return held


async def completed(space: Namespace, held: Delivery, slots: int = 1) -> Pulled:
    return await space.pull("a", slots, settlement(held, Settle.COMPLETED))


async def test_a_job_that_continues_comes_before_the_next_claim(space: Namespace) -> None:
    held = await begun(space)
    await space.submit("other")
    pulled = await completed(space, held)
    assert (pulled.standing, pulled.fires, pulled.deliveries) == (Standing.FIRES, ("j",), ())
    assert await firing(space).go_on(["j"]) == ["j"]  # this millisecond has had its fire
    await space.advance(1)
    assert await firing(space).go_on(["j"]) == []
    assert await firing(space).go_on(["j"]) == []
    assert len(await space.entries()) == 2
    await space.check()


async def test_what_waited_for_the_run_comes_before_the_next_claim(space: Namespace) -> None:
    held = await begun(space)
    await space.advance(10)
    await Schedules(space.store, space.queue).upsert("j", text="x", schedule="NOW", overlap="queue-one")
    await firing(space).round()
    await space.advance(60_000)
    assert (await completed(space, held)).fires == ("j",)
    assert await firing(space).go_on(["j"]) == []
    [again] = await space.take("a", 1)
    assert (await completed(space, again)).fires == ()
    assert await firing(space).go_on(["j"]) == []
    assert await firing(space).go_on(["nobody's"]) == []


async def test_nobody_waits_for_fires_that_are_not_for_it(space: Namespace) -> None:
    for one in ("draining", "paused", "backoff", "ledger", "rebuilding"):
        await space.advance(1000)
        held = await begun(space, **({"backoff": 60} if one == "backoff" else {}))
        if one == "paused":
            await space.store.pause_schedule("j", "why", None)
        if one in {"ledger", "rebuilding"}:
            await space.do("HSET", space.key("meta"), one, "epoch")
        pulled = await completed(space, held, slots=0 if one == "draining" else 1)
        assert (pulled.standing, pulled.fires) == (Standing.OK, ()), one
        await space.do("HDEL", space.key("meta"), "ledger", "rebuilding")
        await space.store.remove_schedule("j")


async def test_others_hear_of_what_waits_while_a_worker_makes_fires(space: Namespace) -> None:
    held = await begun(space)
    await space.submit("other")
    bell = space.key(f"bell:{space.queue}")
    await space.do("DEL", bell)  # it was heard by this worker
    assert (await completed(space, held)).standing is Standing.FIRES
    assert await space.do("LLEN", bell) == 1
    await space.check()


async def test_a_worker_makes_a_bounded_number_of_fires_at_once_and_stewards_the_others(space: Namespace) -> None:
    ids = [f"j{i:02}" for i in range(20)]
    await space.register("a")
    for one in ids:
        await Schedules(space.store, space.queue).upsert(one, text="x", schedule="CONTINUE")
    await firing(space).round()
    held = await space.take("a", 20)
    await space.advance(1)
    pulled = await space.pull("a", 20, *(settlement(one, Settle.COMPLETED) for one in held))
    assert len(pulled.fires) == 16
    assert await firing(space).go_on([*pulled.fires, "nobody's"]) == []
    assert len(await space.take("a", 20)) == 16
    await firing(space).round()
    assert len(await space.take("a", 20)) == 4
    await space.check()


async def test_the_wait_that_one_handler_asked_for_does_not_count_for_the_schedule_of_another_task(
    space: Namespace,
) -> None:
    await space.submit("other")
    fire = await begun(space, backoff=60)
    [other] = await space.take("a", 1)
    fire, other = (fire, other) if other.task_id == "other" else (other, fire)
    await space.push(control("cancel", fire.task_id))
    await space.pull("a", 1, replace(settlement(other, Settle.COMPLETED), delay_ms=500))
    assert (await space.task(fire.task_id)).state is State.CANCELED
    assert int(await space.do("HGET", space.key("schedule:j"), "due")) == space.clock.now_ms + 60_000
