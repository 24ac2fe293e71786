"""Submitting: what is accepted is there once, in order, with what it was given."""

from __future__ import annotations

import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Settle
from holdfast_config.lanes import list_name
from tests.conformance.stand import Stand
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio


async def test_a_task_is_there_once_however_often_it_is_submitted(stand: Stand) -> None:
    assert await stand.submit("t1", "t2", "t1") == [Accepted.NEW, Accepted.NEW, Accepted.DUPLICATE]
    await stand.register("a")
    assert [delivery.task_id for delivery in await stand.take("a")] == ["t1", "t2"]
    assert await stand.submit("t1") == [Accepted.DUPLICATE]
    assert not await stand.take("a")


async def test_nothing_submitted_is_nothing_accepted(stand: Stand) -> None:
    assert await stand.store.submit([]) == []


async def test_a_delivery_carries_what_was_submitted(stand: Stand) -> None:
    sent = submission("t1", stand.queue, text="häi \x00 €", max_attempts=7, timeout_ms=1500)
    await stand.store.submit([sent])
    await stand.register("a")
    [delivery] = await stand.take("a")
    assert (delivery.task_id, delivery.lane, delivery.turn, delivery.delivery) == ("t1", stand.queue, 1, 1)
    assert (delivery.max_attempts, delivery.timeout_ms, delivery.attempts, delivery.crashes) == (7, 1500, 0, 0)
    assert (delivery.operation, delivery.history, delivery.checkpoint) == (sent.operation, (), None)


async def test_a_record_tells_what_was_submitted(stand: Stand) -> None:
    await stand.submit("t1", name="billing", max_attempts=5)
    task = await stand.task("t1")
    assert (task.task_id, task.state, task.lane, task.turn) == ("t1", "submitted", stand.queue, 1)
    assert (task.name, task.max_attempts, task.origin, task.message_id) == ("billing", 5, "own", "m-t1")
    assert (task.deliveries, task.attempts, task.crashes, task.releases, task.pending) == (0, 0, 0, 0, 0)
    assert (task.owner, task.claim, task.result, task.dead) == ("", "", None, False)
    assert (await stand.store.get("t1", payloads=False)).operation is None  # type: ignore[union-attr]  # it is there
    assert await stand.store.get("nobody") is None


async def test_the_same_message_id_with_other_content_is_a_conflict(stand: Stand) -> None:
    await stand.submit("t1")
    assert await stand.message("t1", "m-t1", "other") is Accepted.CONFLICT
    await stand.register("a")
    [delivery] = await stand.take("a")
    assert b"hello" in delivery.operation


@pytest.mark.parametrize("kind", [Settle.COMPLETED, Settle.FAILED, Settle.REJECTED])
async def test_what_has_ended_takes_no_more_messages(stand: Stand, kind: Settle) -> None:
    await stand.submit("t1")
    await stand.register("a")
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, kind)
    assert await stand.message("t1", "m2") is Accepted.TERMINAL
    assert await stand.submit("t1") == [Accepted.DUPLICATE]
    assert await stand.state("t1") == ("completed" if kind is Settle.COMPLETED else kind)


async def test_lanes_are_apart(stand: Stand) -> None:
    await stand.store.submit([submission("t1", "slow"), submission("t2", stand.queue)])
    await stand.register("a", "b")
    assert [delivery.task_id for delivery in (await stand.pull("a", lanes=["slow"])).deliveries] == ["t1"]
    assert [delivery.task_id for delivery in (await stand.pull("b")).deliveries] == ["t2"]


@pytest.mark.parametrize("lane", ["büro", "{queue}:lane:high", "%d|a;b=\"'*?[x]", "x" * 128])
async def test_a_lane_that_workers_may_serve_can_be_submitted_to(stand: Stand, lane: str) -> None:
    lane = list_name(lane.replace("{queue}", f"{{{stand.queue}}}"))
    manager = TaskManager(stand.store, queue=stand.queue)
    task_id = await manager.run_task("hello", lane=lane)
    assert await manager.queue_length(lane) == 1
    await stand.register("a")
    [delivery] = (await stand.pull("a", lanes=[lane])).deliveries
    assert delivery.task_id == task_id
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert [task.task_id for task in (await manager.list_tasks(lane=lane)).tasks] == [task_id]


async def test_lanes_are_taken_from_in_the_order_asked_for(stand: Stand) -> None:
    await stand.store.submit([submission("t1", stand.queue), submission("t2", "urgent")])
    await stand.register("a")
    pulled = await stand.pull("a", lanes=["urgent", stand.queue])
    assert [delivery.task_id for delivery in pulled.deliveries] == ["t2", "t1"]
