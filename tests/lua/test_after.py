"""Tasks that wait for others: told once of each end, in order, whatever happens to either side meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.acceptance import Accepted, IfParentFails, Receipt, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.errors import ParentResultError
from tests.lua.namespace import Namespace
from tests.lua.operations import run, submission

pytestmark = pytest.mark.anyio

RUN = IfParentFails.RUN


async def after(
    space: Namespace, child: str, *parents: str, policy: IfParentFails = IfParentFails.FAIL, **more: Any
) -> Receipt:
    options = SubmitOptions(after=parents, if_parent_fails=policy)
    [receipt] = await space.store.submit_with_options([submission(child, space.queue, options=options, **more)])
    return receipt


async def end(space: Namespace, task_id: str, kind: Settle = Settle.COMPLETED) -> None:
    """Take this task, which is the next one, and settle it."""
    [delivery] = await space.take("a", 1)
    assert delivery.task_id == task_id
    await space.settle("a", delivery, kind)


async def test_a_child_of_a_usual_task_begins_at_its_end(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    await after(space, "c", "p")
    await end(space, "p")
    await space.store.promote(10)
    await end(space, "c")


async def test_a_paused_child_of_a_usual_task_begins_when_resumed(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    await after(space, "c", "p")
    await space.store.pause("c", "asked")
    await end(space, "p")
    await space.store.promote(10)
    await space.store.resume("c", "asked")
    await end(space, "c")


async def test_a_child_begins_when_all_its_parents_have_completed(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p1", "p2")
    assert await after(space, "c", "p1", "p2") == Receipt(Accepted.NEW, "c")
    assert (await space.task("c")).waits_for == ("p1", "p2")
    await end(space, "p1")
    assert await space.state("c") == "waiting"
    assert (await space.task("c")).waits_for == ("p2",)
    await space.check()
    await end(space, "p2")
    assert await space.state("c") == "submitted"
    await end(space, "c")
    snapshot = await space.check()
    assert not [
        key for key in snapshot if "ties:" in key or "children:" in key or key.endswith((":agenda", ":waiting"))
    ]


async def test_a_batch_may_name_parents_of_the_same_batch(space: Namespace) -> None:
    first = submission("p", space.queue)
    second = submission("c", space.queue, options=SubmitOptions(after=("p",)))
    receipts = await space.store.submit_with_options([first, second])
    assert receipts == [Receipt(Accepted.NEW, "p"), Receipt(Accepted.NEW, "c")]
    assert await space.store.submit_with_options([first, second]) == [
        Receipt(Accepted.DUPLICATE, "p"),
        Receipt(Accepted.DUPLICATE, "c"),
    ]
    await space.check()


async def test_a_parent_whose_last_child_is_canceled_has_nobody_left_to_tell(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    await after(space, "d", "p")
    await space.store.cancel("p", "asked")
    await space.store.cancel("c", "asked")
    await space.check()
    assert await space.do("ZRANGE", space.key("agenda"), 0, -1) == [b"settle|p"]
    await space.store.cancel("d", "asked")
    await space.check()
    assert not await space.do("EXISTS", space.key("agenda"))


@pytest.mark.parametrize("kind", [Settle.FAILED, Settle.REJECTED, Settle.EXHAUSTED])
async def test_a_parent_that_fails_fails_its_children_and_theirs(space: Namespace, kind: Settle) -> None:
    await space.register("a")
    await space.submit("p")
    await after(space, "c", "p")
    await after(space, "grandchild", "c")
    await after(space, "other", "p", policy=RUN)
    await end(space, "p", kind)
    await space.store.promote(10)
    assert [await space.state(one) for one in ("c", "grandchild", "other")] == ["failed", "failed", "submitted"]
    word = "was rejected" if kind is Settle.REJECTED else "failed"
    assert (await space.task("c")).reason == f"parent p {word}"
    assert not (await space.task("c")).dead
    await space.check()


async def test_a_canceled_parent_has_not_completed(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    await space.store.cancel("p", "enough")
    assert await space.state("c") == "waiting"
    await space.store.promote(10)
    assert (await space.task("c")).reason == "parent p was canceled"
    await space.check()


async def test_parents_that_have_ended_are_not_waited_for(space: Namespace) -> None:
    await space.register("a")
    await space.submit("good", "bad")
    await end(space, "good")
    await end(space, "bad", Settle.FAILED)
    await after(space, "c1", "good")
    await after(space, "c2", "bad")
    await after(space, "c3", "good", "bad", policy=RUN)
    await space.submit("open")
    await after(space, "c4", "open", "bad")
    assert [await space.state(f"c{n}") for n in (1, 2, 3, 4)] == ["submitted", "failed", "submitted", "failed"]
    await space.check()


async def test_an_unknown_parent_is_named_and_nothing_is_written(space: Namespace) -> None:
    await space.submit("p")
    before = await space.store.snapshot()
    assert await after(space, "c", "p", "nobody") == Receipt(Accepted.NO_PARENT, "nobody")
    assert await after(space, "c", "c") == Receipt(Accepted.NO_PARENT, "c")
    assert await space.store.snapshot() == before


async def test_a_forgotten_parent_is_unknown(space: Namespace) -> None:
    await space.submit("p")
    await space.store.cancel("p", "x")
    assert await space.store.trim(0, 10) == 1
    assert await after(space, "c", "p") == Receipt(Accepted.NO_PARENT, "p")


async def test_a_full_page_with_a_parent_that_stays_is_not_the_last(space: Namespace) -> None:
    """Else a steward rests for half a minute after each page while one such parent is there."""
    await space.submit("p", "t1", "t2")
    await after(space, "c", "p")
    for task_id in ("p", "t1", "t2"):
        await space.store.cancel(task_id, "x")
        await space.clock.advance(1)
    assert await space.store.trim(0, 2) == 2
    assert await space.store.get("p")
    assert await space.store.get("t1") is None
    assert await space.store.trim(0, 2) == 2
    assert await space.store.trim(0, 2) == 0


async def test_a_parent_stays_until_all_its_children_know(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    await space.store.cancel("p", "x")
    assert await space.store.trim(0, 10) == 0
    await space.store.promote(10)
    assert await space.store.trim(0, 10) == 2
    await space.check()


async def test_a_result_that_somebody_has_deleted_is_missing_and_never_another(space: Namespace) -> None:
    """With the record of its task; the id is another task's by then."""
    await space.register("a")
    await space.submit("p")
    await after(space, "c", "p")
    await end(space, "p")
    await space.do("UNLINK", space.key("task:p"), space.key("op:p"), space.key("trail:p"), space.key("result:p:1"))
    await space.do("ZREM", space.key("finished"), "p")
    await space.clock.advance(10)
    await space.submit("p")
    deliveries = await space.take("a", 2)
    await space.settle("a", next(each for each in deliveries if each.task_id == "p"), Settle.COMPLETED)
    ((parent,), _) = await space.store.parents("c")
    assert (parent.state, parent.document) == ("completed", None)
    with pytest.raises(ParentResultError, match=r"^parent p: its result was deleted by another program"):
        _ = parent.value


