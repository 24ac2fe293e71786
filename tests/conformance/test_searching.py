"""Tasks are found by a text in their id, name, reason, arguments, result or error, newest first, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Handlers
from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.tasks import Page
from holdfast.errors import InvalidTaskError
from tests.conformance.shop import Shop
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

LOOKS = 250  # tasks that one step looks at


@pytest.fixture
def manager(stand: Stand) -> TaskManager:
    return TaskManager(stand.store, queue=stand.queue)


async def found(manager: TaskManager, text: str, *states: str, **wanted: Any) -> list[str]:
    """The ids of all pages."""
    ids, cursor = list[str](), ""
    while True:
        page = await manager.search_tasks(text, *states, **wanted, limit=2, cursor=cursor)
        ids += [task.task_id for task in page.tasks]
        if not (cursor := page.cursor):
            return ids


async def variety(stand: Stand, manager: TaskManager) -> None:
    handlers = Handlers()

    @handlers.register("billing.send", max_attempts=1)
    def send(region: str, note: str = "") -> str:
        if region == "nowhere":
            raise ValueError("The Address is not known")
        return f"Statement for {region}"

    await manager.run_task(name="billing.send", kwargs={"region": "EU-West"}, task_id="west")
    await manager.run_task(name="billing.send", kwargs={"region": "nowhere"}, task_id="lost")
    await manager.run_task(name="billing.send", kwargs={"region": "b", "note": 'Müller said "yes"\\'}, task_id="said")
    await Shop(stand, handlers).work()
    await manager.run_task("plain Words", task_id="plain", lane="slow")
    await manager.run_task(data={"Deep": [{"er": "Words"}], "n": 417}, task_id="deep", lane="slow")
    await manager.run_task("x", task_id="gone", lane="slow", metadata={"customer": "Ünal"})
    await manager.cancel_task("gone", "nobody needs it")


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("words", ["deep", "plain"]),
        ("PLAIN W", ["plain"]),
        ("eu-west", ["west"]),
        ("statement for", ["said", "west"]),
        ("the address is", ["lost"]),
        ("valueerror", ["lost"]),
        ("müller SAID", ["said"]),
        ('said "yes"', ["said"]),
        ('"yes"\\', ["said"]),
        ("ünal", ["gone"]),
        ("nobody needs", ["gone"]),
        ("Deep", ["deep"]),
        ('"n":417', ["deep"]),
        ("billing.s", ["said", "lost", "west"]),
        ("lain", ["plain"]),
        ("kwargs", []),
        ("message", []),
        ("operation", []),
        ("%s.*", []),
        ("<script>", []),
    ],
)
async def test_a_text_is_found_where_users_wrote_it_and_nowhere_else(stand: Stand, text: str, ids: list[str]) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    await variety(stand, manager)
    assert sorted(await found(manager, text)) == sorted(ids)
    assert sorted(await found(manager, text, newest_first=True)) == sorted(ids)


async def test_a_search_keeps_to_the_filter(stand: Stand, manager: TaskManager) -> None:
    await variety(stand, manager)
    assert await found(manager, "müller", "completed") == ["said"]
    assert await found(manager, "word", lane="slow", state="submitted") == ["plain", "deep"]
    assert await found(manager, "word", lane="slow", state="submitted", newest_first=True) == ["deep", "plain"]
    assert await found(manager, "e", name="billing.send", state="failed") == ["lost"]


async def test_lists_go_newest_first_page_by_page(manager: TaskManager) -> None:
    await manager.run_tasks([TaskSpec(text="x", task_id=f"t{n}") for n in range(5)])
    ids, cursor = list[str](), ""
    while True:
        page = await manager.list_tasks(limit=2, cursor=cursor, newest_first=True)
        ids += [task.task_id for task in page.tasks]
        if not (cursor := page.cursor):
            break
    assert ids == [f"t{n}" for n in reversed(range(5))]


async def test_tasks_of_a_batch_are_listed_by_its_index(stand: Stand, manager: TaskManager) -> None:
    await manager.run_tasks([TaskSpec(text=f"word {n}") for n in range(5)], batch="b")
    await manager.run_tasks([TaskSpec(text="word", task_id="other")])
    await stand.register("w")
    await stand.take("w", 2)
    await manager.cancel_task("b.4")

    async def listed(*states: str, **wanted: Any) -> list[str]:
        ids, cursor = list[str](), ""
        while True:
            page = await manager.list_tasks(*states, batch="b", limit=2, cursor=cursor, **wanted)
            ids += [task.task_id for task in page.tasks]
            if not (cursor := page.cursor):
                return ids

    assert await listed() == ["b.1", "b.2", "b.3", "b.5", "b.4"]
    assert await listed("working") == ["b.1", "b.2"] == await listed(owner="w")
    assert await listed("canceled") == ["b.4"]
    assert await found(manager, "word 2", batch="b") == ["b.3"]
    assert await listed("completed") == []
    assert (await manager.list_tasks(batch="none")).tasks == ()


async def test_tasks_that_a_worker_runs_are_listed_by_its_index(stand: Stand, manager: TaskManager) -> None:
    await manager.run_tasks([TaskSpec(text="x", task_id=f"t{n}") for n in range(3)])
    await stand.register("w", "v")
    await stand.take("w", 1)
    await stand.take("v", 1)

    async def listed(owner: str) -> list[str]:
        return [task.task_id for task in (await manager.list_tasks(owner=owner)).tasks]

    assert (await listed("w"), await listed("v"), await listed("none")) == (["t0"], ["t1"], [])


async def test_a_step_is_bounded_and_says_how_much_it_has_searched(manager: TaskManager) -> None:
    await manager.run_tasks([TaskSpec(text="hay", task_id=f"t{n:04}") for n in range(95)])
    page = await manager.search_tasks("needle")
    assert (page.tasks, page.searched, page.cursor) == ((), 95, "")


async def test_of_a_large_payload_the_beginning_is_searched(manager: TaskManager) -> None:
    await manager.run_task("near " + "x" * 200_000 + " far", task_id="t")
    assert await found(manager, "near") == ["t"]
    assert await found(manager, " far") == []


async def test_a_cursor_of_a_list_goes_on_as_a_search(manager: TaskManager) -> None:
    await manager.run_tasks([TaskSpec(text=f"word {n}", task_id=f"t{n}") for n in range(4)])
    first: Page = await manager.list_tasks(limit=2)
    rest = await manager.search_tasks("word", cursor=first.cursor)
    assert [task.task_id for task in rest.tasks] == ["t2", "t3"]
    with pytest.raises(InvalidTaskError):
        await manager.search_tasks("word", cursor="nonsense")
