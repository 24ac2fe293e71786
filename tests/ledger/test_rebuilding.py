"""A Redis that has lost everything, or a part, is rebuilt from the ledger: each task in the state it was in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.acceptance import Accepted, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.steps import ANSWER, SLEEP, question_name
from holdfast.core.task_states import State
from holdfast.core.trail import is_asleep, read_trail
from holdfast.core.worker_records import ServedLane, ServedWork, Startable, WorkerKind
from holdfast.store.ledger import rebuild
from tests.ledger.ledger import Ledger
from tests.lua.operations import introduction, run, submission

pytestmark = pytest.mark.anyio

STATES = {
    "waits": "submitted",
    "runs": "submitted",
    "later": "delayed",
    "asks": "input-required",
    "paused": "suspended",
    "child": "waiting",
    "ended": "completed",
    "undone": "canceled",
    "given-up": "failed",
}


async def settle(books: Ledger, task_id: str, kind: Settle, result: bytes = b'"out"', **more: Any) -> None:
    """Run this task, which is the next one, to this end."""
    [delivery] = await books.redis.take("a", 1)
    assert delivery.task_id == task_id
    assert await books.redis.settle("a", delivery, kind, result=result, **more) == "OK"


async def scene(books: Ledger) -> None:
    """One task in each of STATES; the running one, which waits again after a loss, has left a checkpoint and a step."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("ended", "asks", "given-up")
    await settle(books, "ended", Settle.COMPLETED)
    await settle(books, "asks", Settle.INPUT_REQUIRED)
    await settle(books, "given-up", Settle.EXHAUSTED)
    await books.submit("runs")
    [running] = await books.redis.take("a", 1)
    await books.store.renew("a", "live", 1, [books.holding(running, checkpoint=b'"half"')])
    await books.store.step("runs", running.claim, 0, "fetch", b'"page"')
    await books.submit("later", delay_ms=3_600_000)
    await books.submit("waits", "paused", "undone")
    await books.store.submit_with_options(
        [submission("child", books.queue, options=SubmitOptions(after=("ended", "waits")))]
    )
    await books.store.pause("paused", "wait")
    await books.store.cancel("undone", "enough")


async def test_every_state_comes_back(books: Ledger) -> None:
    await scene(books)
    await books.keep()
    due = (await books.redis.task("later")).due_ms
    await books.lose()
    states = {task_id: await books.state(task_id) for task_id in STATES}
    assert states == STATES
    assert (await books.redis.task("later")).due_ms == due
    assert (await books.redis.task("child")).waits_for == ("waits",)
    assert [letter.task_id for letter in (await books.store.dead_letters(10)).tasks] == ["given-up"]
    await books.redis.check()
    await books.redis.register("b")
    assert {each.task_id: each.checkpoint for each in await books.redis.take("b")} == {"runs": b'"half"', "waits": None}
    ((step,), _) = await books.redis.store.steps("runs")
    assert (step.place, step.name, step.result) == (0, "fetch", b'"page"')


