"""Retry: what ended badly runs again as a task of its own, once; what waits for its time runs now."""

from __future__ import annotations

import pytest

from holdfast.core.acceptance import Accepted, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.core.tasks import Retried, RetryAnswer
from holdfast.core.worker_records import WorkerKind
from tests.lua.namespace import Namespace
from tests.lua.operations import run, submission
from tests.lua.test_control import into

pytestmark = pytest.mark.anyio

ENDINGS = [Settle.FAILED, Settle.REJECTED, Settle.EXHAUSTED]


async def ended(space: Namespace, kind: Settle = Settle.EXHAUSTED, task_id: str = "t1") -> None:
    """A task of this id, with a name and limits, that has ended so."""
    await space.register("a")
    more = {"name": "bill", "max_attempts": 5, "timeout_ms": 900}
    await space.store.submit([submission(task_id, "slow", **more)])  # type: ignore[arg-type]  # of the submission's fields
    [delivery] = (await space.pull("a", lanes=["slow"])).deliveries
    await space.settle("a", delivery, kind, reason="bad")


@pytest.mark.parametrize("kind", ENDINGS)
async def test_what_ended_badly_runs_again_as_another_task(space: Namespace, kind: Settle) -> None:
    await ended(space, kind)
    before = await space.task("t1")
    assert await space.store.retry("t1", "once more") == RetryAnswer(Retried.NEW, "t1.r1")
    [delivery] = (await space.pull("a", lanes=["slow"])).deliveries
    assert (delivery.task_id, delivery.attempts, delivery.operation) == ("t1.r1", 0, before.operation)
    assert (delivery.max_attempts, delivery.timeout_ms, delivery.lane) == (5, 900, "slow")
    new, old = await space.task("t1.r1"), await space.task("t1")
    assert (new.name, new.origin, new.retry_of) == ("bill", "retry", "t1")
    assert (old.state, old.reason, old.finished_ms, old.result) == (
        before.state,
        "bad",
        before.finished_ms,
        before.result,
    )
    assert (old.retried_as, old.dead, (await space.store.counts()).dead) == ("t1.r1", False, 0)
    assert [line.split(" ", 1)[1] for line in (old.trail[-1], new.trail[0])] == [
        "retried t1.r1 once more",
        "retry-of t1",
    ]
    await space.check()


async def test_whoever_wants_to_be_told_of_a_task_is_told_of_its_retry(space: Namespace) -> None:
    await space.register("a")
    await space.store.submit_with_options(
        [submission("t1", space.queue, options=SubmitOptions(webhook="https://example.org/told"))]
    )
    await space.settle("a", (await space.take("a"))[0], Settle.FAILED)
    await space.store.retry("t1", "once more")
    await space.settle("a", (await space.take("a"))[0], Settle.COMPLETED)
    told = {name.split(b"|")[0] for name in await space.do("ZRANGE", space.key("webhooks"), 0, -1)}
    assert told == {b"t1", b"t1.r1"}
    await space.check()


async def test_a_retry_made_twice_makes_one(space: Namespace) -> None:
    await ended(space)
    answers = [await space.store.retry("t1", "x") for _ in range(3)]
    assert [answer.word for answer in answers] == [Retried.NEW, Retried.AGAIN, Retried.AGAIN]
    assert {answer.task_id for answer in answers} == {"t1.r1"}
    assert (await space.store.counts()).states[State.SUBMITTED] == 1
    await space.check()


async def test_runs_of_one_task_count_up(space: Namespace) -> None:
    await ended(space)
    for number in (1, 2, 3):
        last = "t1" if number == 1 else f"t1.r{number - 1}"
        assert await space.store.retry(last, "x") == RetryAnswer(Retried.NEW, f"t1.r{number}")
        await space.store.cancel(f"t1.r{number}", "x")
    assert (await space.task("t1.r3")).retry_of == "t1.r2"
    await space.check()


async def test_an_id_that_somebody_else_has_is_passed_over(space: Namespace) -> None:
    await ended(space)
    await space.submit("t1.r1")
    assert await space.store.retry("t1", "x") == RetryAnswer(Retried.NEW, "t1.r2")
    assert (await space.task("t1.r1")).retry_of == ""
    await space.check()


