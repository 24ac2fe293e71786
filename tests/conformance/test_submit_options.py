"""Tasks after others, with an expiry, under keys: the same from every store."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.acceptance import Accepted, IfParentFails, Receipt, SubmitOptions
from holdfast.core.delivery import Settle
from tests.conformance.stand import Stand
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio


async def submit(stand: Stand, task_id: str, options: SubmitOptions, **more: Any) -> Receipt:
    [receipt] = await stand.store.submit_with_options([submission(task_id, stand.queue, options=options, **more)])
    return receipt


async def test_a_child_begins_when_its_parents_have_completed(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("p1", "p2")
    assert await submit(stand, "c", SubmitOptions(after=("p1", "p2"))) == Receipt(Accepted.NEW, "c")
    assert (await stand.task("c")).waits_for == ("p1", "p2")
    first, second = await stand.take("a", 2)
    await stand.settle("a", first, Settle.COMPLETED)
    assert await stand.state("c") == "waiting"
    await stand.settle("a", second, Settle.COMPLETED)
    assert [delivery.task_id for delivery in await stand.take("a")] == ["c"]


async def test_a_parent_that_fails_fails_its_children_or_lets_them_run(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("p")
    await submit(stand, "fails", SubmitOptions(after=("p",)))
    await submit(stand, "runs", SubmitOptions(after=("p",), if_parent_fails=IfParentFails.RUN))
    [delivery] = await stand.take("a", 1)
    await stand.settle("a", delivery, Settle.FAILED)
    await stand.store.promote(10)
    assert [await stand.state(task_id) for task_id in ("fails", "runs")] == ["failed", "submitted"]


@pytest.mark.parametrize("unique_ms", [None, 60_000])
async def test_who_replaces_a_task_takes_its_unique_key(stand: Stand, unique_ms: int | None) -> None:
    options = SubmitOptions(debounce="k", unique="u", unique_ms=unique_ms)
    await submit(stand, "early", options, delay_ms=500)
    assert await submit(stand, "late", options, delay_ms=500) == Receipt(Accepted.NEW, "late")
    assert (await stand.task("early")).reason == "replaced by late"
    assert await submit(stand, "other", SubmitOptions(unique="u")) == Receipt(Accepted.DUPLICATE, "late")
    await stand.advance(500)
    await stand.store.promote(10)  # it is due: nobody replaces it any more
    assert await submit(stand, "last", options, delay_ms=500) == Receipt(Accepted.DUPLICATE, "late")
    assert await stand.state("late") == "submitted"


async def test_an_unknown_parent_is_named(stand: Stand) -> None:
    assert await submit(stand, "c", SubmitOptions(after=("nobody",))) == Receipt(Accepted.NO_PARENT, "nobody")
    assert await stand.store.get("c") is None


async def test_what_nobody_takes_in_time_is_canceled(stand: Stand) -> None:
    await stand.register("a")
    await submit(stand, "t", SubmitOptions(expires_in_ms=500))
    await stand.advance(500)
    assert await stand.take("a") == []
    task = await stand.task("t")
    assert (task.state, task.reason) == ("canceled", "expired")


async def test_there_is_one_task_a_key(stand: Stand) -> None:
    assert await submit(stand, "t1", SubmitOptions(unique="k")) == Receipt(Accepted.NEW, "t1")
    assert await submit(stand, "t2", SubmitOptions(unique="k")) == Receipt(Accepted.DUPLICATE, "t1")
    await submit(stand, "early", SubmitOptions(debounce="k"), delay_ms=500)
    await submit(stand, "late", SubmitOptions(debounce="k"), delay_ms=500)
    assert (await stand.task("early")).reason == "replaced by late"
    assert await stand.state("late") == "delayed"