async def test_a_sleep_and_a_question_come_back_at_the_same_place(books: Ledger) -> None:
    """And an answer that was recorded: the run after the loss goes on behind it."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("sleeps")
    [run] = await books.redis.take("a", 1)
    await books.store.step("sleeps", run.claim, 0, "fetch", b'"page"')
    kept = await books.store.sleep("sleeps", run.claim, 1, SLEEP, 3_600_000)
    await books.redis.settle("a", run, Settle.SLEEP, delay_ms=kept.due_ms)
    for task_id in ("asks", "goes-on"):
        await books.submit(task_id)
        [run] = await books.redis.take("a", 1)
        await books.store.step(task_id, run.claim, 0, question_name("which?"), b"{}")
        await books.redis.settle("a", run, Settle.INPUT_REQUIRED)
    await books.redis.message("goes-on", "m2")
    [run] = await books.redis.take("a", 1)
    await books.store.step("goes-on", run.claim, 1, ANSWER, b'"this"')
    before = {task_id: await books.redis.store.recorded_steps(task_id) for task_id in ("sleeps", "asks", "goes-on")}
    await books.keep()
    await books.lose()
    assert {task_id: await books.redis.store.recorded_steps(task_id) for task_id in before} == before
    task = await books.redis.task("sleeps")
    assert (task.state, task.due_ms, task.attempts) == ("delayed", kept.due_ms, 0)
    assert is_asleep(task.state, read_trail(task.trail))
    await books.redis.register("b")
    [again] = await books.redis.take("b")
    assert (again.task_id, again.turn, again.has_steps) == ("goes-on", 2, True)
    await books.redis.message("asks", "m2")
    [answered] = await books.redis.take("b")
    assert (answered.task_id, answered.turn, answered.has_steps) == ("asks", 2, True)
    await books.redis.check()


async def test_the_steps_of_a_task_that_only_the_ledger_remembers_have_their_names(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t")
    [run] = await books.redis.take("a", 1)
    for place, name in enumerate(("fetch", "think")):
        await books.store.step("t", run.claim, place, name, b'"page"')
    await books.redis.settle("a", run, Settle.COMPLETED)
    await books.keep()
    there = await books.store.names_of_steps("t")
    await books.redis.clock.advance(1)
    assert await books.store.trim(0, 10) == 1
    assert await books.redis.store.get("t") is None
    assert await books.store.names_of_steps("t") == there
    assert [(step.place, step.name, step.size) for step in there] == [(0, "fetch", 6), (1, "think", 6)]


@pytest.mark.parametrize("keeps_parent", [True, False])
async def test_a_child_has_the_results_of_its_parents_again(books: Ledger, keeps_parent: bool) -> None:
    """Those of a parent that was deleted, too; and afterwards the parent can be deleted."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("parent", "last")
    after = SubmitOptions(after=("parent", "last"))
    await books.store.submit_with_options(
        [submission(each, books.queue, options=after) for each in ("child", "waits", "ends")]
    )
    await settle(books, "parent", Settle.COMPLETED, b'"one"')
    await settle(books, "last", Settle.COMPLETED, b'"two"')
    await books.store.promote(10)
    assert (await books.redis.take("a", 1))[0].task_id == "child"
    await books.keep()
    if not keeps_parent:
        assert await books.store.forget_tasks(["parent", "last"]) == 2
    await books.lose()
    await books.redis.check()
    if keeps_parent:
        await books.store.forget_tasks(["parent"])
    await books.redis.register("b")
    for child in await books.redis.take("b", 3):
        found = await books.store.results_of_parents(child.task_id)
        assert child.is_child
        assert [(one.task_id, one.state, one.document) for one in found.values()] == [
            ("parent", State.COMPLETED, b'"one"'),
            ("last", State.COMPLETED, b'"two"'),
        ]
        await books.redis.settle("b", child, Settle.COMPLETED)
    await books.store.forget_tasks(["child", "waits", "ends"])
    assert not [key for key in await books.redis.check() if ":outcome:" in key or ":given:" in key]


async def test_what_waits_keeps_its_order(books: Ledger) -> None:
    await books.keep()
    await books.submit(*(f"t{n:03}" for n in range(250)))
    await books.redis.register("a")
    await books.redis.take("a", 3)
    await books.keep()
    await books.lose()
    await books.redis.register("b")
    taken = [each.task_id for each in await books.redis.take("b", 250)]
    assert taken == [f"t{n:03}" for n in range(250)]


