"""Acts on what is at least so old: to a millisecond of the store's clock, however the age is written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from holdfast import TaskManager
from holdfast.client.bulk_steps import BulkSteps, asked_change
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_filter import Age, TaskFilter
from holdfast.core.bulk_changes import BulkState, BulkVerb
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.store import Store
from holdfast_config import Settings
from holdfast_config.settings import MEMORY
from holdfastd.operations import dead, tasks, unreadable
from holdfastd.operations.act import Doing, Face, Operator
from holdfastd.operations.notes import AskedChange
from tests.lua.namespace import Namespace, namespace

pytestmark = pytest.mark.anyio
APART = 60_000  # ms between two items
IDS = ["t0", "t1", "t2"]  # the first is 3 * APART old


@pytest.fixture
async def space() -> AsyncIterator[Namespace]:
    async with namespace(MEMORY) as made:
        yield made


def doing_on(space: Namespace) -> Doing:
    async def keep(_: object) -> None:
        pass

    asked = AskedChange("ann", "h", keep, "x")
    manager = TaskManager(space.store, queue=space.queue)
    return Doing(space.store, manager, Settings(), Operator("ann", "h", Face.COMMAND), asked)


@dataclass(frozen=True)
class Ageing:
    """`make` makes an item. `act` acts on items of an age, and `left` answers the ids of the others."""

    name: str
    make: Callable[[Namespace, str], Awaitable[object]]
    act: Callable[[Doing, Age], Awaitable[object]]
    left: Callable[[Store], Awaitable[list[str]]]

    def __str__(self) -> str:
        return self.name


async def set_aside(space: Namespace, task_id: str) -> None:
    await space.push(b"{" + task_id.encode())
    await space.take("w")


async def fail(space: Namespace, task_id: str) -> None:
    await space.submit(task_id)
    [delivery] = await space.take("w")
    await space.settle("w", delivery, Settle.EXHAUSTED, error="ValueError\napp:pay\nno customer #")


async def unread(store: Store) -> list[str]:
    return [entry.raw[1:].decode() for entry in reversed(await store.unreadable(10))]


async def letters(store: Store) -> list[str]:
    return [task.task_id for task in reversed((await store.dead_letters(10)).tasks)]


async def known(store: Store) -> list[str]:
    return [task_id for task_id in IDS if await store.get(task_id)]


async def bulk(doing: Doing, older: Age) -> None:
    given = TaskFilter(state=[State.FAILED], older=older)
    begun = await doing.store.begin_bulk(asked_change(BulkVerb.REMOVE, given, who="ann", origin="h"))
    steps = BulkSteps(doing.store, SubmitRetries(0.0))
    while begun.state is BulkState.RUNNING:
        begun, _ = await steps.noted_step(begun)


async def kind_of(doing: Doing) -> str:
    return (await doing.manager.get_task("t0")).error_kind


async def remove_entries(doing: Doing, older: Age) -> None:
    await unreadable.remove_all_unreadable(doing, unreadable.RemoveAllUnreadable(older=older))


async def remove_dead(doing: Doing, older: Age) -> None:
    await dead.remove_all_dead(doing, dead.RemoveAllDead(older=older))


async def remove_dead_of_a_kind(doing: Doing, older: Age) -> None:
    await dead.remove_all_dead(doing, dead.RemoveAllDead(older=older, error=await kind_of(doing)))


async def retry_dead(doing: Doing, older: Age) -> None:
    await dead.retry_all_dead(doing, dead.RetryAllDead(older=older))


async def clean(doing: Doing, older: Age) -> None:
    await tasks.clean_tasks(doing, tasks.CleanTasks(older=older))


AGEINGS = [
    Ageing("entries", set_aside, remove_entries, unread),
    Ageing("dead letters", fail, remove_dead, letters),
    Ageing("dead letters of a kind", fail, remove_dead_of_a_kind, letters),
    Ageing("retries of dead letters", fail, retry_dead, letters),
    Ageing("ended tasks", fail, clean, known),
    Ageing("bulk", fail, bulk, known),
]


@pytest.mark.parametrize(("older", "left"), [(None, 0), ("0", 0), ("1m", 0), ("60.001s", 1), (120.001, 2), ("1h", 3)])
@pytest.mark.parametrize("ageing", AGEINGS, ids=str)
async def test_items_that_are_at_least_so_old_go_and_the_others_stay(
    space: Namespace, ageing: Ageing, older: Age, left: int
) -> None:
    await space.register("w")
    for task_id in IDS:
        await ageing.make(space, task_id)
        await space.advance(APART)
    await ageing.act(doing_on(space), older)
    assert await ageing.left(space.store) == IDS[len(IDS) - left :]
