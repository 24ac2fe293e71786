"""One task a key: `debounce` keeps the last submission, `unique` the first."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.acceptance import Accepted, Receipt, SubmitOptions
from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio

DEBOUNCED = SubmitOptions(debounce="k")
UNIQUE = SubmitOptions(unique="k")


async def submit(space: Namespace, task_id: str, options: SubmitOptions, **more: Any) -> Receipt:
    [receipt] = await space.store.submit_with_options([submission(task_id, space.queue, options=options, **more)])
    return receipt


async def test_the_last_of_a_burst_runs_and_the_others_are_told_so(space: Namespace) -> None:
    await space.register("a")
    for number in range(3):
        assert await submit(space, f"t{number}", DEBOUNCED, delay_ms=500) == Receipt(Accepted.NEW, f"t{number}")
        await space.clock.advance(400)
        await space.store.promote(10)
    assert [await space.state(f"t{number}") for number in range(3)] == ["canceled", "canceled", "delayed"]
    assert (await space.task("t0")).reason == "replaced by t1"
    await space.check()
    await space.clock.advance(100)
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.do("EXISTS", space.key("debounce")) == 0
    await space.check()


async def test_what_is_due_or_runs_is_not_replaced(space: Namespace) -> None:
    await space.register("a")
    await submit(space, "due", DEBOUNCED, delay_ms=500)
    await space.clock.advance(500)
    await space.store.promote(10)
    await submit(space, "next", DEBOUNCED, delay_ms=500)
    assert [await space.state(one) for one in ("due", "next")] == ["submitted", "delayed"]
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.RETRY, delay_ms=1000)
    await submit(space, "last", DEBOUNCED, delay_ms=500)
    assert [await space.state(one) for one in ("due", "next", "last")] == ["delayed", "canceled", "delayed"]
    await space.check()


async def test_a_retry_delay_is_no_debounce(space: Namespace) -> None:
    await space.register("a")
    await submit(space, "t1", DEBOUNCED, delay_ms=1)
    await space.clock.advance(1)
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.RETRY, delay_ms=1000)
    await submit(space, "t2", DEBOUNCED, delay_ms=500)
    assert await space.state("t1") == "delayed"
    await space.check()


async def test_the_same_submission_twice_replaces_nothing(space: Namespace) -> None:
    await submit(space, "t1", DEBOUNCED, delay_ms=500)
    await submit(space, "t2", DEBOUNCED, delay_ms=500)
    assert (await submit(space, "t1", DEBOUNCED, delay_ms=500)).accepted is Accepted.DUPLICATE
    assert [await space.state(one) for one in ("t1", "t2")] == ["canceled", "delayed"]
    await space.check()


async def test_the_end_of_one_that_was_replaced_leaves_the_key_to_the_next(space: Namespace) -> None:
    await submit(space, "t1", DEBOUNCED, delay_ms=500)
    await submit(space, "t2", DEBOUNCED, delay_ms=500)
    await submit(space, "t3", DEBOUNCED, delay_ms=500)
    assert [await space.state(f"t{n}") for n in (1, 2, 3)] == ["canceled", "canceled", "delayed"]
    assert await space.do("HLEN", space.key("debounce")) == 1
    await space.check()


async def test_a_submission_that_fails_with_its_parent_still_replaces(space: Namespace) -> None:
    await space.submit("p")
    await space.store.cancel("p", "x")
    await submit(space, "t1", DEBOUNCED, delay_ms=500)
    await submit(space, "t2", SubmitOptions(debounce="k", after=("p",)), delay_ms=500)
    assert [await space.state(one) for one in ("t1", "t2")] == ["canceled", "failed"]
    assert await space.do("EXISTS", space.key("debounce")) == 0
    await space.check()


async def test_while_one_has_not_ended_another_is_its_duplicate(space: Namespace) -> None:
    await space.register("a")
    assert await submit(space, "t1", UNIQUE) == Receipt(Accepted.NEW, "t1")
    assert await submit(space, "t2", UNIQUE, text="other") == Receipt(Accepted.DUPLICATE, "t1")
    [delivery] = await space.take("a")
    assert await submit(space, "t3", UNIQUE) == Receipt(Accepted.DUPLICATE, "t1")
    assert await space.store.get("t2") is None
    await space.check()
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.do("EXISTS", space.key("unique")) == 0
    assert await submit(space, "t4", UNIQUE) == Receipt(Accepted.NEW, "t4")
    await space.check()


async def test_a_key_is_held_for_its_time_whatever_becomes_of_the_task(space: Namespace) -> None:
    window = SubmitOptions(unique="k", unique_ms=500)
    await submit(space, "t1", window)
    await space.store.cancel("t1", "x")
    assert await space.store.trim(0, 10) == 1
    await space.clock.advance(499)
    assert await submit(space, "t2", window) == Receipt(Accepted.DUPLICATE, "t1")
    await space.check()
    await space.clock.advance(1)
    assert await submit(space, "t3", window) == Receipt(Accepted.NEW, "t3")
    await space.check()
    await space.store.promote(10)
    assert await submit(space, "t4", UNIQUE) == Receipt(Accepted.DUPLICATE, "t3")
    await space.clock.advance(500)
    await space.store.promote(10)
    assert await space.do("EXISTS", space.key("unique"), space.key("agenda")) == 0
    await space.check()


async def test_keys_of_both_kinds_follow_each_other(space: Namespace) -> None:
    """The time of an earlier holder ends nothing of a later one."""
    await submit(space, "t1", SubmitOptions(unique="k", unique_ms=500))
    await space.clock.advance(500)
    assert await submit(space, "t2", UNIQUE) == Receipt(Accepted.NEW, "t2")
    await space.store.promote(10)
    assert await submit(space, "t3", UNIQUE) == Receipt(Accepted.DUPLICATE, "t2")
    assert await space.do("EXISTS", space.key("agenda")) == 0
    await space.check()


async def test_a_holder_that_somebody_deleted_holds_nothing(space: Namespace) -> None:
    await submit(space, "t1", UNIQUE)
    await space.do("DEL", space.key("task:t1"))
    assert await submit(space, "t2", UNIQUE) == Receipt(Accepted.NEW, "t2")


async def test_what_is_left_of_a_deleted_holder_frees_no_key_of_another(space: Namespace) -> None:
    await space.submit("p")
    await submit(space, "t1", SubmitOptions(unique="k", after=("p",)))
    await space.do("DEL", space.key("task:t1"))
    await submit(space, "t2", UNIQUE)
    await space.store.cancel("p", "x")
    await space.store.promote(10)
    assert await submit(space, "t3", UNIQUE) == Receipt(Accepted.DUPLICATE, "t2")


async def test_a_refused_submission_holds_no_key(space: Namespace) -> None:
    options = SubmitOptions(unique="k", debounce="d", after=("nobody",), expires_in_ms=5)
    assert await submit(space, "t1", options) == Receipt(Accepted.NO_PARENT, "nobody")
    assert await submit(space, "t2", UNIQUE) == Receipt(Accepted.NEW, "t2")
    await space.check()
