"""Schedules that code declares: whose they are, and which are removed when no live worker declares them any more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.core.definitions import Retired, Undeclared
from holdfast.core.records import WorkerKind
from holdfast.core.service import ServedLane, Service
from holdfast.defining import read_spec
from tests.lua.operations import introduction
from tests.schedules.stage import Stage

if TYPE_CHECKING:
    from holdfast.core.definitions import Put

pytestmark = pytest.mark.anyio

WORKER = "w"  # of the stage: it registers no catalog, as one of an earlier version


async def serve(
    stage: Stage, incarnation: str, application: str, *ids: str, kind: WorkerKind = WorkerKind.WORKER
) -> None:
    """A worker starts, and declares its schedules."""
    service = Service((ServedLane(stage.space.queue),), application=application, schedules=frozenset(ids))
    await stage.space.store.register(replace(introduction(incarnation), service=service, kind=kind))
    for one in ids:
        await declare(stage, one, application)


async def declare(stage: Stage, schedule_id: str, application: str = "", **spec: object) -> Put:
    return await stage.schedules.declare(schedule_id, read_spec({"text": "go", "every": 60, **spec}), application)


async def leave(stage: Stage, *incarnations: str) -> None:
    for one in incarnations:
        await stage.space.store.recover(one, "ended", charged=False)


async def retire(stage: Stage, seen: str = "") -> Retired:
    await stage.space.check()
    return await stage.space.store.retire_schedules(seen, 100)


async def ids(stage: Stage) -> set[str]:
    return {one.definition.schedule_id for one in (await stage.schedules.list()).schedules}


async def owner(stage: Stage, schedule_id: str) -> str:
    return (await stage.schedules.get(schedule_id)).definition.owner


async def test_what_no_live_worker_declares_is_removed_once_the_last_that_did_is_gone(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "old", "shop", "a", "b")
    await stage.set("by hand", every=60)
    await serve(stage, "new", "shop", "a")
    first = await retire(stage)
    assert first == Retired(first.picture)
    assert await retire(stage, first.picture) == first
    await leave(stage, "old")
    assert (await retire(stage, first.picture)).removed == (Undeclared("b", "shop"),)
    assert await ids(stage) == {"a", "by hand"}
    removed = next(one for one in await stage.events() if one[b"event"] == b"schedule-removed")
    assert removed[b"detail"] == b"no live worker of application shop declares it"


async def test_an_old_host_puts_it_back_for_as_long_as_it_runs(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "new", "shop", "a")
    seen = (await retire(stage)).picture
    await serve(stage, "old", "shop", "a", "b")
    assert (await retire(stage, seen)).removed == ()
    await leave(stage, "old")
    assert (await retire(stage, seen)).removed == (Undeclared("b", "shop"),)


async def test_a_late_word_of_a_worker_that_is_gone_does_not_last(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "new", "shop", "a")
    seen = (await retire(stage)).picture
    await declare(stage, "b", "shop")
    assert (await retire(stage, seen)).removed == (Undeclared("b", "shop"),)


async def test_nothing_is_removed_while_the_code_of_a_live_worker_is_not_known(stage: Stage) -> None:
    await serve(stage, "old", "shop", "a", "b")
    await leave(stage, "old")
    await serve(stage, "new", "shop", "a")
    assert (await retire(stage)).removed == ()
    assert await stage.space.store.undeclared_schedules(10) == ()
    await stage.space.do("HDEL", stage.space.key(f"worker:{WORKER}"), "kind")  # as the version before kinds left it
    assert (await retire(stage)).removed == ()
    await leave(stage, WORKER)
    assert (await retire(stage)).removed == (Undeclared("b", "shop"),)


async def test_an_application_without_a_pool_that_serves_keeps_its_schedules(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "w1", "shop", "a")
    await serve(stage, "w2", "bank", "b")
    await leave(stage, "w1")
    await serve(stage, "alone", "shop", kind=WorkerKind.SINGLE)
    found = await retire(stage)
    assert (found.removed, found.left) == ((), (Undeclared("a", "shop"),))
    assert await stage.space.store.undeclared_schedules(10) == (Undeclared("a", "shop"),)


async def test_without_a_name_nothing_is_removed_and_it_is_named(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "old", "", "a", "b c")
    await serve(stage, "new", "", "a")
    assert await stage.space.store.undeclared_schedules(10) == ()
    await leave(stage, "old")
    found = await retire(stage)
    assert (found.removed, found.left) == ((), (Undeclared("b c", ""),))
    assert found.left[0].remedy == "supervisor schedules unset 'b c'"
    assert await ids(stage) == {"a", "b c"}
    await leave(stage, "new")
    assert await stage.space.store.undeclared_schedules(10) == ()


async def test_one_without_an_owner_gets_one_and_is_otherwise_as_it_was(stage: Stage) -> None:
    await leave(stage, WORKER)
    await stage.set("a", every=60)
    await stage.until(61)
    before = await stage.schedules.get("a")
    assert (await declare(stage, "a")).word == "same"
    assert (await stage.schedules.get("a")).definition.declared
    assert (await declare(stage, "a", "shop")).word == "same"
    after = await stage.schedules.get("a")
    definition = replace(before.definition, owner="shop", declared=True)
    assert after == replace(before, definition=definition)
    assert (await declare(stage, "a")).word == "same"  # an old host without the name
    assert await owner(stage, "a") == "shop"
    assert await stage.schedules.owned("shop") == {"a"}


async def test_one_that_has_come_to_its_end_gets_an_owner_too(stage: Stage) -> None:
    await stage.set("a", every=60, end=stage.at(90) / 1000)
    await stage.until(120)
    assert (await declare(stage, "a", "shop", end=stage.at(90) / 1000)).word == "same"
    assert await owner(stage, "a") == "shop"


async def test_one_of_another_application_that_runs_is_left_alone(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "w1", "shop", "a")
    await serve(stage, "w2", "bank")
    assert [(await declare(stage, "a", name, every=5)).word for name in ("bank", "")] == ["foreign", "foreign"]
    assert (await declare(stage, "a", "bank")).word == "foreign"
    assert (await owner(stage, "a"), (await stage.schedules.get("a")).generation) == ("shop", 1)
    await leave(stage, "w1")
    assert (await declare(stage, "a", "bank")).word == "same"
    assert await owner(stage, "a") == "bank"


async def test_what_is_set_by_hand_or_by_a_file_of_the_same_name_is_not_the_code_s(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "w1", "shop", "a")
    await stage.set("a", every=5, owner="shop")
    await stage.set("f", every=5, owner="shop")
    await leave(stage, "w1")
    await serve(stage, "w2", "shop")
    assert (await retire(stage)).removed == ()
    assert await ids(stage) == {"a", "f"}


async def test_many_are_removed_in_steps(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "w1", "shop", *(f"s{n}" for n in range(5)))
    await leave(stage, "w1")
    await serve(stage, "w2", "shop")
    seen, removed = "", list[str]()
    for _ in range(3):
        found = await stage.space.store.retire_schedules(seen, 2)
        seen = found.picture
        removed += [one.schedule_id for one in found.removed]
        assert found.left == ()
    assert removed == [f"s{n}" for n in range(5)]
    assert await stage.space.store.retire_schedules(seen, 2) == Retired(seen)
    assert list(await stage.space.do("HKEYS", stage.space.key("catalogs"))) != []
    await leave(stage, "w2")
    await retire(stage, seen)
    assert list(await stage.space.do("HKEYS", stage.space.key("catalogs"))) == []
