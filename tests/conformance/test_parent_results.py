"""Results of parents: a child has what its parents ended with, in the order of `after`, as long as it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.acceptance import IfParentFails, SubmitOptions
from holdfast.core.delivery import Delivery, Settle
from holdfast.core.outcomes import ParentResult
from holdfast.core.task_states import State
from holdfast.errors import ParentResultError
from tests.conformance.stand import Stand
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio

RUN = IfParentFails.RUN


async def after(stand: Stand, child: str, *parents: str, policy: IfParentFails = IfParentFails.FAIL) -> None:
    options = SubmitOptions(after=parents, if_parent_fails=policy)
    await stand.store.submit_with_options([submission(child, stand.queue, options=options)])


def document(text: str) -> bytes:
    return b'{"state":"completed","parts":[{"kind":"text","text":"%s"}]}' % text.encode()


async def end(stand: Stand, task_id: str, kind: Settle = Settle.COMPLETED, **more: Any) -> Delivery:
    """Take this task, which is the next one, and settle it with its id as its value."""
    [delivery] = await stand.take("a", 1)
    assert delivery.task_id == task_id
    await stand.settle("a", delivery, kind, **{"result": document(f"of {task_id}")} | more)
    await stand.store.promote(10)
    return delivery


async def values(stand: Stand, task_id: str) -> list[tuple[str, object]]:
    found = await stand.store.results_of_parents(task_id)
    return [(parent.task_id, _value(parent)) for parent in found.values()]


def _value(parent: ParentResult) -> object:
    try:
        return parent.value
    except ParentResultError as error:
        return str(error)


async def test_a_child_has_the_results_of_its_parents_in_the_order_of_after(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("p1", "p2", "p3")
    await end(stand, "p1")
    await after(stand, "c", "p3", "p1", "p2")
    found = await stand.store.results_of_parents("c")
    assert [(parent.state, parent.has_ended) for parent in found.values()] == [
        (State.SUBMITTED, False),
        (State.COMPLETED, True),
        (State.SUBMITTED, False),
    ]
    with pytest.raises(ParentResultError, match=r"^parent p3: it has not ended: it is submitted$"):
        _ = found["p3"].value
    await end(stand, "p2")
    await end(stand, "p3")
    child = await end(stand, "c")
    assert (child.is_child, (await stand.task("c")).state) == (True, "completed")
    assert await values(stand, "c") == [("p3", "of p3"), ("p1", "of p1"), ("p2", "of p2")]
    assert await stand.store.results_of_parents("p1") == await stand.store.results_of_parents("unknown") == {}


async def test_a_task_without_parents_is_no_child(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t")
    assert not (await end(stand, "t")).is_child


async def test_a_child_has_the_error_of_a_parent_that_failed(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("fails", "canceled")
    await after(stand, "c", "fails", "canceled", policy=RUN)
    error = b'{"state":"failed","parts":[],"error":{"type":"ValueError","message":"no such page","traceback":""}}'
    await end(stand, "fails", Settle.FAILED, result=error, reason="ValueError: no such page")
    await stand.store.cancel("canceled", "not wanted")
    told = ParentResult("canceled", State.CANCELED, reason="not wanted")
    assert (await stand.store.results_of_parents("c"))["canceled"] == told  # before its child is told
    await stand.store.promote(10)
    assert (await end(stand, "c")).is_child
    fails, canceled = (await stand.store.results_of_parents("c")).values()
    assert (fails.state, fails.value, fails.reason) == (State.FAILED, None, "ValueError: no such page")
    assert fails.error is not None
    assert (fails.error.type, fails.error.message) == ("ValueError", "no such page")
    assert canceled == told
    assert (canceled.value, canceled.error) == (None, None)


@pytest.mark.parametrize("ends_first", [True, False])
async def test_the_results_stay_when_the_parents_are_deleted(stand: Stand, ends_first: bool) -> None:
    await stand.register("a")
    await stand.submit("p")
    if ends_first:
        await end(stand, "p")
        await after(stand, "c", "p")
    else:
        await after(stand, "c", "p")
        await end(stand, "p")
    await after(stand, "later", "p")
    assert await stand.store.forget_tasks(["p"]) == 1
    assert await values(stand, "c") == await values(stand, "later") == [("p", "of p")]
    await end(stand, "c")
    await stand.store.forget_tasks(["c"])
    assert await values(stand, "c") == []
    assert await values(stand, "later") == [("p", "of p")]


async def test_another_task_with_the_id_of_a_deleted_parent_is_another(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("p")
    await after(stand, "c", "p")
    await end(stand, "p")
    [c] = await stand.take("a", 1)
    await stand.store.forget_tasks(["p"])
    await stand.advance(10)
    await stand.submit("p")
    await after(stand, "d", "p")
    await end(stand, "p", result=document("another"))
    assert await values(stand, "c") == [("p", "of p")]
    assert await values(stand, "d") == [("p", "another")]
    await stand.settle("a", c, Settle.COMPLETED)
    await stand.store.forget_tasks(["p", "c"])
    assert await values(stand, "d") == [("p", "another")]


async def test_a_run_after_a_crash_and_a_retry_have_the_same_results(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("p")
    await after(stand, "c", "p")
    await end(stand, "p")
    [first] = await stand.take("a", 1)
    await stand.crash("a")
    [second] = await stand.take("b", 1)
    assert first.is_child
    assert second.is_child
    await stand.settle("b", second, Settle.FAILED)
    await stand.store.forget_tasks(["p"])
    again = (await stand.store.retry("c", "asked")).task_id
    await stand.store.forget_tasks(["c"])
    [retry] = await stand.take("b", 1)
    assert (retry.task_id, retry.is_child) == (again, True)
    assert await values(stand, again) == [("p", "of p")]


async def test_a_retry_of_a_child_that_a_parent_failed_has_what_the_others_have_ended_with_by_then(
    stand: Stand,
) -> None:
    await stand.register("a")
    await stand.submit("fails", "ends", "runs")
    await after(stand, "c", "ends", "fails", "runs")
    await end(stand, "fails", Settle.FAILED)
    assert await stand.state("c") == "failed"
    await end(stand, "ends")
    again = (await stand.store.retry("c", "asked")).task_id
    found = list((await stand.store.results_of_parents(again)).values())
    assert [(one.task_id, one.state, one.has_ended) for one in found] == [
        ("ends", State.COMPLETED, True),
        ("fails", State.FAILED, True),
        ("runs", State.SUBMITTED, False),
    ]
    await stand.store.forget_tasks(["ends"])
    assert dict(await values(stand, again))["ends"] == "of ends"


async def test_results_are_read_in_pages_and_within_a_bound(stand: Stand) -> None:
    await stand.register("a")
    parents = [f"p{n}" for n in range(5)]
    await stand.submit(*parents)
    await after(stand, "c", *parents)
    for parent in parents:
        await end(stand, parent, result=document(parent + "x" * (600 << 10)))
    page, following = await stand.store.parents("c")
    assert ([one.task_id for one in page], following) == (["p0"], 2)
    assert [len(str(value)) for _, value in await values(stand, "c")] == [(600 << 10) + 2] * 5
    found = list((await stand.store.results_of_parents("c", 1 << 20)).values())
    assert [one.document is not None for one in found] == [True, True, False, False, False]
    with pytest.raises(ParentResultError, match=f"^parent p2: its result of {found[2].size} bytes was not read"):
        _ = found[2].value
