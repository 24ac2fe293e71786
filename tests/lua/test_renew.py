"""renew: what a worker holds and what it owns are made the same."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Holding, Settle, Standing
from holdfast.core.worker_records import WorkerKind
from tests.lua.namespace import Namespace, settlement
from tests.lua.test_suspects import suspect

pytestmark = pytest.mark.anyio


async def test_what_is_held_but_no_longer_owned_is_named(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    first, second = await space.take("a")
    await space.store.cancel("t1", "enough")
    stale = Holding("t2", "0:a:0")
    renewed = await space.store.renew("a", "live", 1, [Holding("t1", first.claim), Holding("t2", second.claim)])
    assert (renewed.standing, renewed.lost, renewed.returned) == (Standing.OK, (("t1", first.claim),), 0)
    assert (await space.store.renew("a", "live", 1, [stale, Holding("ghost", "1:a:1")])).lost == (
        ("t2", "0:a:0"),
        ("ghost", "1:a:1"),
    )


async def test_what_is_owned_under_a_claim_that_was_not_read_is_not_lost(space: Namespace) -> None:
    """Its worker runs the task, and has not seen that the store gave it the task anew."""
    await space.register("a", "b")
    await space.submit("t1")
    [first] = await space.take("a")
    [second] = await space.take("a", 1, settlement(first, Settle.RETRY))
    held = [Holding("t1", first.claim)]
    assert (await space.store.renew("a", "live", 1, held)).lost == ()
    assert (await space.store.renew("a", "live", 2, held)).lost == (("t1", first.claim),)
    await space.take("b", 1, settlement(second, Settle.COMPLETED))
    assert (await space.store.renew("a", "live", 1, held)).lost == (("t1", first.claim),)


async def test_what_is_owned_but_not_held_goes_back_in_order(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    await space.take("a")
    assert (await space.store.renew("a", "live", 1, [])).returned == 3
    assert (await space.task("t1")).runs == 0
    assert [delivery.task_id for delivery in await space.take("a")] == ["t1", "t2", "t3"]
    await space.check()


async def test_what_an_answer_on_its_way_brings_does_not_go_back(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    assert (await space.store.renew("a", "live", 0, [])).returned == 0
    assert await space.state("t1") == "working"


async def test_unsettled_results_are_still_held(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    assert (await space.store.renew("a", "live", 1, [Holding("t1", delivery.claim)])).returned == 0
    assert await space.settle("a", delivery, Settle.COMPLETED) == "OK"


async def test_progress_and_checkpoint_are_kept_for_the_owner_only(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.store.renew("a", "live", 1, [Holding("t1", delivery.claim, "1/2", b"half")])
    await space.store.renew("b", "live", 0, [Holding("t1", "1:b:1", "9/9", b"other")])
    task = await space.task("t1")
    assert (task.progress, task.checkpoint) == ("1/2", b"half")
    await space.crash("a")
    assert (await space.take("b"))[0].checkpoint == b"half"
    await space.check()


async def test_progress_is_shown_for_the_latest_claim_of_a_running_task_only(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    one, two = await space.take("a", 2)
    shown = [Holding("t1", one.claim, "1/2"), Holding("t2", "1:b:1", "9/9"), Holding("gone", "1:b:1", "9/9")]
    assert await space.store.show_progress(shown) == 1
    assert await space.store.show_progress(shown) == 0
    assert [(await space.task(each)).progress for each in ("t1", "t2")] == ["1/2", ""]
    for delivery in (one, two):
        await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.store.show_progress([Holding("t1", one.claim, "2/2")]) == 0
    assert (await space.task("t1")).progress == "1/2"
    await space.check()


KEPT = {Settle.COMPLETED: "2/2", Settle.FAILED: "2/2", Settle.EXHAUSTED: "2/2", Settle.INPUT_REQUIRED: "2/2"}
KEPT |= {Settle.RETRY: "", Settle.RELEASE: ""}


async def test_the_last_progress_is_kept_until_the_next_run(space: Namespace) -> None:
    await space.register("a")
    for kind, kept in KEPT.items():
        await space.submit(f"{kind}-sent", f"{kind}-late")
        for delivery in await space.take("a", 2):
            await space.store.show_progress([Holding(delivery.task_id, delivery.claim, "1/2")])
            last = "2/2" if delivery.task_id.endswith("late") else ""
            assert await space.settle("a", delivery, kind, result=b"null", progress=last) == "OK"
            expected = kept if last else kept and "1/2"
            assert (await space.task(delivery.task_id)).progress == expected
            await space.store.cancel(delivery.task_id, "over")
    await space.check()


async def test_the_dead_and_the_unknown_are_told(space: Namespace) -> None:
    await space.register("a")
    await space.crash("a")
    assert (await space.store.renew("a", "live", 0, [])).standing is Standing.DEAD
    assert (await space.store.renew("b", "live", 0, [])).standing is Standing.UNKNOWN
    await space.check()


async def test_a_wake_ends_a_workers_own_wait_and_leaves_nothing_for_the_dead(space: Namespace) -> None:
    await space.register("a")
    await space.store.wake("a")
    hint = await space.store.listen("a", [], 5.0)
    assert hint is not None
    assert hint.kind == "wake"
    await space.crash("a")
    await space.store.wake("a")
    assert await space.do("EXISTS", space.key("control:a")) == 0


async def test_it_is_told_whether_entries_wait_own_ones_or_foreign(space: Namespace) -> None:
    await space.register("a")

    async def waits() -> bool:
        return (await space.store.renew("a", "live", 0, [], [space.queue, "other"])).waiting > 0

    assert not await waits()
    await space.submit("t1", lane="other")
    assert await waits()
    await space.do("DEL", space.key("lane:other"))
    assert not await waits()
    await space.push(b"what somebody pushed")
    assert await waits()
    await space.do("DEL", space.queue)
    assert not await waits()


async def test_it_is_told_which_request_was_run_last(space: Namespace) -> None:
    await space.register("a")
    assert (await space.store.renew("a", "live", 0, [])).request == 0
    await space.take("a")
    assert (await space.store.renew("a", "live", 0, [])).request == 1


@pytest.mark.parametrize(("kind", "told"), [(WorkerKind.WORKER, 0), (WorkerKind.SINGLE, 1), (WorkerKind.QUARANTINE, 1)])
async def test_a_suspect_waits_for_those_that_may_claim_it(space: Namespace, kind: WorkerKind, told: int) -> None:
    await space.register("a", kind=kind)
    await suspect(space)
    assert (await space.store.renew("a", "live", 0, [], [space.queue])).waiting == told


async def test_no_entry_waits_for_a_quarantine_worker(space: Namespace) -> None:
    await space.register("q", kind=WorkerKind.QUARANTINE)
    await space.submit("t1")
    assert (await space.store.renew("q", "live", 0, [], [space.queue])).waiting == 0


async def test_a_lease_is_kept_where_somebody_has_made_the_queue_no_list(space: Namespace) -> None:
    await space.register("a")
    await space.do("SET", space.queue, "no list")
    assert (await space.store.renew("a", "live", 0, [])).standing is Standing.OK
