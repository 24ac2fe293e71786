"""A task that was set aside is whole again and readmitted: it goes on as if what has ended meanwhile ended now."""

from __future__ import annotations

import pytest

from holdfast.core.acceptance import BatchPlace, IfParentFails, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.core.worker_records import WorkerKind
from tests.lua.gates import held_at
from tests.lua.namespace import Namespace
from tests.lua.operations import submission
from tests.lua.test_suspects import suspect

pytestmark = pytest.mark.anyio


async def tied(space: Namespace, task_id: str, options: SubmitOptions) -> None:
    await space.store.submit_with_options([submission(task_id, space.queue, options=options)])


async def damage(space: Namespace, task_id: str) -> None:
    await space.do("HSET", space.key(f"task:{task_id}"), "timeout", "x")


async def mend(space: Namespace, task_id: str) -> None:
    """Somebody mends the record, and readmits the task."""
    await space.do("HDEL", space.key(f"task:{task_id}"), "timeout")
    for aside in await space.store.unreadable(10):
        await space.store.readmit(aside.address)
    for _ in range(3):
        await space.store.promote(100)


async def ended(space: Namespace, kind: Settle = Settle.COMPLETED) -> None:
    """Worker a runs all that waits to this end; then parents, batches and schedules are told."""
    for delivery in await space.take("a"):
        await space.settle("a", delivery, kind)
    for _ in range(3):
        await space.store.promote(100)


async def runs(space: Namespace, worker: str = "a") -> list[str]:
    return [delivery.task_id for delivery in await space.take(worker)]


@pytest.mark.parametrize(
    ("policy", "kind"), [(IfParentFails.FAIL, Settle.COMPLETED), (IfParentFails.RUN, Settle.FAILED)]
)
async def test_a_child_that_is_whole_again_begins(space: Namespace, policy: IfParentFails, kind: Settle) -> None:
    await space.register("a")
    await space.submit("parent")
    await tied(space, "child", SubmitOptions(after=("parent",), if_parent_fails=policy))
    await damage(space, "child")
    await ended(space, kind)
    assert await space.state("child") == "waiting"
    await mend(space, "child")
    assert await runs(space) == ["child"]


async def test_a_child_that_is_whole_again_fails_as_its_parent(space: Namespace) -> None:
    await space.register("a")
    await space.submit("parent")
    await tied(space, "child", SubmitOptions(after=("parent",)))
    await damage(space, "child")
    await ended(space, Settle.FAILED)
    await mend(space, "child")
    assert ((await space.task("child")).state, (await space.task("child")).reason) == ("failed", "parent parent failed")


async def test_a_child_that_is_whole_again_knows_of_a_parent_that_is_gone(space: Namespace) -> None:
    """The parent was trimmed meanwhile: it had completed all the same, and its result is kept for the child."""
    await space.register("a")
    await space.submit("parent")
    await tied(space, "child", SubmitOptions(after=("parent",)))
    await damage(space, "child")
    await ended(space)
    await space.advance(1000)
    await space.store.trim(10, 100)
    assert not await space.do("EXISTS", space.key("task:parent"))
    await mend(space, "child")
    assert await runs(space) == ["child"]
    [parent] = (await space.store.results_of_parents("child")).values()
    assert parent.state is State.COMPLETED


async def test_a_callback_that_is_whole_again_begins(space: Namespace) -> None:
    await space.register("a")
    await tied(space, "then", SubmitOptions(batch=BatchPlace("b", 0, 1, "d1")))
    await tied(space, "t1", SubmitOptions(batch=BatchPlace("b", 1, 1, "d1")))
    await damage(space, "then")
    await ended(space)
    assert await space.state("then") == "waiting"
    await mend(space, "then")
    assert await runs(space) == ["then"]


async def test_a_child_that_was_paused_goes_on_when_it_is_whole_again(space: Namespace) -> None:
    await space.register("a")
    await space.submit("parent")
    await tied(space, "child", SubmitOptions(after=("parent",)))
    await space.store.pause("child", "wait")
    await damage(space, "child")
    await ended(space)
    await mend(space, "child")
    await space.store.resume("child", "go on")
    assert await runs(space) == ["child"]


async def test_messages_of_a_task_that_is_whole_again_join(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    item = "|".join(("m{}", "o{}", '{{"operation":"run","n":{}}}'))
    await space.do("RPUSH", space.key("pending:t1"), *[item.format(n, n, n) for n in range(230)])
    await space.store.pause("t1", "wait")
    await space.message("t1", "last")
    await damage(space, "t1")
    await space.store.promote(100)
    assert await space.state("t1") == "suspended"
    await mend(space, "t1")
    assert await runs(space) == ["t1"]


async def test_a_task_at_a_gate_that_is_whole_again_runs(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", concurrency_key="k")
    [first] = await space.take("a")
    await space.do("HDEL", space.key("task:t2"), "lane")  # the audit takes it out of the index of its lane
    for _ in range(2):
        await space.store.audit(space.queue, 100, "")
    await space.settle("a", first, Settle.COMPLETED)
    await space.do("DEL", space.key(held_at(space.queue, "key:k")))
    await space.do("HSET", space.key("task:t2"), "lane", space.queue)
    await mend(space, "t2")
    assert await runs(space) == ["t2"]


async def test_a_suspect_that_is_whole_again_runs(space: Namespace) -> None:
    await space.register("q", kind=WorkerKind.QUARANTINE)
    await suspect(space)
    await damage(space, "s1")
    assert await runs(space, "q") == []
    await mend(space, "s1")
    assert await runs(space, "q") == ["s1"]


async def test_one_that_is_still_damaged_is_set_aside_again(space: Namespace) -> None:
    await space.submit("t1", delay_ms=1)
    await damage(space, "t1")
    await space.advance(1)
    await space.store.promote(100)
    [aside] = await space.store.unreadable(10)
    await space.store.readmit(aside.address)
    assert await space.reasons() == ["the record of task t1 cannot be read: timeout is no number"]
