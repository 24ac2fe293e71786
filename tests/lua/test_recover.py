"""recover: the dead own nothing, what they owned goes back in order, crashes are charged to whom they belong."""

from __future__ import annotations

import pytest

from holdfast.core.deliveries import Settle, Standing
from holdfast.core.records import WorkerKind
from tests.lua.namespace import Namespace
from tests.lua.operations import introduction, run

pytestmark = pytest.mark.anyio


async def test_tasks_of_the_dead_go_back_to_the_head_in_order(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    await space.push(run("f1"), run("f2"), run("f3"))
    await space.submit("t3", "t4")
    assert len(await space.take("a", 6)) == 6
    assert await space.crash("a") == 6
    await space.register("b")
    ran = [delivery.task_id for delivery in await space.take("b", 7)]
    assert ran == ["t1", "t2", "f1", "f2", "f3", "t3", "t4"]
    await space.check()


async def test_the_second_recovery_finds_nothing(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    assert [await space.crash("a"), await space.crash("a")] == [1, 0]
    assert (await space.task("t1")).crashes == 1
    assert len(await space.entries()) == 1
    await space.check()


async def test_who_died_before_it_registered_is_refused(space: Namespace) -> None:
    assert await space.crash("a") == 0
    assert await space.store.register(introduction("a")) is Standing.DEAD
    await space.submit("t1")
    assert not await space.take("a")
    await space.check()


async def test_leftovers_of_the_dead_are_recovered(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    await space.do("HSET", space.key("worker:a"), "state", "dead")
    assert await space.crash("a") == 1
    await space.check()


async def test_a_record_that_is_gone_does_not_stop_recovery(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    await space.take("a")
    await space.do("DEL", space.key("task:t1"))
    assert await space.crash("a") == 2
    assert await space.state("t2") == "submitted"


async def test_a_tombstone_ends_after_a_day(space: Namespace) -> None:
    await space.register("a")
    await space.crash("a")
    assert 0 < await space.do("PTTL", space.key("worker:a")) <= 86_400_000


async def test_the_first_crash_goes_back_at_once_the_later_ones_wait(space: Namespace) -> None:
    await space.submit("t1")
    waits: list[int] = []
    for number in range(4):
        await space.register(f"w{number}", kind=WorkerKind.SINGLE)
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}")
        due = (await space.task("t1")).due_ms
        waits.append(due - space.clock.now_ms if due else 0)
        await space.clock.advance(waits[-1])
    assert waits == [0, 5_000, 25_000, 25_000]
    await space.check()


async def test_an_uncharged_death_leaves_the_accounts_alone(space: Namespace) -> None:
    await space.submit("t1")
    for number in range(6):
        await space.register(f"w{number}")
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}", charged=False)
    task = await space.task("t1")
    assert (task.state, task.crashes, task.solo, task.deliveries) == ("submitted", 0, False, 6)
    await space.check()


async def test_attempts_crashes_and_releases_are_counted_apart(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    [first] = await space.take("a")
    await space.settle("a", first, Settle.RETRY)
    [second] = await space.take("a")
    await space.settle("a", second, Settle.RELEASE)
    await space.take("a")
    await space.crash("a")
    [last] = await space.take("b")
    task = await space.task("t1")
    assert (task.attempts, task.releases, task.crashes, task.deliveries) == (1, 1, 1, 4)
    assert (last.attempts, last.crashes, last.delivery) == (1, 1, 4)


async def test_recovery_rings(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    await space.crash("a")
    assert await space.do("LLEN", space.key(f"bell:{space.queue}")) == 1
