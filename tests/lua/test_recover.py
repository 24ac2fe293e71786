"""recover: the dead own nothing, what they owned goes back in order, crashes are charged to whom they belong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.core.begun_page import RUNS
from holdfast.core.delivery import Settle, Standing
from holdfast.core.trail import read_trail
from holdfast.core.worker_records import ServedLane, ServedLimits, ServedWork, Startable, WorkerKind
from tests.lua.namespace import Namespace, settlement
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


async def test_what_a_dead_worker_no_longer_holds_stays_where_it_is(space: Namespace) -> None:
    """An error may leave a task in the list of what it runs that by its record has gone back, or to another worker."""
    await space.register("a", "b")
    await space.submit("t1")
    [first] = await space.take("a")
    await space.crash("a")

    async def recover_again() -> tuple[str, int]:
        await space.do("HSET", space.key("worker:a:running"), "t1", first.claim)
        assert await space.crash("a") == 1
        task = await space.task("t1")
        return task.state, task.crashes

    assert await recover_again() == ("submitted", 1)
    [second] = await space.take("b")
    assert await recover_again() == ("working", 1)
    assert await space.settle("b", second, Settle.COMPLETED) == "OK"
    await space.check()


async def test_a_tombstone_ends_after_a_day(space: Namespace) -> None:
    await space.register("a")
    await space.crash("a")
    assert 0 < await space.do("PTTL", space.key("worker:a")) <= 86_400_000


SERVED = {b"lanes", b"names", b"limits", b"application", b"catalog"}


async def test_a_tombstone_does_not_keep_the_lanes_that_were_served(space: Namespace) -> None:
    limits = ServedLimits(5, 60.0, 900.0)
    service = ServedWork((ServedLane(space.queue),), frozenset({"mail.send"}), limits, "shop", frozenset({"nightly"}))
    await space.store.register(replace(introduction("a"), service=service))
    kept = set(await space.do("HKEYS", space.key("worker:a")))
    assert kept >= SERVED
    await space.crash("a")
    assert not SERVED & set(await space.do("HKEYS", space.key("worker:a")))


async def test_the_first_crash_goes_back_at_once_the_later_ones_wait(space: Namespace) -> None:
    await space.submit("t1")
    waits: list[int] = []
    for number in range(3):
        await space.register(f"w{number}", kind=WorkerKind.SINGLE)
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}")
        due = (await space.task("t1")).due_ms
        waits.append(due - space.clock.now_ms if due else 0)
        await space.clock.advance(waits[-1])
    assert waits == [0, 5_000, 25_000]
    await space.check()


async def test_a_death_by_an_order_leaves_the_accounts_alone(space: Namespace) -> None:
    await space.submit("t1")
    for number in range(6):
        await space.register(f"w{number}")
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}", charged=False, ordered=True)
    task = await space.task("t1")
    assert (task.state, task.crashes, task.solo, task.deliveries) == ("submitted", 0, False, 6)
    await space.check()


ENDLESS = 20  # starts


async def starts_until_it_ends(space: Namespace, task_id: str, *, charged: bool, max_crashes: int = 3) -> int:
    """How often a task is started that ends its worker each time."""
    starts = 0
    while await space.state(task_id) in {"submitted", "delayed"}:
        await space.clock.advance(25_000)
        name, starts = f"{task_id}-{starts}", starts + 1
        assert starts < ENDLESS, f"{task_id} never ends"
        await space.register(name, kind=WorkerKind.SINGLE)
        assert [one.task_id for one in await space.take(name)] == [task_id], starts
        await space.store.recover(name, "died", charged, max_crashes=max_crashes)
    return starts


@pytest.mark.parametrize("most", [2, 3, 5])
async def test_a_task_has_so_many_runs_after_its_first_death(space: Namespace, most: int) -> None:
    await space.submit("t1")
    assert await starts_until_it_ends(space, "t1", charged=True, max_crashes=most) == most + 1
    task = await space.task("t1")
    assert (task.state, task.dead, task.crashes) == ("failed", True, most + 1)
    await space.check()


async def test_after_three_recoveries_without_an_order_each_one_counts(space: Namespace) -> None:
    await space.submit("t1")
    assert await starts_until_it_ends(space, "t1", charged=False) == 6
    task = await space.task("t1")
    assert (task.state, task.dead, task.crashes) == ("failed", True, 4)
    await space.check()


@pytest.mark.parametrize("charged", [False, True])
async def test_the_third_recovery_in_a_row_makes_a_suspect_at_the_head(space: Namespace, charged: bool) -> None:
    await space.submit("t1")
    for number, (crashes, suspect) in enumerate([(0, False), (0, False), (1, True)]):
        await space.register(f"w{number}")
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}", charged=charged and suspect)
        task = await space.task("t1")
        assert (task.state, task.crashes, task.solo) == ("submitted", crashes, suspect)
        assert (read_trail(task.trail)[-1].event == "suspected") is suspect
    assert await space.store.suspects([space.queue]) == Startable(1, 1)
    await space.check()


@pytest.mark.parametrize(
    ("charged", "max_crashes", "last"),
    [([False, False, True], 0, "dead-letter"), ([True, False, True], 3, "delayed")],
    ids=["it-ends", "a-suspect-by-crashes"],
)
async def test_a_third_recovery_whose_crash_decides_makes_no_suspect(
    space: Namespace, charged: list[bool], max_crashes: int, last: str
) -> None:
    await space.submit("t1")
    for number, counts in enumerate(charged):
        await space.register(f"w{number}")
        assert await space.take(f"w{number}")
        await space.store.recover(f"w{number}", "died", counts, max_crashes=max_crashes if number == 2 else 3)
    assert [step.event for step in read_trail((await space.task("t1")).trail)][-2:] == ["crashed", last]
    await space.check()


@pytest.mark.parametrize(
    ("kind", "solo"),
    [
        (Settle.RETRY, False),
        (Settle.INPUT_REQUIRED, False),
        (Settle.RELEASE, True),
        (Settle.RETURNED, True),
        (Settle.DEFER, True),
    ],
)
async def test_a_run_that_ends_by_itself_ends_the_row(space: Namespace, kind: Settle, solo: bool) -> None:
    await space.submit("t1")
    for name in ("a", "b"):
        await space.register(name)
        assert await space.take(name)
        await space.crash(name, charged=False)
    await space.register("c", "d")
    [delivery] = await space.take("c")
    assert await space.settle("c", delivery, kind) == "OK"
    await space.store.promote(10)
    await space.store.resume("t1", "go on")
    assert await space.take("d")
    await space.crash("d", charged=False)
    assert (await space.task("t1")).solo is solo
    await space.check()


async def test_a_death_by_an_order_between_ends_no_row(space: Namespace) -> None:
    await space.submit("t1")
    for number, ordered in enumerate([False, False, True, False]):
        await space.register(f"w{number}")
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}", charged=False, ordered=ordered)
    assert (await space.task("t1")).solo
    await space.check()


async def test_a_suspect_that_is_tried_again_is_one_still(space: Namespace) -> None:
    """A suspect stays one, so its fourth death, which ends it, is one in quarantine."""
    await space.submit("t1")
    for name in ("a", "b"):
        await space.register(name)
        assert await space.take(name)
        await space.crash(name)
    await space.clock.advance(5_000)
    await space.register("q", kind=WorkerKind.QUARANTINE)
    [delivery] = await space.take("q")
    assert await space.settle("q", delivery, Settle.RETRY) == "OK"
    task = await space.task("t1")
    assert (task.solo, task.crashes) == (True, 2)
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
    assert (last.attempts, last.crashes, last.delivery, last.run) == (1, 1, 4, 4)


async def test_runs_are_the_deliveries_that_had_begun(space: Namespace) -> None:
    await space.register("a", "b", "c")
    await space.submit("t1")
    [first] = await space.take("a")
    await space.settle("a", first, Settle.RETURNED)
    [second] = await space.take("a")
    await space.settle("a", second, Settle.DEFER)
    await space.advance(1)
    await space.take("a")
    await space.crash("a", begun=[])
    await space.take("b")
    await space.crash("b", begun=["t1"])
    [last] = await space.take("c")
    task = await space.task("t1")
    assert (task.deliveries, task.runs, task.crashes) == (5, 2, 1)
    assert (last.delivery, last.run) == (5, 2)
    await space.check()


async def test_recovery_rings(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    await space.do("DEL", space.key(f"bell:{space.queue}"))
    await space.crash("a")
    assert await space.do("LLEN", space.key(f"bell:{space.queue}")) == 1


async def accounts(space: Namespace, task_id: str) -> tuple[str, int, int]:
    """Its state, its crashes, its recoveries in a row."""
    recoveries = await space.do("HGET", space.key(f"task:{task_id}"), "recoveries")
    task = await space.task(task_id)
    return task.state, task.crashes, int(recoveries or 0)


@pytest.mark.parametrize("charged", [True, False])
async def test_a_death_counts_as_nothing_for_what_had_not_begun(space: Namespace, charged: bool) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    assert len(await space.take("a", 3)) == 3
    assert await space.crash("a", charged=charged, begun=["t2"]) == 3
    counted = (1 if charged else 0, 1)
    assert await accounts(space, "t1") == await accounts(space, "t3") == ("submitted", 0, 0)
    assert await accounts(space, "t2") == ("submitted", *counted)
    assert read_trail((await space.task("t1")).trail)[-1].reason == "died, before it had begun"
    await space.register("b")
    assert [one.task_id for one in await space.take("b", 3)] == ["t1", "t2", "t3"]
    await space.check()


@pytest.mark.parametrize(("noted", "counted"), [("earlier", 0), ("present", 1), (RUNS, 1)])
async def test_a_note_is_of_one_claim_unless_the_task_runs(space: Namespace, noted: str, counted: int) -> None:
    """The worker has run the task before, and may not have read that it was given it again."""
    await space.register("a")
    await space.submit("t1", "t2")
    [first] = await space.take("a", 1)
    [second, other] = await space.take("a", 2, settlement(first, Settle.RETRY))
    assert {second.task_id, other.task_id} == {"t1", "t2"}
    again = second if second.task_id == "t1" else other
    note = {"earlier": first.claim, "present": again.claim}.get(noted, noted)
    await space.crash("a", begun={"t1": note, "t2": RUNS})
    assert await accounts(space, "t1") == ("submitted", counted, counted)
    assert len(await space.do("HKEYS", space.key("death:a"))) == 2 * counted  # shared by what had begun
    assert (await space.task("t1")).runs == 1 + counted
    await space.check()


async def test_what_never_begins_is_never_suspected(space: Namespace) -> None:
    await space.submit("t1")
    for number in range(6):
        await space.register(f"w{number}")
        assert await space.take(f"w{number}")
        await space.crash(f"w{number}", begun=[])
    assert await accounts(space, "t1") == ("submitted", 0, 0)
    assert not (await space.task("t1")).solo
    await space.check()


async def test_a_suspect_that_had_not_begun_is_one_as_before_and_clears_nobody(space: Namespace) -> None:
    await space.submit("t1", "t2")
    for name in ("a", "b"):
        await space.register(name)
        assert await space.take(name)
        await space.crash(name)
        await space.clock.advance(25_000)
    await space.store.promote(10)
    await space.register("q", kind=WorkerKind.QUARANTINE)
    [held] = await space.take("q")
    await space.crash("q", begun=[])
    for task_id in ("t1", "t2"):
        assert ((await space.task(task_id)).solo, (await space.task(task_id)).crashes) == (True, 2)
    await space.register("q2", kind=WorkerKind.QUARANTINE)
    assert [one.task_id for one in await space.take("q2")] == [held.task_id]
    await space.check()


async def test_a_death_is_shared_by_those_that_had_begun(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    await space.take("a", 3)
    await space.crash("a", begun=["t1", "t3"])
    shared = await space.do("HKEYS", space.key("death:a"))
    assert set(shared) == {b"t1", b"t3"}
    await space.check()


async def test_where_nobody_knows_what_had_begun_the_first_claims_count_as_many_as_it_runs(space: Namespace) -> None:
    await space.store.register(replace(introduction("a"), concurrency=2))
    await space.submit("t1", "t2", "t3")
    [first] = await space.take("a", 1)
    assert len(await space.take("a", 2)) == 2
    assert await space.store.cancel(first.task_id, "asked") == "canceled"
    await space.submit("t4")
    assert await space.take("a", 1)
    assert await space.crash("a", charged=False) == 3
    found = {task_id: (await accounts(space, task_id))[2] for task_id in ("t2", "t3", "t4")}
    assert found == {"t2": 1, "t3": 1, "t4": 0}
    await space.check()


async def test_of_a_worker_that_does_not_say_how_many_it_runs_all_count(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2")
    assert len(await space.take("a", 2)) == 2
    await space.crash("a")
    assert await accounts(space, "t1") == await accounts(space, "t2") == ("submitted", 1, 1)
    await space.check()
