"""The options that a schedule has for its tasks are those of a submission: the same in every store."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.client.schedules import Schedules
from holdfast.core.acceptance import Accepted, Receipt, SubmitOptions, key_digest
from holdfast.core.delivery import Settle
from holdfast.core.webhook_notice import Notice
from tests.conformance.stand import Stand
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio

SECOND = 1000
MOST_BYTES = 1_000_000


async def fire(stand: Stand, seconds: int = 1) -> list[str]:
    """Let the time go by, make the fires that are due; the ids of all tasks that were made for `j`."""
    await stand.advance(seconds * SECOND)
    await ScheduleFirer(stand.store, stand.queue, MOST_BYTES).round()
    lines = reversed(await Schedules(stand.store, stand.queue).history("j", 100))
    return [line.task for line in lines if line.what == "fired"]


async def set_(stand: Stand, **options: Any) -> None:
    await Schedules(stand.store, stand.queue).upsert(
        "j", **{"every": "1s", "text": "go", "overlap": "allow", **options}
    )


async def skipped(stand: Stand) -> list[tuple[str, str]]:
    lines = await Schedules(stand.store, stand.queue).history("j", 100)
    return [(line.task, line.detail) for line in lines if line.what == "skipped"]


async def test_what_nobody_takes_in_time_is_canceled(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, expires="500ms", limit=1)
    [task_id] = await fire(stand)
    await stand.advance(500)
    assert await stand.take("a") == []
    task = await stand.task(task_id)
    assert (task.state, task.reason) == ("canceled", "expired")


async def test_one_that_is_taken_in_time_does_not_expire(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, expires=0.5, limit=1)
    [task_id] = await fire(stand)
    [delivery] = await stand.take("a")
    await stand.advance(SECOND)
    assert await stand.settle("a", delivery, Settle.COMPLETED) == "OK"
    assert await stand.state(task_id) == "completed"


async def test_a_fire_whose_key_is_held_is_skipped_and_names_the_holder(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, unique="sync")
    [first] = await fire(stand)
    assert await fire(stand) == [first]
    assert await skipped(stand) == [(first, "its unique key is held by this task")]
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert len(await fire(stand)) == 2


async def test_a_key_that_is_held_for_a_time_outlasts_its_task(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, unique="sync", unique_for="3s")
    [first] = await fire(stand)
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert await fire(stand) == [first]
    assert await fire(stand) == [first]
    assert len(await fire(stand)) == 2


async def submit_with_key(stand: Stand) -> Receipt:
    """Submit `t` with the unique key of the schedule."""
    options = SubmitOptions(unique=key_digest("sync"))
    [receipt] = await stand.store.submit_with_options([submission("t", stand.queue, options=options)])
    return receipt


async def lines(stand: Stand) -> list[tuple[str, str]]:
    """What became of the fires, oldest first."""
    told = reversed(await Schedules(stand.store, stand.queue).history("j", 100))
    return [(line.what, line.task) for line in told if line.what != "set"]


@pytest.mark.parametrize("unique_for", [None, "1h"])
@pytest.mark.parametrize("runs", [True, False])
async def test_a_fire_that_replaces_the_one_before_takes_its_key(
    stand: Stand, unique_for: str | None, *, runs: bool
) -> None:
    await stand.register("a")
    await set_(stand, unique="sync", unique_for=unique_for, overlap="replace")
    [first] = await fire(stand)
    [delivery] = await stand.take("a") if runs else [None]
    made = await fire(stand)
    assert [await stand.state(task) for task in made] == ["canceled", "submitted"]
    assert (await stand.task(first)).reason == "replaced by the next fire of its schedule"
    if delivery:  # its handler does not obey: it has no say any more
        assert await stand.settle("a", delivery, Settle.COMPLETED) == "LOST"
    assert await submit_with_key(stand) == Receipt(Accepted.DUPLICATE, made[1])
    [second] = await stand.take("a")
    assert second.task_id == made[1]
    assert await stand.crash("a") == 1
    assert await stand.state(made[1]) == "submitted"


@pytest.mark.parametrize("unique_for", [None, "1h"])
async def test_of_many_fires_that_replace_each_other_the_last_stays(stand: Stand, unique_for: str | None) -> None:
    await set_(stand, unique="sync", unique_for=unique_for, overlap="replace", misfire="all:3", limit=3)
    made = await fire(stand, 60)
    assert [await stand.state(task) for task in made] == ["canceled", "canceled", "submitted"]


async def test_a_fire_that_is_skipped_for_its_key_cancels_nothing(stand: Stand) -> None:
    """Another task has the key, as the one before was made without it."""
    await stand.register("a")
    await set_(stand, overlap="replace")
    [first] = await fire(stand)
    await stand.take("a")
    await submit_with_key(stand)
    await set_(stand, unique="sync", overlap="replace")
    assert await fire(stand) == [first]
    assert await stand.state(first) == "working"
    assert await skipped(stand) == [("t", "its unique key is held by this task")]


async def test_a_fire_whose_key_outlasts_the_one_before_replaces_nothing(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, unique="sync", unique_for="1h", overlap="replace")
    [first] = await fire(stand)
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert await fire(stand) == [first]
    assert await skipped(stand) == [(first, "its unique key is held by this task")]


async def test_a_fire_that_waits_for_the_one_before_gets_its_key(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, unique="sync", overlap="queue-one", limit=2)
    [first] = await fire(stand)
    [delivery] = await stand.take("a")
    assert await fire(stand) == [first]
    await stand.settle("a", delivery, Settle.COMPLETED)
    _, second = await fire(stand)
    assert await lines(stand) == [("fired", first), ("waits", first), ("ended", first), ("fired", second)]


async def test_the_permit_of_a_replaced_task_goes_to_the_next(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, concurrency_key="tenant-7", overlap="replace")
    await fire(stand)
    await stand.take("a")
    _, second = await fire(stand)
    [delivery] = await stand.take("a")
    assert delivery.task_id == second


async def test_tasks_with_one_concurrency_key_run_one_at_a_time(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, concurrency_key="tenant-7")
    await fire(stand)
    assert len(await fire(stand)) == 2
    [first] = await stand.take("a")
    assert await stand.take("a") == []
    await stand.settle("a", first, Settle.COMPLETED)
    [second] = await stand.take("a")
    assert second.task_id != first.task_id


async def test_the_end_of_a_task_is_told_to_its_webhook(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, webhook="https://example.com/told", limit=1)
    [task_id] = await fire(stand)
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.COMPLETED)
    [notice], _ = await stand.store.take_notices(10, SECOND)
    assert isinstance(notice, Notice)
    assert (notice.task_id, notice.url) == (task_id, "https://example.com/told")


async def test_the_pause_before_a_retry_is_with_the_task(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, backoff="2m", metadata={"a": 1}, limit=1)
    await fire(stand)
    [delivery] = await stand.take("a")
    assert json.loads(delivery.operation)["params"]["message"]["metadata"] == {"a": 1, "retry_backoff": 120.0}


async def test_the_pause_of_a_continue_is_its_own(stand: Stand) -> None:
    await stand.register("a")
    await set_(stand, every=None, schedule="CONTINUE", backoff=2)
    [first] = await fire(stand)
    [delivery] = await stand.take("a")
    assert json.loads(delivery.operation)["params"]["message"]["metadata"] == {}
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert await fire(stand) == [first]
    assert len(await fire(stand)) == 2


async def test_a_resume_of_a_schedule_that_was_set_anew_meanwhile_changes_nothing(stand: Stand) -> None:
    """The caller has worked out the next run by the schedule that it saw, which may be a quite different one."""
    schedules = Schedules(stand.store, stand.queue)
    await set_(stand, every="1h")
    await schedules.pause("j", "holidays")
    seen = await schedules.get("j")
    await set_(stand, every="2h")
    now = await schedules.get("j")
    assert (now.generation, bool(now.paused)) == (seen.generation + 1, True)
    assert await stand.store.resume_schedule("j", seen.generation, seen.expected, seen.due) == "changed"
    assert await schedules.get("j") == now
    assert await stand.store.resume_schedule("j", now.generation, now.expected, now.due) == "resumed"
    assert await stand.store.resume_schedule("j", now.generation, now.expected, now.due) == "running"
    assert await stand.store.resume_schedule("none", 1, None, None) == "unknown"
