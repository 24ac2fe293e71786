"""take_back: what a silent worker has claimed and not begun goes back."""

from __future__ import annotations

import pytest

from holdfast.core.begun_page import RUNS
from holdfast.core.delivery import Settle
from holdfast.core.trail import read_trail
from tests.lua.namespace import Namespace, settlement

pytestmark = pytest.mark.anyio


async def test_what_had_not_begun_goes_back_in_order_and_counts_for_nothing(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1", "t2", "t3", "t4")
    first = await space.take("a", 4)
    assert len(first) == 2  # half of them
    await space.store.take_back("b", 9, {})
    rest = await space.take("a", 4)
    assert await space.store.last_request("a") == 2
    assert await space.store.take_back("a", 2, {"t1": RUNS}) == len(first) + len(rest) - 1
    last = read_trail((await space.task("t2")).trail)[-1]
    assert (last.event, last.reason) == ("returned", "its worker is silent")
    again = await space.take("b", 4) + await space.take("b", 4)
    assert [delivery.task_id for delivery in again] == ["t2", "t3", "t4"]
    assert [(await space.task(each)).runs for each in ("t1", "t2")] == [1, 1]
    await space.check()


async def test_what_had_begun_stays_and_commits(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    assert await space.store.take_back("a", 1, {"t1": RUNS}) == 0
    assert await space.settle("a", delivery, Settle.COMPLETED) == "OK"


async def test_a_claim_of_a_later_request_stays(space: Namespace) -> None:
    """The worker does not know yet that it is not to begin it."""
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    assert await space.store.take_back("a", 0, {}) == 0
    assert await space.state("t1") == "working"


async def test_what_was_taken_back_is_neither_given_again_nor_committed_by_the_silent_worker(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    [delivery] = await space.take("a")
    assert await space.store.take_back("a", 1, {}) == 1
    assert await space.store.take_back("a", 1, {}) == 0
    assert (await space.store.pull("a", 1, 4, [space.queue], [])).deliveries == ()
    [other] = await space.take("b")
    assert await space.settle("a", delivery, Settle.RETURNED) == "LOST"
    assert await space.settle("b", other, Settle.COMPLETED) == "OK"


async def test_of_a_worker_that_is_not_known_nothing_goes_back(space: Namespace) -> None:
    assert await space.store.last_request("ghost") == 0
    assert await space.store.take_back("ghost", 3, {}) == 0


@pytest.mark.parametrize(("noted", "returned"), [("earlier", 1), ("present", 0), (RUNS, 0)])
async def test_a_note_is_of_one_claim_unless_the_task_runs(space: Namespace, noted: str, returned: int) -> None:
    """The worker has run the task before, and may not have read that it was given it again."""
    await space.register("a")
    await space.submit("t1")
    [first] = await space.take("a")
    [second] = await space.take("a", 1, settlement(first, Settle.RETRY))
    note = {"earlier": first.claim, "present": second.claim}.get(noted, noted)
    assert await space.store.take_back("a", 2, {"t1": note}) == returned
    await space.check()
