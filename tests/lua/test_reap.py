"""Leases: dead is who is seen silent twice, a grace apart, with nobody vouching."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Standing
from tests.lua.namespace import Namespace
from tests.lua.operations import introduction

pytestmark = pytest.mark.anyio

LEASE, GRACE = 15_000, 5_000


async def reap(space: Namespace) -> dict[str, int]:
    return await space.store.reap(LEASE, GRACE)


async def test_a_lapsed_lease_is_reaped_at_the_second_look(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.take("a")
    await space.clock.advance(LEASE)
    await space.store.renew("b", "live", 0, [])
    assert await reap(space) == {}
    await space.clock.advance(GRACE - 1)
    assert await reap(space) == {}
    await space.clock.advance(1)
    assert await reap(space) == {"a": 1}
    assert (await space.pull("a")).standing is Standing.DEAD
    assert (await space.task("t1")).crashes == 0
    await space.check()


async def test_a_lease_that_has_not_lapsed_is_left_alone(space: Namespace) -> None:
    await space.register("a")
    for _ in range(3):
        await space.clock.advance(LEASE - 1)
        assert await reap(space) == {}
        await space.store.renew("a", "live", 0, [])


@pytest.mark.parametrize("sign", ["renew", "vouch"])
async def test_a_frozen_server_makes_nobody_dead(space: Namespace, sign: str) -> None:
    async def give_a_sign() -> None:
        for worker in ("a", "b", "c"):
            if sign == "vouch":
                await space.store.vouch([worker])
            else:
                await space.store.renew(worker, "live", 0, [])

    await space.register("a", "b", "c")
    await space.clock.advance(600_000)
    assert await reap(space) == {}
    await give_a_sign()
    await space.clock.advance(GRACE)
    assert await reap(space) == {}
    await space.clock.advance(600_000)
    assert await reap(space) == {}
    await give_a_sign()
    await space.clock.advance(LEASE - 1)
    assert await reap(space) == {}
    assert (await space.store.counts()).workers == 3


async def test_who_is_vouched_for_is_believed_though_silent(space: Namespace) -> None:
    await space.register("a", "b")
    for _ in range(8):
        await space.clock.advance(GRACE)
        await space.store.vouch(["a", "nobody"])
        await reap(space)
    assert [(await space.pull(worker)).standing for worker in ("a", "b")] == [Standing.OK, Standing.DEAD]
    assert (await space.store.renew("a", "live", 0, [])).vouched_ago_ms == 0
    await space.check()


async def test_nobody_is_vouched_back_to_life(space: Namespace) -> None:
    await space.register("a")
    await space.crash("a")
    await space.store.vouch(["a"])
    assert (await space.pull("a")).standing is Standing.DEAD
    assert (await space.store.counts()).workers == 0
    await space.check()


async def test_tasks_of_a_worker_whose_record_was_lost_go_back(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    await space.do("DEL", space.key("worker:a"))
    assert (await space.pull("a")).standing is Standing.UNKNOWN
    await space.clock.advance(LEASE)
    assert await reap(space) == {"a": 1}
    assert await space.state("t1") == "submitted"
    await space.check()


async def test_an_incarnation_is_never_used_again(space: Namespace) -> None:
    assert await space.store.register(introduction("a", pid=1)) is Standing.OK
    assert await space.store.register(introduction("a", pid=1)) is Standing.OK
    assert await space.store.register(introduction("a", pid=2)) is Standing.TAKEN
    await space.crash("a")
    assert await space.store.register(introduction("a", pid=1)) is Standing.DEAD


async def test_who_was_last_heard_while_the_clock_was_ahead_is_reaped_after_a_lease(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    await space.clock.advance(3_600_000)
    await space.store.renew("a", "live", 0, [])
    await space.clock.advance(-3_600_000)
    assert await reap(space) == {}
    await space.clock.advance(LEASE)
    assert await reap(space) == {}
    await space.clock.advance(GRACE)
    assert await reap(space) == {"a": 1}
    await space.check()


async def test_a_suspicion_of_while_the_clock_was_ahead_does_not_last(space: Namespace) -> None:
    await space.register("a")
    await space.clock.advance(3_600_000)
    assert await reap(space) == {}  # silent, as it seems: a suspicion, which is as far ahead
    await space.clock.advance(-3_600_000 + LEASE)
    assert await reap(space) == {}
    await space.clock.advance(GRACE)
    assert await reap(space) == {"a": 0}


async def test_a_worker_that_lives_on_is_no_matter_of_the_clock(space: Namespace) -> None:
    await space.register("a")
    for jump in (3_600_000, -3_600_000, 1_000, 7_200_000, -7_200_000):
        await space.clock.advance(jump)
        await space.store.renew("a", "live", 0, [])
        assert await reap(space) == {}
        await space.clock.advance(LEASE - 1)
        assert await reap(space) == {}
