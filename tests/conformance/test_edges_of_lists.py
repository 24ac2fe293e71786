"""Lists at their edges: each page is full until the last, the last is not empty, and ages count to a millisecond."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import BatchPlace, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.core.tasks import Page, TextSearch, Wanted
from tests.conformance.stand import Stand
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio
ITEMS = 4
FAILURE = "ValueError\napp:pay\nno customer #"


@dataclass(frozen=True)
class Listing:
    """`fill` makes ITEMS items. `read` answers the ids of a page, and the cursor of the next: empty at the end.
    `has_steps`: a page is one step of a search, which may find nothing."""

    name: str
    fill: Callable[[Stand], Awaitable[object]]
    read: Callable[[Stand, int, str], Awaitable[tuple[list[str], str]]]
    has_steps: bool = False

    def __str__(self) -> str:
        return self.name


def ids(page: Page) -> tuple[list[str], str]:
    return [task.task_id for task in page.tasks], page.cursor


def of_tasks(wanted: Wanted) -> Callable[[Stand, int, str], Awaitable[tuple[list[str], str]]]:
    async def read(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
        return ids(await stand.store.tasks(wanted, limit, cursor))

    return read


async def submit(stand: Stand) -> None:
    await stand.submit(*(f"t{n}" for n in range(ITEMS)))


async def delay(stand: Stand) -> None:
    await stand.submit(*(f"t{n}" for n in range(ITEMS)), delay_ms=60_000)


async def end(stand: Stand, kind: Settle = Settle.COMPLETED, **more: str) -> None:
    await stand.register("w")
    for n in range(ITEMS):
        await stand.submit(f"t{n}")
        [delivery] = await stand.take("w", 1)
        await stand.settle("w", delivery, kind, **more)
        await stand.advance(10)


async def trim(stand: Stand, keep_ms: int = 0) -> None:
    """Only a ledger remembers these tasks now; a store without a ledger keeps them."""
    if stand.remembers:
        await stand.advance(1)
        await stand.store.trim(keep_ms, 100)


async def end_and_trim(stand: Stand) -> None:
    await end(stand)
    await trim(stand)


async def end_and_trim_half(stand: Stand) -> None:
    await end(stand)
    await trim(stand, 25)
    assert not stand.remembers or (await stand.store.counts()).counters["trimmed"] == ITEMS // 2


async def fail(stand: Stand) -> None:
    await end(stand, Settle.EXHAUSTED, reason="no", error=FAILURE)


async def of_a_kind(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
    kind = (await stand.task("t0")).error_kind
    return ids(await stand.store.tasks(Wanted(error=kind), limit, cursor))


async def run_batch(stand: Stand) -> None:
    await TaskManager(stand.store, queue=stand.queue).run_tasks([TaskSpec(text="x")] * ITEMS, batch="b")


async def run_batches(stand: Stand) -> None:
    for n in range(ITEMS):
        await TaskManager(stand.store, queue=stand.queue).run_tasks([TaskSpec(text="x")], batch=f"b{n}")


async def of_batch(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
    found, more = await stand.store.batch_tasks("b", int(cursor or 0), limit)
    return [each.task_id for each in found], str(found[-1].place) if more else ""


async def batches(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
    page = await stand.store.batches(limit, cursor)
    return [each.batch_id for each in page.batches], page.cursor


async def dead(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
    return ids(await stand.store.dead_letters(limit, cursor))


async def set_schedules(stand: Stand) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    for n in range(ITEMS):
        await manager.schedules.upsert(f"s{n}", every=3600, text="x")


async def schedules(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
    page = await stand.store.schedules(limit, cursor)
    return [each.definition.schedule_id for each in page.schedules], page.cursor


async def note(stand: Stand) -> None:
    for n in range(ITEMS):
        await stand.store.note(f"t{n}", "c", "ann", b"{}")


async def noted(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
    found, following = await stand.store.noted(limit, int(cursor or 0))
    return list(found), "" if following < 0 else str(following)


async def sought(stand: Stand, limit: int, cursor: str) -> tuple[list[str], str]:
    return ids(await stand.store.search(Wanted(), TextSearch("hello"), limit, cursor))


LISTINGS = [
    Listing("submitted", submit, of_tasks(Wanted())),
    Listing("newest", submit, of_tasks(Wanted(newest_first=True))),
    Listing("delayed", delay, of_tasks(Wanted((State.DELAYED,)))),
    Listing("ended", end, of_tasks(Wanted())),
    Listing("remembered", end_and_trim, of_tasks(Wanted())),
    Listing("half remembered", end_and_trim_half, of_tasks(Wanted())),
    Listing("of a kind of errors", fail, of_a_kind),
    Listing("of a batch", run_batch, of_tasks(Wanted(batch="b"))),
    Listing("places of a batch", run_batch, of_batch),
    Listing("batches", run_batches, batches),
    Listing("dead letters", fail, dead),
    Listing("schedules", set_schedules, schedules),
    Listing("noted", note, noted),
    Listing("search", submit, sought, has_steps=True),
]


@pytest.mark.parametrize("listing", LISTINGS, ids=str)
async def test_each_page_is_full_until_the_last_which_is_not_empty(stand: Stand, listing: Listing) -> None:
    await listing.fill(stand)
    whole, _ = await listing.read(stand, 100, "")
    assert len(whole) == len(set(whole)) == ITEMS
    for limit in range(1, ITEMS + 2):
        pages, cursor = list[list[str]](), ""
        while not pages or cursor:
            page, cursor = await listing.read(stand, limit, cursor)
            if page or not listing.has_steps:
                pages.append(page)
        assert pages == [whole[start : start + limit] for start in range(0, ITEMS, limit)], f"pages of {limit}"


# Five tasks that were accepted a second apart, the last a second ago. Each differs from the others in one thing.

SECOND = 1000
PLACES: dict[str, dict[str, Any]] = {
    "plain": {},
    "lane": {"lane": "slow"},
    "name": {"name": "billing"},
    "batch": {"batch": "b"},
    "late": {},
}
AGES = {name: (len(PLACES) - place) * SECOND for place, name in enumerate(PLACES)}
FILTERS = [
    (Wanted(), [*PLACES]),
    (Wanted(lane="slow"), ["lane"]),
    (Wanted(lane="none"), []),
    (Wanted(name="billing"), ["name"]),
    (Wanted(name="none"), []),
    (Wanted(batch="b"), ["batch"]),
    (Wanted(batch="none"), []),
    (Wanted(lane="slow", name="billing"), []),
    (Wanted(older_ms=0), [*PLACES]),
    (Wanted(newer_ms=0), []),
    (Wanted(older_ms=AGES["name"]), ["plain", "lane", "name"]),
    (Wanted(older_ms=AGES["name"] + 1), ["plain", "lane"]),
    (Wanted(newer_ms=AGES["name"]), ["name", "batch", "late"]),
    (Wanted(newer_ms=AGES["name"] - 1), ["batch", "late"]),
    (Wanted(older_ms=AGES["name"], newer_ms=AGES["lane"]), ["lane", "name"]),
    (Wanted(older_ms=AGES["late"] + 1, name="billing"), ["name"]),
]
SCENES: dict[str, tuple[dict[str, int], Settle | None]] = {
    "submitted": ({}, None),
    "delayed": ({"delay_ms": 60_000}, None),
    "asking": ({}, Settle.INPUT_REQUIRED),
    "completed": ({}, Settle.COMPLETED),
    "failed": ({}, Settle.EXHAUSTED),
}


async def make(stand: Stand, scene: str) -> None:
    await stand.register("w")
    more, settled = SCENES[scene]
    for task_id, given in PLACES.items():
        options = SubmitOptions(batch=BatchPlace(given["batch"], 1, 1, "d")) if "batch" in given else None
        lane = given.get("lane", stand.queue)
        given = {**more, "options": options, "name": given.get("name", "")}
        await stand.store.submit_with_options([submission(task_id, lane, **given)])
        if settled:
            [delivery] = (await stand.pull("w", 1, lanes=[lane])).deliveries
            await stand.settle("w", delivery, settled, error=FAILURE if settled is Settle.EXHAUSTED else "")
        await stand.advance(SECOND)


async def require(stand: Stand, wanted: Wanted, expected: list[str]) -> None:
    """The store finds these tasks, but for the task whose handler gives its failure another kind."""
    expected = [task_id for task_id in expected if not (wanted.error and task_id == "name")]
    for newest_first in (False, True):
        asked = replace(wanted, newest_first=newest_first)
        assert sorted(await all_of(stand.store.tasks, asked, limit=2)) == sorted(expected), asked
    search = partial(stand.store.search, wanted, TextSearch("hello"))
    assert sorted(await all_of(search, limit=2)) == sorted(expected), f"search {wanted}"


async def all_of(read: Callable[..., Awaitable[Page]], *given: Wanted, limit: int) -> list[str]:
    found, cursor = list[str](), None
    while cursor != "":
        page = await read(*given, limit, cursor or "")
        found, cursor = found + [task.task_id for task in page.tasks], page.cursor
    return found


@pytest.mark.parametrize("scene", SCENES)
async def test_each_filter_finds_its_tasks_and_ages_count_to_a_millisecond(stand: Stand, scene: str) -> None:
    await make(stand, scene)
    for wanted, expected in FILTERS:
        await require(stand, wanted, expected)
    if scene == "failed":
        kind = (await stand.task("plain")).error_kind
        for wanted, expected in FILTERS:
            await require(stand, replace(wanted, error=kind), expected)


@pytest.mark.parametrize("scene", ["completed", "failed"])
async def test_each_filter_finds_the_same_where_only_a_ledger_remembers(stand: Stand, scene: str) -> None:
    await make(stand, scene)
    kind = (await stand.task("plain")).error_kind
    await trim(stand)
    late = 1 if stand.remembers else 0  # ms that the trim has taken
    for wanted, expected in FILTERS:
        older_ms = None if wanted.older_ms is None else wanted.older_ms + late
        newer_ms = wanted.newer_ms and wanted.newer_ms + late
        for error in {"", kind}:
            await require(stand, replace(wanted, older_ms=older_ms, newer_ms=newer_ms, error=error), expected)
    other = State.COMPLETED if scene == "failed" else State.FAILED
    await require(stand, Wanted((other,)), [])
    await require(stand, Wanted(owner="w"), [])


async def test_dead_letters_are_those_that_failed_up_to_a_moment(stand: Stand) -> None:
    await make(stand, "failed")
    for task_id in PLACES:
        failed_ms = (await stand.task(task_id)).finished_ms
        assert failed_ms is not None
        for early, count in ((0, 1), (1, 0)):
            read = partial(stand.store.dead_letters, before_ms=failed_ms - early)
            expected = [*PLACES][: [*PLACES].index(task_id) + count]
            assert await all_of(read, limit=2) == expected[::-1]


@pytest.mark.parametrize("first", ["", "slow"])
async def test_the_oldest_task_is_that_of_all_lanes(stand: Stand, first: str) -> None:
    assert (await stand.store.counts()).oldest_ms is None
    for lane in (first, "slow" if not first else "", first):
        await stand.submit(f"{lane}{await stand.store.clock_ms()}", lane=lane or None)
        await stand.advance(SECOND)
    assert (await stand.store.counts()).oldest_ms == await stand.store.clock_ms() - 3 * SECOND
