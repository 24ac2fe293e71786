"""Counts, lists, places and events: what operators see is what happened."""

from __future__ import annotations

import pytest

from holdfast.core.acceptance import SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.task_states import State
from holdfast.core.tasks import PlaceInLane, TaskOutline, TaskRecord, Wanted
from tests.conformance.stand import Stand
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio


async def scene(stand: Stand) -> None:
    """One task in each of several states."""
    await stand.register("a")
    await stand.submit("done", "asks", "runs")
    await stand.submit("later", delay_ms=1_000)
    done, asks = await stand.take("a", 2)
    await stand.settle("a", done, Settle.COMPLETED)
    await stand.settle("a", asks, Settle.INPUT_REQUIRED)
    await stand.take("a", 1)
    await stand.submit("waits")
    await stand.submit("parked")
    await stand.store.pause("parked", "x")


STATES = {
    "done": State.COMPLETED,
    "asks": State.INPUT_REQUIRED,
    "runs": State.WORKING,
    "later": State.DELAYED,
    "waits": State.SUBMITTED,
    "parked": State.SUSPENDED,
}


async def test_states_and_lanes_are_counted(stand: Stand) -> None:
    await scene(stand)
    counts = await stand.store.counts()
    assert {state: n for state, n in counts.states.items() if n} == dict.fromkeys(STATES.values(), 1)
    assert (counts.dead, counts.solo, counts.unreadable, counts.workers) == (0, 0, 0, 1)
    assert (counts.counters["accepted"], counts.counters["completed"]) == (6, 1)
    assert counts.oldest_ms == (await stand.task("waits")).created_ms


async def listed(stand: Stand, wanted: Wanted, most: int = 10) -> list[TaskRecord]:
    """All pages."""
    seen: list[TaskRecord] = []
    cursor, pages = "", 0
    while not pages or cursor:
        page = await stand.store.tasks(wanted, most, cursor)
        seen, cursor, pages = [*seen, *page.tasks], page.cursor, pages + 1
        assert len(page.tasks) <= most
    return seen


async def test_tasks_are_listed_by_state_and_in_pages(stand: Stand) -> None:
    await scene(stand)
    for task_id, state in STATES.items():
        assert [task.task_id for task in await listed(stand, Wanted((state,)))] == [task_id]
    assert sorted(task.task_id for task in await listed(stand, Wanted(), 2)) == sorted(STATES)


async def test_tasks_are_listed_by_lane_name_and_age(stand: Stand) -> None:
    await stand.submit("old")
    await stand.advance(60_000)
    await stand.store.submit([submission("slow", "slow"), submission("named", stand.queue, name="billing")])
    wanted = {
        "slow": Wanted(lane="slow"),
        "named": Wanted(name="billing"),
        "old": Wanted(older_ms=60_000),
    }
    for task_id, chosen in wanted.items():
        assert [task.task_id for task in await listed(stand, chosen)] == [task_id]
    assert sorted(task.task_id for task in await listed(stand, Wanted(newer_ms=59_999))) == ["named", "slow"]


async def test_listed_tasks_come_without_payloads(stand: Stand) -> None:
    await stand.submit("t1")
    [task] = await listed(stand, Wanted((State.SUBMITTED,)))
    assert (task.operation, task.result) == (None, None)


async def test_a_waiting_task_has_a_place(stand: Stand) -> None:
    await stand.submit("t1", "t2", "t3")
    assert await stand.store.place("t1") == PlaceInLane(0, exact=True)
    assert await stand.store.place("t3") == PlaceInLane(2, exact=True)
    await stand.store.cancel("t3", "x")
    assert await stand.store.place("t3") is None
    assert await stand.store.place("nobody") is None


async def test_the_trail_tells_what_happened_to_a_task(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.RETRY, reason="busy")
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.COMPLETED)
    words = [line.split(" ")[1] for line in (await stand.task("t1")).trail]
    assert words == ["claimed", "retry", "delayed", "promoted", "claimed", "settled"]