async def test_a_conversation_comes_back_with_all_its_turns(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t")
    await settle(books, "t", Settle.INPUT_REQUIRED, b'"one"')
    assert await books.redis.message("t", "m2") is Accepted.TURN
    await settle(books, "t", Settle.INPUT_REQUIRED, b'"two"')
    await books.redis.message("t", "m3")
    [delivery] = await books.redis.take("a", 1)
    await books.redis.message("t", "m4")
    await books.keep()
    before = (delivery.history, delivery.turn)
    await books.lose()
    await books.redis.register("b")
    [again] = await books.redis.take("b", 1)
    assert (again.history, again.turn) == before
    assert await books.redis.settle("b", again, Settle.COMPLETED, result=b'"three"') == "OK"
    [last] = await books.redis.take("b", 1)
    assert b'"m4"' in last.operation
    assert await books.message("t", "m2") is Accepted.DUPLICATE
    await books.redis.check()


async def join(books: Ledger) -> None:
    """A turn that was interrupted, and that two messages have joined; it waits."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("t")
    [delivery] = await books.redis.take("a", 1)
    await books.redis.message("t", "m2")
    await books.redis.settle("a", delivery, Settle.SUSPENDED, checkpoint=b'"half"')
    assert await books.message("t", "m3") is Accepted.TURN
    await books.keep()


async def test_messages_that_joined_a_turn_come_back_with_it_and_share_its_outcome(books: Ledger) -> None:
    await join(books)
    await books.lose()
    await books.redis.register("b")
    [again] = await books.redis.take("b", 1)
    assert ([b'"m-t"' in again.history[0], b'"m2"' in again.history[2], b'"m3"' in again.operation], again.turn) == (
        [True, True, True],
        3,
    )
    assert (again.history[1::2], again.checkpoint) == ((b"", b""), b'"half"')
    assert await books.redis.settle("b", again, Settle.COMPLETED, result=b'"all"') == "OK"
    await books.keep()
    rows = await books.rows("SELECT result FROM holdfast_turns WHERE queue = $1 ORDER BY turn", books.queue)
    assert [row["result"] for row in rows] == [None, None, b'"all"']
    for message in ("m2", "m3"):
        assert await books.message("t", message) is Accepted.DUPLICATE
    await books.redis.check()


async def test_messages_that_have_yet_to_join_do_so_after_a_loss(books: Ledger) -> None:
    await books.keep()
    await books.submit("t")
    for number in range(250):
        await books.redis.message("t", f"w{number}")
    await books.store.pause("t", "wait")
    await books.redis.message("t", "last")
    await books.keep()
    await books.lose()
    await books.redis.register("b")
    [again] = await books.redis.take("b", 1)
    assert (again.turn, b'"last"' in again.operation) == (252, True)
    await books.redis.check()


async def test_another_task_of_the_same_id_takes_over_all_messages_of_a_turn(books: Ledger) -> None:
    await join(books)
    await books.flush()
    await books.redis.clock.advance(5)
    await books.redis.push(run("t", "other", text="anew"))
    await books.redis.register("b")
    [turn] = await books.redis.take("b", 1)
    await books.keep()
    ran: list[bytes] = []
    while turn:
        await books.redis.settle("b", turn, Settle.COMPLETED, result=b'"1"')
        turn, *_ = [*await books.redis.take("b", 1), None]
        ran += [turn.operation] if turn else []
    assert [message in operation for message, operation in zip((b'"m-t"', b'"m2"', b'"m3"'), ran, strict=True)] == [
        True,
        True,
        True,
    ]
    await books.redis.check()


async def test_a_late_result_counts_as_long_as_nobody_has_claimed_anew(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("late", "too-late")
    late, too_late = await books.redis.take("a", 2)
    await books.keep()
    await books.lose()
    await books.redis.register("a", "b")
    assert await books.redis.settle("a", late, Settle.COMPLETED, result=b'"out"') == "OK"
    await books.redis.take("b")
    assert await books.redis.settle("a", too_late, Settle.COMPLETED, result=b'"out"') == "LOST"
    assert await books.state("late") == "completed"


async def test_a_turn_that_was_ingested_is_never_run_again(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t")
    await settle(books, "t", Settle.COMPLETED)
    await books.keep()
    await books.lose()
    assert await books.submit("t") == [Accepted.DUPLICATE]
    assert await books.message("t", "m2") is Accepted.TERMINAL
    assert await books.redis.entries() == []


async def test_what_was_given_but_not_ingested_is_given_again(books: Ledger) -> None:
    await books.keep()
    await books.submit("t1", "t2")
    await books.redis.register("a")
    await settle(books, "t1", Settle.COMPLETED)  # nobody has read that
    await books.lose()
    await books.redis.register("b")
    assert [each.task_id for each in await books.redis.take("b")] == ["t1", "t2"]


async def test_attempts_crashes_and_limits_are_remembered(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("t", max_attempts=5)
    await settle(books, "t", Settle.RETRY, delay_ms=0)
    await books.redis.clock.advance(1)
    await books.redis.take("a")
    await books.redis.crash("a")
    await books.keep()
    before = await books.redis.task("t")
    await books.lose()
    after = await books.redis.task("t")
    assert (after.attempts, after.crashes, after.deliveries) == (before.attempts, before.crashes, before.deliveries)
    assert (after.attempts, after.crashes, after.max_attempts) == (1, 1, 5)
    assert [line.split(" ")[1] for line in after.trail][-1] == "restored"


async def test_a_suspect_comes_back_as_one(books: Ledger) -> None:
    """Of three, one waits beside its lane, one is delayed, one runs in quarantine."""
    names = ["runs", "waits", "later"]
    await books.keep()
    for task_id in names:
        await books.submit(task_id)
        for worker in (f"{task_id}-x", f"{task_id}-y"):
            await books.redis.register(worker)
            assert [each.task_id for each in await books.redis.take(worker, 1)] == [task_id]
            await books.redis.crash(worker)
        if task_id == "waits":
            await books.redis.clock.advance(5_000)
            await books.store.promote(10)
    await books.redis.register("q", kind=WorkerKind.QUARANTINE)
    assert [each.task_id for each in await books.redis.take("q")] == ["runs"]
    await books.keep()
    await books.lose()
    assert [await books.state(name) for name in names] == ["submitted", "submitted", "delayed"]
    assert await books.redis.entries() == []
    await books.redis.clock.advance(5_000)
    await books.store.promote(10)
    await books.redis.register("pool")
    await books.redis.register("q2", kind=WorkerKind.QUARANTINE)
    assert await books.redis.take("pool") == []
    [first] = await books.redis.take("q2")
    assert (first.solo, first.crashes) == (True, 2)
    assert await books.store.suspects([books.queue]) == Startable(2, 0)
    await books.redis.check()


async def test_a_child_is_told_of_a_parent_that_ended_before_the_loss(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("parent")
    await books.store.submit_with_options([submission("child", books.queue, options=SubmitOptions(after=("parent",)))])
    await settle(books, "parent", Settle.COMPLETED)  # its child is told by the steward, later
    await books.keep()
    await books.lose()
    await books.store.promote(10)
    assert await books.state("child") == "submitted"
    await books.redis.check()


async def test_a_task_may_wait_for_one_that_only_the_ledger_remembers(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit("parent")
    await settle(books, "parent", Settle.COMPLETED)
    await books.keep()
    await books.lose()
    [receipt] = await books.store.submit_with_options(
        [submission("c", books.queue, options=SubmitOptions(after=("parent",)))]
    )
    assert receipt.accepted is Accepted.NEW
    assert await books.state("c") == "submitted"


async def test_another_task_of_the_same_id_takes_over_what_had_not_run(books: Ledger) -> None:
    """A foreign producer pushes before the ledger has put the task back."""
    await books.keep()
    await books.submit("t")
    await books.keep()
    await books.flush()
    await books.redis.clock.advance(5)
    await books.redis.register("a")
    await books.redis.push(run("t", "other", text="anew"))
    [foreign] = await books.redis.take("a", 1)
    await books.keep()
    assert await books.redis.settle("a", foreign, Settle.COMPLETED, result=b'"1"') == "OK"
    [own] = await books.redis.take("a", 1)
    assert b'"m-t"' in own.operation
    await books.redis.check()


async def test_a_redis_that_is_lost_while_it_is_rebuilt_is_rebuilt_again(
    books: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "TASKS", 10)
    await books.keep()
    names = [f"t{n:02}" for n in range(45)]
    await books.submit(*names)
    await books.keep()
    await books.flush()
    for _ in range(4):  # the loss is noticed, lanes and two pages are back
        await books.store.keep()
    await books.flush()
    await books.keep()
    await books.redis.register("a")
    assert [each.task_id for each in await books.redis.take("a", 50)] == names
    await books.redis.check()


async def test_while_it_is_rebuilt_nobody_gives_it_anything_and_nothing_is_lost(books: Ledger) -> None:
    await books.keep()
    await books.submit("before")
    await books.keep()
    await books.flush()
    assert await books.submit("meanwhile") == [Accepted.NEW]
    assert await books.redis.entries() == []
    record = await books.store.get("meanwhile")
    assert record is not None
    assert record.state is State.SUBMITTED
    await books.wait_given()
    await books.redis.register("a")
    assert [each.task_id for each in await books.redis.take("a")] == ["before", "meanwhile"]


async def test_a_redis_set_back_to_an_earlier_moment_is_corrected(books: Ledger) -> None:
    """Its log was not synced, or a lagging replica took over: it has forgotten what the ledger knows."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("done", "new-turn", "same")
    await books.redis.take("a", 1)
    kept = await books.picture()
    done = await books.redis.pull("a", 0, request=1)
    assert await books.redis.settle("a", done.deliveries[0], Settle.COMPLETED, result=b'"first"') == "OK"
    await settle(books, "new-turn", Settle.INPUT_REQUIRED)
    await books.redis.message("new-turn", "m2")
    await books.submit("lost")
    await books.keep()
    await books.set_back(kept)
    await books.redis.register("b")
    await books.keep()
    assert (await books.store.ledger()).losses == 1
    assert await books.state("done") == "completed"
    assert (await books.redis.task("new-turn")).turn == 2
    await books.redis.check()
    taken = [*await books.redis.take("b"), *await books.redis.take("b")]
    assert {each.task_id for each in taken} == {"new-turn", "same", "lost"}
    late = await books.redis.settle("a", done.deliveries[0], Settle.COMPLETED, result=b'"second"')
    assert late in {"ALREADY", "LOST"}
    await books.keep()
    rows = await books.rows("SELECT result FROM holdfast_turns WHERE queue = $1 AND task_id = 'done'", books.queue)
    assert [row["result"] for row in rows] == [b'"first"']


async def test_a_message_that_was_accepted_comes_back_where_as_many_wait_as_may(books: Ledger) -> None:
    await books.keep()
    await books.redis.store.limit_messages(1)
    await books.redis.register("a")
    await books.submit("t")
    [first] = await books.redis.take("a", 1)
    await books.message("t", "m2")
    await books.keep()
    kept = await books.picture()
    await books.message("t", "m3")
    await books.keep()
    await books.set_back(kept)
    await books.keep()
    assert await books.redis.settle("a", first, Settle.COMPLETED, result=b'"1"') == "OK"
    for message in (b'"m2"', b'"m3"'):
        await books.redis.register(message.decode())
        [turn] = await books.redis.take(message.decode(), 1)
        assert message in turn.operation
        assert await books.redis.settle(message.decode(), turn, Settle.COMPLETED, result=b'"2"') == "OK"
    assert await books.state("t") == "completed"


async def test_a_task_that_waits_for_its_handler_comes_back(books: Ledger) -> None:
    """It waits in its lane again, and goes to its gate from there."""
    await books.keep()
    known = ServedWork((ServedLane(books.queue),), frozenset({"known"}))
    await books.redis.store.register(replace(introduction("a"), service=known))
    await books.submit("x", name="new")
    assert await books.redis.take("a") == []
    await books.keep()
    await books.lose()
    assert await books.state("x") == "submitted"
    await books.redis.check()
    await books.redis.store.register(replace(introduction("b"), service=known))
    assert await books.redis.take("b") == []
    assert (await books.redis.check())[books.redis.key("task:x")]["content"]["held"] == "unknown:new"
    await books.redis.register("c")
    assert [delivery.task_id for delivery in await books.redis.take("c")] == ["x"]


async def test_a_task_that_was_delivered_again_since_is_not_set_back(books: Ledger) -> None:
    """Of two moments of one turn the one with more deliveries is the later: its claim must go on counting."""
    await books.keep()
    await books.redis.register("a")
    await books.redis.register("b")
    await books.submit("t")
    await books.redis.take("a", 1)
    earlier = (await books.store.redis_ledger.dump(["t"])).tasks
    await books.redis.store.recover("a", "signal", True)
    [second] = await books.redis.take("b", 1)
    await books.store.redis_ledger.begin_rebuild("e")
    assert await books.store.redis_ledger.restore("e", earlier) == [("there", "")]
    await books.store.redis_ledger.end_rebuild("e")
    assert (await books.redis.task("t")).deliveries == 2
    assert await books.redis.settle("b", second, Settle.COMPLETED) == "OK"


async def test_deliveries_do_not_go_back_with_a_redis_that_was_set_back(books: Ledger) -> None:
    """A claim's number is never given twice: the ledger remembers the later delivery of the same turn."""
    await books.keep()
    await books.redis.register("a")
    await books.submit("t")
    await books.redis.take("a", 1)
    await books.redis.store.recover("a", "signal", True)
    kept = await books.picture()
    await books.redis.register("b")
    await books.redis.take("b", 1)
    later = (await books.store.redis_ledger.dump(["t"])).tasks
    await books.set_back(kept)
    await books.store.redis_ledger.begin_rebuild("e")
    assert await books.store.redis_ledger.restore("e", later) == [("restored", "")]
    await books.store.redis_ledger.end_rebuild("e")
    await books.redis.register("c")
    [third] = await books.redis.take("c", 1)
    assert third.delivery == 3
