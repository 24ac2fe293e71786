"""Tasks that nobody has taken by their time end as canceled, wherever they wait, and never run."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.acceptance import SubmitOptions
from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.lua.operations import run, submission

pytestmark = pytest.mark.anyio

SOON = SubmitOptions(expires_in_ms=500)


async def submit(space: Namespace, task_id: str, options: SubmitOptions = SOON, **more: Any) -> None:
    await space.store.submit_with_options([submission(task_id, space.queue, options=options, **more)])


async def expired(space: Namespace, task_id: str) -> bool:
    task = await space.task(task_id)
    return (task.state, task.reason) == ("canceled", "expired")


async def test_a_pull_takes_nothing_that_has_expired(space: Namespace) -> None:
    """More of them than a pull works off in passing."""
    await space.register("a")
    for number in range(40):
        await submit(space, f"t{number}")
    await space.submit("good")
    await space.clock.advance(500)
    taken = await space.take("a", 41)
    assert [delivery.task_id for delivery in taken] == ["good"]
    assert all([await expired(space, f"t{number}") for number in range(40)])
    snapshot = await space.check()
    assert not [key for key in snapshot if "ties:" in key or key.endswith(":agenda")]


async def test_the_steward_ends_what_has_expired_in_bounded_steps(space: Namespace) -> None:
    for number in range(5):
        await submit(space, f"t{number}")
    assert await space.store.wait_alarm(5.0)
    assert await space.store.promote(10) == (0, 500)
    await space.clock.advance(500)
    assert await space.store.promote(4) == (0, 0)
    states = [await space.state(f"t{number}") for number in range(5)]
    assert (states.count("canceled"), states.count("submitted")) == (2, 3)
    await space.check()
    for _ in range(2):
        await space.store.promote(4)
    assert await space.store.promote(4) == (0, None)
    await space.check()


async def test_what_was_taken_in_time_lasts(space: Namespace) -> None:
    await space.register("a", "b")
    await submit(space, "t")
    [delivery] = await space.take("b", 1)
    assert await space.do("EXISTS", space.key("agenda")) == 0
    await space.crash("b")
    await space.clock.advance(10_000)
    await space.store.promote(10)
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.RETRY, delay_ms=100)
    await space.clock.advance(10_000)
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.state("t") == "completed"
    await space.check()


async def test_what_is_delayed_paused_or_waits_for_others_expires(space: Namespace) -> None:
    await space.submit("p")
    await submit(space, "delayed", delay_ms=400)
    await submit(space, "paused")
    await space.store.pause("paused", "x")
    await submit(space, "child", SubmitOptions(after=("p",), expires_in_ms=500))
    await space.store.submit_with_options(
        [submission("grandchild", space.queue, options=SubmitOptions(after=("child",)))]
    )
    await space.clock.advance(500)
    while (await space.store.promote(10))[1] == 0:
        pass
    assert all([await expired(space, one) for one in ("paused", "child")])
    assert (await space.task("grandchild")).reason == "parent child was canceled"
    assert await expired(space, "delayed")
    assert await space.do("EXISTS", space.key("children:p")) == 0
    await space.check()


async def test_a_canceled_task_does_not_expire_as_well(space: Namespace) -> None:
    await submit(space, "t")
    await space.store.cancel("t", "enough")
    assert await space.do("EXISTS", space.key("agenda")) == 0
    await space.clock.advance(500)
    await space.store.promote(10)
    assert (await space.task("t")).reason == "enough"
    await space.check()


async def test_a_time_that_is_past_ends_it_at_once(space: Namespace) -> None:
    await space.register("a")
    await submit(space, "t", SubmitOptions(expires_ms=space.clock.now_ms - 1))
    assert (await space.task("t")).expires_ms == space.clock.now_ms - 1
    assert await space.take("a") == []
    assert await expired(space, "t")
    await space.check()


async def test_a_copy_of_its_entry_does_not_make_it_run(space: Namespace) -> None:
    await space.register("a")
    raw = run("t", "m-t")
    await space.push(raw)
    await submit(space, "t")
    for number in range(16):  # more than a pull works off in passing
        await submit(space, f"before{number}")
    await space.clock.advance(500)
    assert await space.take("a", 50) == []
    assert await expired(space, "t")


async def test_the_retry_of_what_has_expired_has_all_the_time(space: Namespace) -> None:
    await space.register("a")
    await submit(space, "t")
    await space.clock.advance(500)
    await space.store.promote(10)
    assert (await space.store.retry("t", "after all")).task_id == "t.r1"
    await space.clock.advance(500)
    assert [delivery.task_id for delivery in await space.take("a")] == ["t.r1"]
    await space.check()


async def test_messages_for_what_has_expired_are_set_aside(space: Namespace) -> None:
    await submit(space, "t")
    await space.message("t", "m2")
    await space.clock.advance(500)
    await space.store.promote(10)
    assert await space.reasons() == ["task t was canceled before this message ran"]
    await space.check()
