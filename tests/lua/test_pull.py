"""pull: settle, then claim; numbered requests; what a worker is told of itself."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle, Standing, Verdict
from tests.lua.namespace import Namespace, settlement
from tests.lua.operations import run

pytestmark = pytest.mark.anyio


async def test_without_faults_a_lane_is_first_in_first_out(space: Namespace) -> None:
    await space.register("a")
    for number in range(60):
        if number % 3:
            await space.submit(f"t{number}")
        else:
            await space.push(run(f"t{number}", f"m{number}"))
    ran: list[str] = []
    for slots in (1, 7, 16, 3, 33):
        for delivery in await space.take("a", slots):
            ran.append(delivery.task_id)
            await space.settle("a", delivery, Settle.COMPLETED)
    assert ran == [f"t{number}" for number in range(60)]
    await space.check()


async def test_a_lost_answer_is_given_again_under_the_same_number(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    lost = await space.pull("a", 2, request=1)
    again = await space.pull("a", 2, request=1)
    assert again.standing is Standing.REPLAY
    assert again.deliveries == lost.deliveries
    assert [delivery.task_id for delivery in again.deliveries] == ["t1", "t2"]
    await space.check(concurrency=2)


async def test_a_repeated_request_settles_what_has_ended_since(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    [first] = await space.take("a", 1)
    await space.pull("a", 1, request=2)
    again = await space.pull("a", 1, settlement(first, Settle.COMPLETED), request=2)
    assert (again.standing, again.verdicts) == (Standing.REPLAY, (Verdict.OK,))
    assert [delivery.task_id for delivery in again.deliveries] == ["t2"]
    once_more = await space.pull("a", 1, settlement(first, Settle.COMPLETED), request=2)
    assert once_more.verdicts == (Verdict.ALREADY,)
    await space.check()


async def test_a_lower_request_is_refused(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    await space.pull("a", 1, request=2)
    late = await space.pull("a", 1, request=1)
    assert (late.standing, late.deliveries) == (Standing.STALE, ())
    assert await space.state("t2") == "submitted"


async def test_an_unknown_worker_claims_nothing(space: Namespace) -> None:
    await space.submit("t1")
    pulled = await space.pull("nobody")
    assert (pulled.standing, pulled.deliveries) == (Standing.UNKNOWN, ())
    await space.check()


async def test_a_dead_worker_claims_nothing(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.crash("a")
    pulled = await space.pull("a")
    assert (pulled.standing, pulled.deliveries) == (Standing.DEAD, ())
    await space.check()


async def test_a_draining_worker_settles_and_claims_nothing(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    [first] = await space.take("a", 1)
    await space.store.renew("a", "draining", 1, [])
    await space.store.renew("a", "draining", 0, [])
    pulled = await space.pull("a", 5, settlement(first, Settle.COMPLETED))
    assert (pulled.standing, pulled.deliveries) == (Standing.OK, ())


async def test_a_duplicate_entry_runs_once(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1"), run("f1"))
    assert [d.task_id for d in await space.take("a")] == ["f1"]
    await space.submit("t1")
    [entry] = await space.entries()
    await space.push(entry)
    assert [d.task_id for d in await space.take("a")] == ["t1"]
    assert await space.entries() == []
    await space.check()


async def test_eight_long_tasks_land_on_eight_workers(space: Namespace) -> None:
    workers = [f"w{number}" for number in range(8)]
    await space.register(*workers)
    await space.submit(*(f"t{number}" for number in range(8)))
    assert [len(await space.take(worker, 10)) for worker in workers] == [1] * 8
    await space.check()


async def test_a_pull_rings_on_while_work_remains(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    await space.take("a", 1)
    assert await space.do("LLEN", space.key(f"bell:{space.queue}")) == 1
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    await space.take("a", 1)
    assert await space.do("LLEN", space.key(f"bell:{space.queue}")) == 0


async def test_lanes_are_served_in_the_order_given(space: Namespace) -> None:
    high = f"{space.queue}:high"
    await space.register("a")
    await space.submit("low")
    await space.push(run("high"), lane=high)
    pulled = await space.pull("a", 1, lanes=[high, space.queue])
    assert [(d.task_id, d.lane) for d in pulled.deliveries] == [("high", high)]


async def test_a_copy_in_another_lane_leaves_no_trace_in_the_index(space: Namespace) -> None:
    other = f"{space.queue}:other"
    await space.register("a")
    await space.submit("t1")
    await space.push(run("t1", "m-t1"), lane=other)
    pulled = await space.pull("a", 5, lanes=[other])
    assert [delivery.task_id for delivery in pulled.deliveries] in (["t1"], [])
    await space.check()


async def test_scripts_that_the_server_forgot_are_loaded_again(space: Namespace) -> None:
    await space.register("a")
    await space.do("SCRIPT", "FLUSH")
    await space.submit("t1")
    await space.do("SCRIPT", "FLUSH")
    assert [delivery.task_id for delivery in await space.take("a")] == ["t1"]