async def test_events_come_in_order_from_a_position(stand: Stand) -> None:
    await stand.submit("t1")
    await stand.submit("t2")
    first = await stand.store.events("", 1)
    assert ([(event.event, event.subject) for event in first.events], first.missed) == ([("accepted", "t1")], False)
    rest = await stand.store.events(first.events[0].position, 10)
    assert [event.subject for event in rest.events] == ["t2"]
    assert (await stand.store.events(rest.events[-1].position, 10)).events == ()
    newest = await stand.store.events_before("", 1)
    assert newest == rest.events[-1:]
    assert await stand.store.events_before(newest[0].position, 5) == first.events


async def test_the_lane_can_be_looked_into(stand: Stand) -> None:
    await stand.push(b"one", b"two")
    assert await stand.store.peek_entries(stand.queue, 1) == [b"one"]
    assert await stand.store.peek_entries(stand.queue, 9) == [b"one", b"two"]


async def test_the_store_tells_its_time_and_who_it_is(stand: Stand) -> None:
    await stand.store.preflight()
    await stand.store.ping()
    assert await stand.store.run_id() == await stand.store.run_id() != ""
    before = await stand.store.clock_ms()
    await stand.advance(5000)
    assert await stand.store.clock_ms() >= before + 5000


async def test_ids_are_found_by_their_beginning(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("job", "job.r1", "jo", "other")
    ids: set[str] = set()
    cursor, pages = "", 0
    while not pages or cursor:
        page = await stand.store.task_ids("job", cursor, 1000)
        ids, cursor, pages = ids.union(page.ids), page.cursor, pages + 1
    assert ids == {"job", "job.r1"}


async def test_the_children_of_a_task_are_known_before_its_end_and_after(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("parent")
    after = SubmitOptions(after=("parent",))
    for number in range(3):
        await stand.store.submit_with_options([submission(f"c{number}", stand.queue, options=after)])
    number, ids = await stand.store.children("parent", 10)
    assert (number, set(ids)) == (3, {"c0", "c1", "c2"})
    assert len((await stand.store.children("parent", 2))[1]) == 2
    [delivery] = await stand.take("a", 1)
    await stand.settle("a", delivery, Settle.COMPLETED, result=b'{"parts":[]}')
    await stand.store.promote(10)
    assert (await stand.task("c0")).state is State.SUBMITTED
    number, ids = await stand.store.children("parent", 10)
    assert (number, set(ids)) == (3, {"c0", "c1", "c2"})
    assert len((await stand.store.children("parent", 2))[1]) == 2
    assert await stand.store.children("c0", 10) == (0, ())
    assert await stand.store.children("unknown", 10) == (0, ())


async def test_the_outlines_of_tasks_are_read_together(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("ended", "open")
    [delivery] = await stand.take("a", 1)
    await stand.settle("a", delivery, Settle.COMPLETED, result=b'{"parts":[]}')
    found = await stand.store.outlines(["ended", "open", "unknown"], 20)
    assert found["ended"].operation == b'{"operation": "run",'
    assert [line.split(" ")[1] for line in found["ended"].trail] == ["claimed", "settled"]
    assert found["open"] == TaskOutline(b'{"operation": "run",')
    assert found["unknown"] == TaskOutline()
    assert await stand.store.outlines([], 20) == {}


async def test_the_outline_of_a_named_task_that_got_an_answer_has_the_message_that_named_its_handler(
    stand: Stand,
) -> None:
    await stand.register("a")
    await stand.submit("t", name="mail", text="first")
    await stand.submit("plain", text="first")
    for delivery in await stand.take("a", 2):
        await stand.settle("a", delivery, Settle.INPUT_REQUIRED, result=b'{"parts":[]}')
    for task_id in ("t", "plain"):
        await stand.message(task_id, "m2", text="yes")
    found = await stand.store.outlines(["t", "plain"], 4096)
    assert (b"first" in found["t"].operation, b"yes" in found["t"].operation) == (True, False)
    assert b"yes" in found["plain"].operation


async def test_what_workers_publish_of_handlers_is_read_by_name(stand: Stand) -> None:
    first, second = PublishedHandler("a", {"type": "object"}), PublishedHandler("b", summary="B.", lane="slow")
    await stand.store.publish_handlers([second, first])
    await stand.store.publish_handlers([])
    assert await stand.store.published_handlers() == (first, second)
    assert await stand.store.published_handler("b") == second
    assert await stand.store.published_handler("none") is None
    await stand.store.publish_handlers([PublishedHandler("b")])
    assert await stand.store.published_handler("b") == PublishedHandler("b")