async def test_a_damaged_end_of_a_parent_is_the_trouble_of_its_children(space: Namespace) -> None:
    """Somebody has written other values under its keys; no child waits for ever, and none gets a wrong value."""
    await space.register("a")
    await space.submit("p", "q")
    await after(space, "c", "p")
    await after(space, "d", "q")
    finished = space.clock.now_ms  # it stands still
    await space.do("SET", space.key(f"outcome:p:{finished}"), "damaged")
    await end(space, "p")
    await end(space, "q")
    await space.store.promote(10)
    assert {each.task_id for each in await space.take("a", 2)} == {"c", "d"}
    ((parent,), _) = await space.store.parents("c")
    assert (parent.state, parent.document) == (None, None)
    with pytest.raises(ParentResultError, match=r"^parent p: its record was deleted by another program"):
        _ = parent.value
    assert (await space.store.parents("d"))[0][0].state == "completed"
    await space.do("UNLINK", space.key(f"outcome:p:{finished}"))
    await space.do("HDEL", space.key("parents:c"), "p")


async def test_many_children_are_told_in_order_and_in_bounded_steps(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    children = [f"c{number}" for number in range(200)]
    options = SubmitOptions(after=("p",))
    await space.store.submit_with_options([submission(one, space.queue, options=options) for one in children])
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.COMPLETED)
    told = await space.do("LLEN", space.queue)
    assert 0 < told <= 16  # what a pull works off in passing
    steps = 0
    while (await space.store.promote(40))[1] == 0:
        steps += 1
        now = await space.do("LLEN", space.queue)
        assert now - told <= 40
        told = now
        await space.check()
    assert steps >= 5
    taken = [one.task_id for one in await space.take("a", 1000)]
    assert taken == children
    await space.check()


async def test_a_child_with_many_ties_counts_for_as_much(space: Namespace) -> None:
    """Each of these children fails, and leaves a hundred parents: one step ends only a few."""
    parents = [f"p{number}" for number in range(100)]
    await space.submit(*parents)
    for number in range(5):
        await after(space, f"c{number}", *parents)
    await space.store.cancel("p0", "x")
    await space.store.promote(500)
    states = [await space.state(f"c{number}") for number in range(5)]
    assert states == ["failed", "failed", "waiting", "waiting", "waiting"]
    await space.check()
    for _ in range(5):
        await space.store.promote(150)
    assert {await space.state(f"c{number}") for number in range(5)} == {"failed"}
    assert not [key for key in await space.check() if "children:" in key]


