"""Lists of tasks: what is asked for and nothing else, page by page, whatever moves meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskOutline, TextSearch, Wanted
from holdfast.errors import InvalidTaskError
from tests.lua.namespace import Namespace
from tests.lua.operations import calling, submission

pytestmark = pytest.mark.anyio

LOOKS = 200  # records that one page looks at
TEXT_BYTES, LARGEST_TEXT = 524_288, 65_536  # read in one step of a search, and of one text


async def listed(space: Namespace, limit: int = 100, **wanted: Any) -> list[str]:
    """The ids of all pages; each page keeps to its limit."""
    found: list[str] = []
    cursor = ""
    while True:
        page = await space.store.tasks(Wanted(**wanted), limit, cursor)
        assert len(page.tasks) <= limit
        found += [task.task_id for task in page.tasks]
        if not (cursor := page.cursor):
            return found


async def variety(space: Namespace) -> None:
    """Two of each sort of place a task can be in, with time between them."""
    await space.register("a")
    for name, settle in (("done", Settle.COMPLETED), ("asks", Settle.INPUT_REQUIRED), ("bad", Settle.FAILED)):
        await space.submit(f"{name}1", f"{name}2")
        for delivery in await space.take("a"):
            await space.settle("a", delivery, settle)
        await space.clock.advance(1_000)
    await space.register("b")
    await space.submit("runs1", "runs2")
    await space.take("a", 1)
    await space.take("b", 1)
    await space.submit("waits1", "waits2")
    await space.store.submit([submission(f"later{n}", "slow", delay_ms=9_000, name="report") for n in (1, 2)])
    await space.store.submit([submission(f"slow{n}", "slow", name="report") for n in (1, 2)])


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_every_task_is_listed_once_whatever_the_page(space: Namespace, limit: int) -> None:
    await variety(space)
    found = await listed(space, limit)
    names = ("done", "asks", "bad", "runs", "waits", "later", "slow")
    assert sorted(found) == sorted(f"{name}{n}" for name in names for n in (1, 2))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"states": (State.COMPLETED,)}, ["done2", "done1"]),
        ({"states": (State.FAILED, State.INPUT_REQUIRED)}, ["asks1", "asks2", "bad2", "bad1"]),
        ({"states": (State.WORKING,)}, ["runs1", "runs2"]),
        ({"states": (State.REJECTED, State.SUSPENDED)}, []),
        ({"states": (State.SUBMITTED,), "lane": "slow"}, ["slow1", "slow2"]),
        ({"lane": "slow"}, ["slow1", "slow2", "later1", "later2"]),
        ({"name": "report", "states": (State.DELAYED,)}, ["later1", "later2"]),
        ({"name": "other"}, []),
        ({"older_ms": 3_000}, ["done2", "done1"]),
        ({"older_ms": 1_000, "newer_ms": 2_000}, ["asks1", "asks2", "bad2", "bad1"]),
        ({"newer_ms": 2_000, "states": (State.FAILED, State.COMPLETED)}, ["bad2", "bad1"]),
    ],
)
async def test_a_list_holds_what_was_asked_for(space: Namespace, wanted: dict[str, Any], names: list[str]) -> None:
    await variety(space)
    assert await listed(space, **wanted) == names
    assert await listed(space, 1, **wanted) == names


async def test_foreign_tasks_are_found_by_their_handlers_name(space: Namespace) -> None:
    await space.register("a")
    await space.push(calling("f1", "report"), calling("f2", "other"))
    await space.take("a")
    assert await listed(space, name="report") == ["f1"]


async def test_a_damaged_trail_hides_no_other_task_of_a_list(space: Namespace) -> None:
    await space.submit("damaged", "whole")
    await space.do("SET", space.key("trail:damaged"), "no list")
    await space.do("DEL", space.key("op:damaged"))
    await space.do("RPUSH", space.key("op:damaged"), "no text")
    found = await space.store.outlines(["damaged", "whole"], 1000)
    assert found["damaged"] == TaskOutline()
    assert b"whole" in found["whole"].operation


async def test_what_is_looked_at_for_a_page_is_bounded(space: Namespace) -> None:
    await space.store.submit([submission(f"t{n}", space.queue) for n in range(LOOKS)])
    await space.store.submit([submission("last", space.queue, name="report")])
    first = await space.store.tasks(Wanted(name="report"), 10)
    assert (first.tasks, bool(first.cursor)) == ((), True)
    second = await space.store.tasks(Wanted(name="report"), 10, first.cursor)
    assert ([task.task_id for task in second.tasks], second.cursor) == (["last"], "")


async def test_a_list_goes_on_where_it_was_when_what_it_has_listed_is_gone(space: Namespace) -> None:
    await space.register("a")
    await space.submit(*(f"t{n}" for n in range(6)))
    page = await space.store.tasks(Wanted(), 2)
    await space.store.cancel("t1", "enough")
    rest = await space.store.tasks(Wanted(states=(State.SUBMITTED,)), 10, page.cursor)
    assert [task.task_id for task in rest.tasks] == ["t2", "t3", "t4", "t5"]
    await space.take("a", 2)
    rest = await space.store.tasks(Wanted(states=(State.SUBMITTED,)), 10, page.cursor)
    assert [task.task_id for task in rest.tasks] == ["t3", "t4", "t5"]
    page = await space.store.tasks(Wanted(states=(State.SUBMITTED,)), 2)
    await space.take("a", 3)
    await space.store.submit([submission("u", space.queue, delay_ms=9_000)])
    rest = await space.store.tasks(Wanted(states=(State.SUBMITTED, State.DELAYED)), 10, page.cursor)
    assert [task.task_id for task in rest.tasks] == ["u"]


async def test_what_ended_at_the_same_time_is_listed_once_though_some_is_gone(space: Namespace) -> None:
    await space.register("a")
    await space.submit("b", "c", "d", "e")
    for delivery in await space.take("a"):
        await space.settle("a", delivery, Settle.COMPLETED)
    page = await space.store.tasks(Wanted(), 2)
    assert [task.task_id for task in page.tasks] == ["e", "d"]
    await space.do("ZREM", space.key("finished"), "d")
    rest = await space.store.tasks(Wanted(), 2, page.cursor)
    assert [task.task_id for task in rest.tasks] == ["c", "b"]


@pytest.mark.parametrize("cursor", ["?", "0", "1-2", "abcd", "w6Q=", "ZmluaXNoZWQ="])
async def test_a_cursor_of_nobody_is_refused(space: Namespace, cursor: str) -> None:
    with pytest.raises(InvalidTaskError, match="cursor"):
        await space.store.tasks(Wanted(), 10, cursor)
    if not cursor.isdigit():
        with pytest.raises(InvalidTaskError, match="cursor"):
            await space.store.dead_letters(10, cursor)


async def ids(space: Namespace, beginning: str) -> set[str]:
    """The ids that begin so, of all pages."""
    found: set[str] = set()
    cursor, pages = "", 0
    while not pages or cursor:
        page = await space.store.task_ids(beginning, cursor, 100)
        found, cursor, pages = found.union(page.ids), page.cursor, pages + 1
    return found


async def test_ids_are_found_by_their_beginning(space: Namespace) -> None:
    await variety(space)
    assert await ids(space, "slow") == {"slow1", "slow2"}
    assert await ids(space, "slow1") == {"slow1"}
    assert await ids(space, "low") == set()
    assert await ids(space, "") >= {"done1", "asks1", "bad1", "runs1", "waits1", "later1", "slow1"}


async def test_a_queue_whose_name_is_a_pattern_has_its_own_ids_only(space: Namespace) -> None:
    other = Namespace(space.url, queue="[a-z]*")
    try:
        await space.submit("t1")
        await other.submit("t2")
        assert await ids(other, "t") == {"t2"}
    finally:
        await other.aclose()


async def test_what_a_step_of_a_search_reads_is_bounded(space: Namespace) -> None:
    """By the bytes of the texts: of large ones a step looks at fewer tasks, and reads the beginning of each."""
    await space.store.submit([submission(f"t{n:02}", space.queue, text="x" * 200_000) for n in range(20)])
    page = await space.store.search(Wanted(), TextSearch("needle"), 100)
    assert (page.searched, bool(page.cursor)) == (TEXT_BYTES // LARGEST_TEXT + 1, True)


async def test_a_batch_is_listed_once_in_the_order_of_its_ends(space: Namespace) -> None:
    manager = TaskManager(space.store, queue=space.queue)
    await manager.run_tasks([TaskSpec(text="x") for _ in range(4)], batch="b")
    await space.register("a")
    first, _ = await space.take("a", 2)
    await space.settle("a", first, Settle.COMPLETED)
    for limit in (1, 2, 100):
        assert await listed(space, limit, batch="b") == ["b.2", "b.3", "b.4", "b.1"]
    assert await listed(space, states=(State.COMPLETED,), batch="b") == ["b.1"]
    assert await listed(space, states=(State.WORKING,), batch="b") == ["b.2"]