async def test_an_id_that_would_be_too_long_is_refused(space: Namespace) -> None:
    name = "t" * 126
    await ended(space, task_id=name)
    assert await space.store.retry(name, "x") == RetryAnswer("long", name)
    assert (await space.store.counts()).dead == 1
    await space.check()


async def test_what_was_said_in_earlier_turns_belongs_to_the_retry(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [first] = await space.take("a")
    await space.settle("a", first, Settle.INPUT_REQUIRED, result=b'"which?"')
    await space.message("t1", "m2")
    [second] = await space.take("a")
    await space.settle("a", second, Settle.FAILED)
    await space.store.retry("t1", "x")
    [again] = await space.take("a")
    assert (again.turn, again.history, again.operation) == (2, second.history, second.operation)
    assert await space.settle("a", again, Settle.COMPLETED, result=b'"done"') == "OK"
    await space.check()
    assert await space.store.trim(0, 10) == 2
    await space.check()


async def test_a_canceled_task_that_came_by_push_is_retried(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1", "m1"))
    [delivery] = await space.take("a")
    await space.store.cancel("f1", "enough")
    assert (await space.store.retry("f1", "x")).word == Retried.NEW
    [again] = await space.take("a")
    assert (again.task_id, again.operation) == ("f1.r1", delivery.operation)
    assert await space.settle("a", delivery, Settle.COMPLETED) == "LOST"
    await space.check()


async def test_the_retry_takes_messages_of_its_own(space: Namespace) -> None:
    await ended(space)
    await space.store.retry("t1", "x")
    message = (await space.task("t1.r1")).message_id
    assert await space.message("t1.r1", message, "hello") is Accepted.CONFLICT
    assert await space.message("t1.r1", "m2") is Accepted.PENDING
    await space.check()


async def test_what_waits_for_its_time_is_due_now_and_its_attempts_stay(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.RETRY, delay_ms=90_000)
    assert await space.store.retry("t1", "now") == RetryAnswer(Retried.DUE, "t1")
    assert await space.store.promote(10) == (0, None)
    [again] = await space.take("a")
    assert (again.task_id, again.attempts) == ("t1", 1)
    await space.check()


async def test_a_suspect_that_is_due_now_still_runs_alone(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    for worker in ("a", "b"):
        await space.take(worker)
        await space.crash(worker)
    assert (await space.store.retry("t1", "now")).word == Retried.DUE
    await space.register("c", kind=WorkerKind.QUARANTINE)
    assert [delivery.solo for delivery in await space.take("c")] == [True]
    await space.check()


@pytest.mark.parametrize("state", ["submitted", "working", "input-required", "auth-required", "suspended", "completed"])
async def test_what_has_not_ended_badly_is_left_alone(space: Namespace, state: str) -> None:
    await into(space, state)
    before = await space.task("t1")
    assert await space.store.retry("t1", "x") == RetryAnswer(state, "t1")
    assert await space.task("t1") == before
    await space.check()


async def test_nobody_is_unknown(space: Namespace) -> None:
    assert await space.store.retry("t1", "x") == RetryAnswer("unknown", "t1")
    await space.check()


async def test_what_a_change_made_run_is_not_made_to_run_by_it_again(space: Namespace) -> None:
    await ended(space)
    assert await space.store.retry("t1", "x", "change") == RetryAnswer(Retried.NEW, "t1.r1")
    await space.store.cancel("t1.r1", "x")
    assert await space.store.retry("t1.r1", "x", "change") == RetryAnswer(Retried.AGAIN, "t1.r1")
    assert await space.store.retry("t1.r1", "x", "another") == RetryAnswer(Retried.NEW, "t1.r2")
    await space.store.cancel("t1.r2", "x")
    await space.submit("t2", delay_ms=90_000)
    for change, word in (("change", Retried.DUE), ("change", Retried.AGAIN), ("another", Retried.DUE)):
        assert (await space.store.retry("t2", "now", change)).word == word
        for delivery in await space.take("a"):
            await space.settle("a", delivery, Settle.RETRY, delay_ms=90_000)
    await space.check()