async def test_a_crash_of_the_parents_worker_tells_nobody_until_it_has_ended(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("p")
    await after(space, "c", "p")
    await space.take("b", 1)
    await space.crash("b")
    await space.store.promote(10)
    assert await space.state("c") == "waiting"
    await end(space, "p")
    assert await space.state("c") == "submitted"
    await space.check()


async def test_a_parent_that_asks_or_has_another_turn_has_not_ended(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    await after(space, "c", "p")
    await end(space, "p", Settle.INPUT_REQUIRED)
    await space.store.promote(10)
    assert await space.state("c") == "waiting"
    await space.message("p", "m2")
    [delivery] = await space.take("a", 1)
    await space.message("p", "m3")
    await space.settle("a", delivery, Settle.COMPLETED)
    assert [await space.state(one) for one in ("p", "c")] == ["submitted", "waiting"]
    await end(space, "p")
    assert await space.state("c") == "submitted"
    await space.check()


async def test_a_child_that_waits_can_be_canceled_and_nobody_waits_for_it_any_more(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    assert await space.store.cancel("c", "no longer") == "canceled"
    assert await space.do("EXISTS", space.key("children:p")) == 0
    await space.store.cancel("p", "x")
    assert await space.do("EXISTS", space.key("agenda")) == 0
    await space.check()


async def test_a_child_that_was_paused_waits_on(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    await after(space, "c", "p")
    assert await space.store.pause("c", "hold on") == "suspended"
    assert await space.store.resume("c", "go on") == "waiting"
    await space.check()
    await space.store.pause("c", "hold on")
    await end(space, "p")
    assert await space.state("c") == "suspended"
    assert await space.store.resume("c", "go on") == "submitted"
    await space.check()


async def test_a_message_does_not_let_a_paused_child_begin(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    assert await space.message("c", "m2") is Accepted.PENDING
    await space.store.pause("c", "hold on")
    assert await space.message("c", "m3") is Accepted.TURN
    assert await space.state("c") == "waiting"
    await space.check()


async def test_a_paused_child_fails_with_its_parent(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    await space.store.pause("c", "hold on")
    await space.store.cancel("p", "x")
    await space.store.promote(10)
    assert await space.state("c") == "failed"
    await space.check()


async def test_a_delay_counts_from_the_submission(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    await after(space, "soon", "p", delay_ms=100)
    await after(space, "late", "p", delay_ms=900)
    await space.clock.advance(500)
    await end(space, "p")
    assert [await space.state(one) for one in ("soon", "late")] == ["submitted", "delayed"]
    assert (await space.task("late")).due_ms == space.clock.now_ms + 400
    await space.check()


async def test_the_retry_of_a_parent_is_another_task(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    await after(space, "c", "p")
    await end(space, "p", Settle.FAILED)
    assert (await space.store.retry("p", "again")).task_id == "p.r1"
    await after(space, "next", "p.r1")
    assert [await space.state(one) for one in ("c", "next")] == ["failed", "waiting"]
    assert (await space.store.retry("c", "again")).task_id == "c.r1"
    assert await space.state("c.r1") == "submitted"
    await space.check()


async def test_a_foreign_task_may_be_waited_for_and_cannot_wait(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1"), run("f2", after=["f1"], expires=1, unique="k"))
    [first, second] = await space.take("a", 2)
    await after(space, "c", "f1")
    await space.settle("a", first, Settle.COMPLETED)
    assert (await space.state("c"), second.task_id) == ("submitted", "f2")
    await space.check()


async def test_the_steward_is_told_that_a_parent_has_ended(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    await space.store.cancel("p", "x")
    assert await space.store.wait_alarm(5.0)


async def test_something_is_left_until_children_are_told(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p", policy=RUN)
    await space.store.cancel("p", "x")
    await space.do("DEL", space.queue)
    await space.do("DEL", space.key(f"submitted:{space.queue}"))
    assert await space.store.left([space.queue]) == (True, None, 0)


async def test_records_that_somebody_deleted_stop_nobody(space: Namespace) -> None:
    await space.submit("p", "gone")
    for child in ("c1", "c2"):
        await after(space, child, "p", "gone", policy=RUN)
    await space.do("DEL", space.key("task:c1"), space.key("task:gone"))
    await space.do("ZADD", space.key("agenda"), 0, "settle|gone")
    await space.store.cancel("p", "x")
    await space.store.promote(10)
    assert await space.state("c2") == "submitted"
    assert await space.do("EXISTS", space.key("task:c1"), space.key("ties:c1"), space.key("children:gone")) == 0


async def test_waiting_tasks_are_counted_and_listed(space: Namespace) -> None:
    await space.submit("p")
    await after(space, "c", "p")
    assert (await space.store.counts()).states["waiting"] == 1
