"""Tasks of one key, or of a handler with a rate, wait beside their lane, in order, and keep nobody else back."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Standing
from holdfast.core.lanes import LaneBound, LaneLimit
from tests.lua.namespace import Namespace, settlement
from tests.lua.operations import run

pytestmark = pytest.mark.anyio


async def taken(space: Namespace, worker: str = "w", slots: int = 10) -> list[str]:
    return [delivery.task_id for delivery in await space.take(worker, slots)]


async def ring_of(space: Namespace, lane: str = "") -> int:
    rings: int = await space.do("LLEN", space.keys.bell(lane or space.queue))
    return rings


async def silence(space: Namespace) -> None:
    await space.do("DEL", space.keys.bell(space.queue))


async def test_tasks_of_one_key_run_one_at_a_time_in_their_order(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", "a2", "a3", concurrency_key="a")
    ran: list[str] = []
    while deliveries := await space.take("w"):
        assert len(deliveries) == 1
        await space.check()
        ran.append(deliveries[0].task_id)
        await space.settle("w", deliveries[0], Settle.COMPLETED)
    assert ran == ["a1", "a2", "a3"]
    await space.check()


async def test_others_do_not_wait_behind_a_key(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", "a2", "a3", concurrency_key="a")
    await space.submit("b1", concurrency_key="b")
    await space.submit("plain")
    assert await taken(space) == ["a1", "b1", "plain"]
    counts = await space.store.counts()
    assert counts.states["submitted"] == 2
    place = await space.store.place("a3")
    assert place is not None
    assert place.before == 1
    await space.check()


async def test_the_end_of_a_keys_task_rings_for_the_next(space: Namespace) -> None:
    await space.register("w", "other")
    await space.submit("a1", "a2", concurrency_key="a")
    [first] = await space.take("w")
    await silence(space)
    await space.settle("w", first, Settle.COMPLETED)
    assert await ring_of(space) == 1
    assert await taken(space, "other") == ["a2"]


@pytest.mark.parametrize("charged", [True, False])
async def test_a_death_gives_the_permit_of_a_key_back_and_order_stays(space: Namespace, charged: bool) -> None:
    await space.register("w")
    await space.submit("a1", "a2", concurrency_key="a")
    assert await taken(space) == ["a1"]
    await silence(space)
    await space.register("other")
    await space.crash("w", charged=charged)
    await space.check()
    assert await ring_of(space) == 1
    assert await taken(space, "other") == ["a1"]
    await space.check()


async def test_a_task_that_its_worker_does_not_hold_gives_its_permit_back(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", "a2", concurrency_key="a")
    await space.pull("w", request=1)
    renewed = await space.store.renew("w", "live", 1, [])
    assert renewed.standing is Standing.OK
    await space.check()
    assert await taken(space) == ["a1"]


@pytest.mark.parametrize(
    "kind",
    [Settle.RELEASE, Settle.RETURNED, Settle.RETRY, Settle.SUSPENDED, Settle.INPUT_REQUIRED, Settle.FAILED],
)
async def test_whatever_comes_of_a_task_its_permit_is_given_back(space: Namespace, kind: Settle) -> None:
    await space.register("w")
    await space.submit("a1", "a2", concurrency_key="a")
    [first] = await space.take("w")
    await space.settle("w", first, kind, delay_ms=1000)
    await space.check()
    assert await taken(space) == ["a1" if kind in {Settle.RELEASE, Settle.RETURNED} else "a2"]


async def test_a_cancel_gives_the_permit_back_and_takes_a_waiting_task_from_its_gate(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", "a2", "a3", concurrency_key="a")
    assert await taken(space) == ["a1"]
    assert await space.store.cancel("a2", "asked") == "canceled"
    await space.check()
    assert await space.store.cancel("a1", "asked") == "canceled"
    assert await taken(space) == ["a3"]
    await space.check()


async def test_a_key_counts_across_lanes(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", concurrency_key="a")
    await space.submit("a2", concurrency_key="a", lane="slow")
    lanes = [space.queue, "slow"]
    first = await space.pull("w", lanes=lanes)
    assert [one.task_id for one in first.deliveries] == ["a1"]
    done = settlement(first.deliveries[0], Settle.COMPLETED)
    assert [one.task_id for one in (await space.pull("w", 10, done, lanes=lanes)).deliveries] == ["a2"]


async def test_a_lane_may_allow_more_tasks_of_a_key(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.KEYS, space.queue, "2")])
    await space.submit("a1", "a2", "a3", concurrency_key="a")
    assert await taken(space) == ["a1", "a2"]
    await space.check()


async def test_a_copied_entry_is_no_way_past_a_gate(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", "a2", concurrency_key="a")
    entries = await space.entries()
    assert await taken(space) == ["a1"]
    await space.push(*entries)
    assert await taken(space) == []
    await space.check()


async def test_an_entry_is_no_way_past_a_gate_whose_rule_somebody_deleted(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.NAME, "mail", "1/1000/1")])
    await space.submit("m1", "m2", name="mail")
    entries = await space.entries()
    assert await taken(space) == ["m1"]
    await space.do("DEL", space.key("rules"))
    await space.push(*entries)
    assert await taken(space) == []
    await space.check()


async def test_audit_leaves_those_at_a_gate_and_gives_lost_permits_back(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", "a2", concurrency_key="a")
    assert await taken(space) == ["a1"]
    await space.store.cancel("a1", "asked")
    await space.do("SADD", space.key("keyed:a"), "a1")  # as if a permit had been lost
    assert await taken(space) == []
    for _ in range(3):
        assert await space.store.audit(space.queue, 100, "") == (0, "")
    assert await taken(space) == ["a2"]
    await space.check()


async def test_clearing_a_lane_clears_its_gates(space: Namespace) -> None:
    await space.register("w")
    await space.submit("a1", "a2", "a3", concurrency_key="a")
    assert await taken(space) == ["a1"]
    while await space.store.clear(space.queue, 10):
        pass
    assert [await space.state(name) for name in ("a2", "a3")] == ["canceled", "canceled"]
    await space.check()


async def test_the_rate_of_a_handler_keeps_back_its_tasks_alone(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.NAME, "mail", "2/1000/1")])
    await space.submit("m1", "m2", "m3", name="mail")
    await space.submit("plain")
    assert await taken(space) == ["m1", "plain"]
    await space.clock.advance(499)
    assert await taken(space) == []
    await space.clock.advance(1)
    assert await taken(space) == ["m2"]
    await space.clock.advance(500)
    assert await taken(space) == ["m3"]
    await space.check()


async def test_the_rate_of_a_handler_counts_foreign_tasks(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.NAME, "mail", "1/1000/1")])
    await space.push(run("f3", call="mail"), run("f2", call="mail"), run("f1", call="mail"))
    ran: list[str] = []
    for _ in range(3):
        ran += await taken(space)
        await space.check()
        await space.clock.advance(1000)
    assert ran == ["f3", "f2", "f1"]


async def test_the_steward_rings_when_a_rate_allows_the_next(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.NAME, "mail", "1/1000/1")])
    await space.submit("m1", "m2", name="mail")
    assert await taken(space) == ["m1"]
    await silence(space)
    assert await space.store.promote(10) == (0, 1000)
    await space.clock.advance(1000)
    await space.store.promote(10)
    assert await ring_of(space) == 1
    assert await taken(space) == ["m2"]


async def test_a_bound_that_is_taken_back_opens_the_gate(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.NAME, "mail", "1/86400000/1")])
    await space.submit("m1", "m2", name="mail")
    assert await taken(space) == ["m1"]
    await silence(space)
    assert await space.store.bound([LaneLimit(LaneBound.NAME, "mail", "")]) == 1
    assert await ring_of(space) == 1
    assert await taken(space) == ["m2"]
    snapshot = await space.check()
    assert not {space.key(name) for name in ("rules", "rates", "gated", "alarms")} & snapshot.keys()


async def test_a_keys_task_whose_handler_has_a_rate_keeps_its_place(space: Namespace) -> None:
    await space.register("w")
    await space.store.bound([LaneLimit(LaneBound.NAME, "mail", "1/1000/1")])
    await space.submit("m1", name="mail")
    await space.submit("a1", name="mail", concurrency_key="a")
    await space.submit("a2", concurrency_key="a")
    assert await taken(space) == ["m1"]
    await space.clock.advance(1000)
    [first] = await space.take("w")
    assert first.task_id == "a1"
    await space.settle("w", first, Settle.COMPLETED)
    assert await taken(space) == ["a2"]
    await space.check()


async def test_gates_of_two_lanes_are_two(space: Namespace) -> None:
    inner, outer = f"{space.queue}:a:key:b", f"{space.queue}:a"
    await space.register("w")
    await space.submit("x1", "x2", lane=inner, concurrency_key="c")
    await space.submit("y1", "y2", lane=outer, concurrency_key="b:key:c")
    _, first = (await space.pull("w", 10, lanes=[inner, outer])).deliveries
    assert first.task_id == "y1"
    pulled = await space.pull("w", 10, settlement(first, Settle.COMPLETED), lanes=[outer])
    assert [delivery.task_id for delivery in pulled.deliveries] == ["y2"]
    await space.check()
