"""Recovery, leases and renewal: what a dead worker owned goes back once, what a living one dropped goes back too."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Holding, Settle, Standing
from holdfast.core.worker_records import Stray, WorkerKind
from tests.conformance.stand import Stand
from tests.lua.operations import introduction

pytestmark = pytest.mark.anyio

LEASE, GRACE = 15_000, 5_000


async def test_what_the_dead_owned_goes_back_in_order_once(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("t1", "t2", "t3", "t4")
    assert len(await stand.take("a")) == 2
    assert await stand.crash("a") == 2
    assert await stand.crash("a") == 0
    assert [delivery.task_id for delivery in await stand.take("b")] == ["t1", "t2", "t3", "t4"]
    assert (await stand.task("t1")).crashes == 1
    assert (await stand.task("t3")).crashes == 0


async def test_the_dead_claim_nothing_and_are_not_registered_again(stand: Stand) -> None:
    await stand.register("a")
    await stand.crash("a")
    await stand.submit("t1")
    pulled = await stand.pull("a")
    assert (pulled.standing, pulled.deliveries) == (Standing.DEAD, ())
    assert await stand.store.register(introduction("a")) is Standing.DEAD
    assert (await stand.store.renew("a", "live", 0, [])).standing is Standing.DEAD


async def test_one_who_died_before_it_was_known_stays_dead(stand: Stand) -> None:
    assert await stand.crash("a") == 0
    assert await stand.store.register(introduction("a")) is Standing.DEAD


async def test_a_death_that_is_not_charged_counts_for_nobody(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    await stand.take("a")
    await stand.crash("a", charged=False)
    task = await stand.task("t1")
    assert (task.state, task.crashes) == ("submitted", 0)


async def test_the_second_crash_waits_and_then_runs_alone(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.register("c", kind=WorkerKind.QUARANTINE)
    await stand.submit("t1")
    for name in ("a", "b"):
        assert len(await stand.take(name)) == 1
        await stand.crash(name)
    assert await stand.state("t1") == "delayed"
    await stand.advance(5_000)
    assert [delivery.solo for delivery in await stand.take("c")] == [True]


async def test_a_task_that_ends_four_workers_is_given_up(stand: Stand) -> None:
    await stand.submit("t1")
    for number in range(4):
        await stand.advance(25_000)
        await stand.register(f"w{number}", kind=WorkerKind.SINGLE)
        assert [delivery.task_id for delivery in await stand.take(f"w{number}")] == ["t1"], number
        await stand.crash(f"w{number}")
    task = await stand.task("t1")
    assert (task.state, task.dead, task.crashes) == ("failed", True, 4)


async def test_a_lease_lapses_only_when_it_is_seen_twice(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("t1")
    assert len(await stand.take("a")) == 1
    await stand.advance(LEASE + 1)
    await stand.store.renew("b", "live", 0, [])
    assert await stand.store.reap(LEASE, GRACE) == {}
    await stand.advance(GRACE + 1)
    assert await stand.store.reap(LEASE, GRACE) == {"a": 1}
    assert [delivery.task_id for delivery in await stand.take("b")] == ["t1"]


async def test_one_heartbeat_between_the_two_looks_keeps_it_alive(stand: Stand) -> None:
    await stand.register("a")
    await stand.advance(LEASE + 1)
    await stand.store.reap(LEASE, GRACE)
    await stand.store.renew("a", "live", 0, [])
    await stand.advance(GRACE + 1)
    assert await stand.store.reap(LEASE, GRACE) == {}


async def test_who_is_vouched_for_is_not_reaped(stand: Stand) -> None:
    await stand.register("a")
    for _ in range(4):
        await stand.advance(LEASE - 1)
        await stand.store.vouch(["a"])
        assert await stand.store.reap(LEASE, GRACE) == {}
    renewed = await stand.store.renew("a", "live", 0, [])
    assert (renewed.standing, renewed.vouched_ago_ms) == (Standing.OK, 0)


async def test_a_renewal_finds_what_was_dropped_and_what_was_lost(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    first, _ = await stand.take("a")
    holdings = [Holding("t1", first.claim, "1/2", b'"c"'), Holding("t9", "1:a:1")]
    renewed = await stand.store.renew("a", "live", 1, holdings)
    assert (renewed.standing, renewed.lost, renewed.returned) == (Standing.OK, (("t9", "1:a:1"),), 1)
    task = await stand.task("t1")
    assert (task.state, task.progress, task.checkpoint) == ("working", "1/2", b'"c"')
    assert await stand.state("t2") == "submitted"


async def test_what_was_asked_for_but_not_answered_yet_is_not_dropped(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    await stand.take("a")
    assert (await stand.store.renew("a", "live", 0, [])).returned == 0
    assert await stand.state("t1") == "working"


async def strays(stand: Stand, *, put_back: bool) -> list[Stray]:
    """All pages: the keys of others are looked through as well."""
    strays: list[Stray] = []
    cursor, pages = "", 0
    while not pages or cursor:
        page = await stand.store.strays(cursor, 1000, 60_000, put_back=put_back)
        strays, cursor, pages = [*strays, *page.found], page.cursor, pages + 1
    return strays


async def test_a_stray_is_found_and_put_back_uncharged(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    await stand.take("a")
    await stand.advance(60_000)
    assert await strays(stand, put_back=False) == [Stray("t1", "a", "silent")]
    assert await stand.state("t1") == "working"
    assert await strays(stand, put_back=True) == [Stray("t1", "a", "silent")]
    task = await stand.task("t1")
    assert (task.state, task.crashes) == ("submitted", 0)


async def test_workers_are_listed_and_remembered(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("t1")
    await stand.take("a")
    listed = {worker.incarnation: worker for worker in await stand.store.workers()}
    assert (listed["a"].state, listed["a"].running, listed["b"].running) == ("live", ("t1",), ())
    await stand.crash("a")
    assert [worker.incarnation for worker in await stand.store.workers()] == ["b"]
    known = await stand.store.incarnations(["a", "b", "nobody"])
    assert {name: worker.state for name, worker in known.items()} == {"a": "dead", "b": "live"}
    assert (known["a"].cause, known["a"].held) == ("died", ("t1",))


async def test_a_draining_worker_settles_and_claims_nothing(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    [delivery] = await stand.take("a", 1)
    await stand.store.renew("a", "draining", 1, [Holding("t1", delivery.claim)])
    pulled = await stand.pull("a")
    assert (pulled.standing, pulled.deliveries) == (Standing.OK, ())
    assert await stand.settle("a", delivery, Settle.COMPLETED) == "OK"
