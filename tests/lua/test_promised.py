"""Accepted work never vanishes: a task that cannot be made is recorded as rejected, and a message that is refused is
set aside."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast.core.acceptance import Accepted, IfParentFails, Receipt, Submission, SubmitOptions
from holdfast.core.batches import BatchCounts, BatchState
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.errors import StoreError
from holdfast.store.redis.ledger import RedisLedger
from tests.lua.namespace import Namespace
from tests.lua.operations import submission
from tests.lua.test_batches import THEN, counts, placed, state

pytestmark = pytest.mark.anyio

EPOCH = "e"


@pytest.fixture
async def space(space: Namespace) -> AsyncIterator[Namespace]:
    """All invariants hold at the end."""
    yield space
    await space.check()


async def give(space: Namespace, *submissions: Submission, promised: bool = True, verb: str = "run") -> list[Receipt]:
    """As a ledger gives them."""
    await space.do("HSET", space.key("meta"), "ledger", EPOCH)
    ledger = RedisLedger(space.store.connection)
    receipts = await ledger.give(EPOCH, [(one, promised) for one in submissions], verb)
    assert receipts is not None
    return receipts


def unique(space: Namespace, task_id: str, *after: str, policy: IfParentFails = IfParentFails.FAIL) -> Submission:
    options = SubmitOptions(after=after, if_parent_fails=policy, unique="k", webhook="http://a.example/")
    return submission(task_id, space.queue, options=options)


def child(space: Namespace, task_id: str, *after: str, policy: IfParentFails = IfParentFails.FAIL) -> Submission:
    return submission(task_id, space.queue, options=SubmitOptions(after=after, if_parent_fails=policy))


def rejected(task_id: str) -> Receipt:
    return Receipt(Accepted.REJECTED, task_id)


async def test_a_second_task_with_the_unique_key_is_rejected_and_names_the_first(space: Namespace) -> None:
    assert await give(space, unique(space, "a"), unique(space, "b")) == [Receipt(Accepted.NEW, "a"), rejected("b")]
    task = await space.task("b")
    assert (task.state, task.refused, task.duplicate_of) == (State.REJECTED, "duplicate", "a")
    assert task.reason == "its unique key is held by task a"
    assert task.error is not None
    assert (task.error.type, task.error.message) == ("TaskRefused", task.reason)
    assert (await space.task("a")).state is State.SUBMITTED
    assert [word.partition(" ")[2] for word in task.trail] == [f"refused {task.reason}"]


async def test_one_whose_producer_waits_for_the_answer_is_refused_and_nothing_is_written(space: Namespace) -> None:
    assert await give(space, unique(space, "a")) == [Receipt(Accepted.NEW, "a")]
    assert await give(space, unique(space, "b"), promised=False) == [Receipt(Accepted.DUPLICATE, "a")]
    assert await space.store.get("b") is None


async def test_given_once_more_it_is_the_same(space: Namespace) -> None:
    """Its ledger has not heard the answer. The first task has ended meanwhile: what was rejected stays so."""
    await give(space, unique(space, "a"), unique(space, "b"))
    await space.store.cancel("a", "asked")
    assert await give(space, unique(space, "b")) == [Receipt(Accepted.DUPLICATE, "b")]
    assert await space.state("b") == State.REJECTED


async def test_a_task_behind_an_unknown_one_is_rejected_and_so_are_those_behind_it(space: Namespace) -> None:
    wanted = [child(space, "c", "nobody"), child(space, "d", "c"), child(space, "e", "c", policy=IfParentFails.RUN)]
    assert await give(space, *wanted) == [rejected("c"), Receipt(Accepted.NEW, "d"), Receipt(Accepted.NEW, "e")]
    task = await space.task("c")
    assert (task.state, task.refused) == (State.REJECTED, "no-parent")
    assert task.reason == "task nobody, after which it is to run, is not known"
    assert (await space.task("d")).reason == "parent c was rejected"
    assert await space.state("e") == State.SUBMITTED


async def test_its_webhook_is_told(space: Namespace) -> None:
    await give(space, unique(space, "a"), unique(space, "b"))
    notices, _ = await space.store.take_notices(10, 1000)
    assert [(notice.task_id, notice.state) for notice in notices] == [("b", "rejected")]  # type: ignore[union-attr]


async def test_a_batch_counts_it_and_its_end_comes(space: Namespace) -> None:
    wanted = [placed(space, THEN), placed(space, 1), placed(space, 2, after=("nobody",))]
    assert [receipt.accepted for receipt in await give(space, *wanted)] == [
        Accepted.NEW,
        Accepted.NEW,
        Accepted.REJECTED,
    ]
    assert await counts(space) == BatchCounts(total=2, open=1, rejected=1)
    await space.register("w")
    [delivery] = await space.take("w")
    await space.settle("w", delivery, Settle.COMPLETED)
    assert await state(space) is BatchState.ENDED
    assert await space.state("then") == State.SUBMITTED


async def test_a_task_of_a_closed_batch_is_rejected_and_counted(space: Namespace) -> None:
    await give(space, placed(space, THEN), placed(space, 1))
    await space.store.seal_batch("b")
    assert await give(space, placed(space, 2)) == [rejected("t2")]
    task = await space.task("t2")
    assert (task.state, task.refused, task.batch) == (State.REJECTED, "batch-closed", "b")
    assert task.reason == "batch b was sealed or canceled by an operator before this task came"
    assert await counts(space) == BatchCounts(total=2, open=1, rejected=1)


async def test_a_task_of_another_batch_under_the_same_id_is_rejected_and_not_counted(space: Namespace) -> None:
    await give(space, placed(space, THEN), placed(space, 1))
    assert await give(space, placed(space, 2, digest="d2")) == [rejected("t2")]
    task = await space.task("t2")
    assert (task.state, task.refused, task.batch) == (State.REJECTED, "other-batch", "")
    assert task.reason == "batch b was submitted before with other tasks"
    assert await counts(space) == BatchCounts(total=1, open=1)


async def test_a_task_for_a_lane_that_is_no_list_is_rejected(space: Namespace) -> None:
    await space.do("SET", "a:lane", "x")
    one = submission("t", "a:lane")
    assert await give(space, one, promised=False) == [Receipt(Accepted.NO_LIST, "t")]
    assert await give(space, one) == [rejected("t")]
    task = await space.task("t")
    assert (task.state, task.refused) == (State.REJECTED, "no-list")
    assert task.reason == "the key of lane a:lane holds something else than a list"
    await space.do("DEL", "a:lane")


async def test_its_retry_runs_with_the_results_of_its_parents(space: Namespace) -> None:
    await give(space, submission("p", space.queue), unique(space, "a"), unique(space, "b", "p"))
    await space.register("w")
    for delivery in await space.take("w"):
        await space.settle("w", delivery, Settle.COMPLETED, result=b'{"state":"completed","parts":[]}')
    answer = await space.store.retry("b", "asked")
    assert (answer.word, answer.task_id) == ("new", "b.r1")
    again = await space.task("b.r1")
    assert (again.state, again.refused, again.duplicate_of) == (State.SUBMITTED, "", "")
    assert {name: parent.state for name, parent in (await space.store.results_of_parents("b.r1")).items()} == {
        "p": State.COMPLETED
    }


async def test_one_that_was_canceled_before_it_came_is_canceled(space: Namespace) -> None:
    await give(space, unique(space, "a"))
    await space.push(b'{"operation": "cancel", "params": {"task_id": "b"}}')
    await space.register("w")
    await space.take("w")
    await give(space, unique(space, "b"))
    assert await space.state("b") == State.CANCELED


@pytest.mark.parametrize("verb", ["run", "message"])
async def test_a_promised_message_for_a_task_that_has_ended_is_set_aside(space: Namespace, verb: str) -> None:
    await give(space, submission("t", space.queue))
    await space.store.cancel("t", "asked")
    late = submission("t", space.queue, "m2")
    assert await give(space, late, promised=False, verb=verb) == [Receipt(Accepted.TERMINAL, "t")]
    assert await space.reasons() == []
    assert await give(space, late, verb=verb) == [Receipt(Accepted.TERMINAL, "t")]
    assert await space.reasons() == ["task t is canceled"]


async def test_a_promised_message_for_a_task_that_never_was_is_set_aside(space: Namespace) -> None:
    assert await give(space, submission("t", space.queue), verb="message") == [Receipt(Accepted.UNKNOWN, "t")]
    assert await space.reasons() == ["resume of an unknown task"]


async def test_the_message_that_a_task_has_is_not_set_aside(space: Namespace) -> None:
    """Its batch is submitted under another digest, with the same task."""
    await give(space, placed(space, 1))
    assert await give(space, placed(space, 1, digest="d2")) == [Receipt(Accepted.OTHER_BATCH, "t1")]
    assert await space.reasons() == []


async def test_a_promised_task_whose_id_is_taken_outside_of_its_batch_is_set_aside(space: Namespace) -> None:
    await give(space, submission("t1", space.queue, "m0"), placed(space, 1))
    assert await space.reasons() == ["task t1 exists already outside of this batch"]


@pytest.mark.parametrize(("key", "state"), [("pending", "submitted"), ("history", "input-required")])
async def test_a_message_at_which_redis_fails_is_taken_when_it_comes_again(
    space: Namespace, key: str, state: str
) -> None:
    """Somebody has damaged a key of its task. It is not noted as one that the task has."""
    await space.register("a")
    await space.submit("t")
    if state == "input-required":
        [delivery] = await space.take("a")
        await space.settle("a", delivery, Settle.INPUT_REQUIRED)
    await space.do("SET", space.key(f"{key}:t"), "no list")
    message = submission("t", space.queue, "m2")
    with pytest.raises(StoreError):
        await give(space, message, verb="message")
    await space.do("DEL", space.key(f"{key}:t"))
    assert await space.state("t") == state
    [receipt] = await give(space, message, verb="message")
    assert receipt.accepted == (Accepted.PENDING if state == "submitted" else Accepted.TURN)
