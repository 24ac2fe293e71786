"""Schedules that code declares: whose they are, and which are removed when no live worker declares them any more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from holdfast.client.schedule_definition import read_spec
from holdfast.core.schedule_records import Retired, Undeclared
from holdfast.core.worker_records import ServedLane, ServedWork, WorkerKind
from holdfastd.steward.duties.schedule_duties import AWAY, UndeclaredSchedules
from tests.lua.operations import introduction
from tests.schedules.stage import Stage

if TYPE_CHECKING:
    from holdfast.core.schedule_records import Put

pytestmark = pytest.mark.anyio

WORKER = "w"  # of the stage: it registers no catalog


async def serve(
    stage: Stage, incarnation: str, application: str, *ids: str, kind: WorkerKind = WorkerKind.WORKER
) -> None:
    """A worker starts, and declares its schedules."""
    service = ServedWork((ServedLane(stage.space.queue),), application=application, schedules=frozenset(ids))
    await stage.space.store.register(replace(introduction(incarnation), service=service, kind=kind))
    for schedule_id in ids:
        await declare(stage, schedule_id, application)


async def declare(
    stage: Stage, schedule_id: str, application: str = "", asked: int | None = None, **spec: object
) -> Put:
    given = read_spec({"text": "go", "every": 60, **spec})
    return await stage.schedules.declare(schedule_id, given, application, asked)


async def leave(stage: Stage, *incarnations: str) -> None:
    for incarnation in incarnations:
        await stage.space.store.recover(incarnation, "ended", charged=False)


async def retire(stage: Stage, seen: str = "", at_once: int = 100) -> Retired:
    """A whole look, by id."""
    removed, left = set[Undeclared](), set[Undeclared]()
    while True:
        await stage.space.check()
        step = await stage.space.store.retire_schedules(seen, at_once)
        removed |= {*step.removed}
        left = {*(() if step.begins else left), *step.left}
        if not step.more:
            return Retired(step.token, _by_id(removed), _by_id(left), begins=step.begins)
        seen = step.token


def _by_id(schedules: set[Undeclared]) -> tuple[Undeclared, ...]:
    return tuple(sorted(schedules, key=lambda schedule: schedule.schedule_id))


async def ids(stage: Stage) -> set[str]:
    return {schedule.definition.schedule_id for schedule in (await stage.schedules.list()).schedules}


async def owner(stage: Stage, schedule_id: str) -> str:
    return (await stage.schedules.get(schedule_id)).definition.owner


async def test_what_no_live_worker_declares_is_removed_once_the_last_that_did_is_gone(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "old", "shop", "a", "b")
    await stage.set("by hand", every=60)
    await serve(stage, "new", "shop", "a")
    first = await retire(stage)
    assert first == Retired(first.token, begins=True)
    await leave(stage, "old")
    assert (await retire(stage, first.token)).removed == (Undeclared("b", "shop"),)
    assert await ids(stage) == {"a", "by hand"}
    removed = next(event for event in await stage.events() if event[b"event"] == b"schedule-removed")
    assert removed[b"detail"] == b"no live worker of application shop declares it"


async def test_an_old_host_puts_it_back_for_as_long_as_it_runs(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "new", "shop", "a")
    seen = (await retire(stage)).token
    await serve(stage, "old", "shop", "a", "b")
    assert (await retire(stage, seen)).removed == ()
    await leave(stage, "old")
    assert (await retire(stage, seen)).removed == (Undeclared("b", "shop"),)


async def test_a_late_word_of_a_worker_that_is_gone_does_not_last(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "new", "shop", "a")
    seen = (await retire(stage)).token
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
    digest = (await stage.space.do("HGET", stage.space.key("worker:new"), "catalog")).decode()
    await stage.space.do("DEL", stage.space.key(f"catalog:{digest}"))
    assert (await retire(stage)).removed == ()
    await stage.space.do("SADD", stage.space.key(f"catalog:{digest}"), "a")
    assert (await retire(stage)).removed == (Undeclared("b", "shop"),)


async def test_an_application_without_a_pool_that_serves_keeps_its_schedules(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "w1", "shop", "a")
    await serve(stage, "w2", "bank", "b")
    await leave(stage, "w1")
    await serve(stage, "alone", "shop", kind=WorkerKind.SINGLE)
    retired = await retire(stage)
    assert (retired.removed, retired.left) == ((), (Undeclared("a", "shop"),))
    assert await stage.space.store.undeclared_schedules(10) == (Undeclared("a", "shop"),)


async def test_without_a_name_nothing_is_removed_and_it_is_named(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "old", "", "a", "b c")
    await serve(stage, "new", "", "a")
    assert await stage.space.store.undeclared_schedules(10) == ()
    await leave(stage, "old")
    retired = await retire(stage)
    assert (retired.removed, retired.left) == ((), (Undeclared("b c", ""),))
    assert retired.left[0].remedy == "supervisor schedules remove 'b c'"
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


async def test_what_another_application_declares_is_not_removed_and_is_its_own_once_it_asks_again(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "w1", "shop", "a")
    await serve(stage, "w2", "bank", "a")
    assert await owner(stage, "a") == "shop"
    await serve(stage, "w3", "shop")
    await leave(stage, "w1")
    retired = await retire(stage)
    assert (retired.removed, retired.left) == ((), ())
    assert (await declare(stage, "a", "bank", asked=stage.at(0))).word == "same"
    assert (await owner(stage, "a"), (await stage.schedules.get("a")).generation) == ("bank", 1)
    await serve(stage, "w4", "bank")
    await leave(stage, "w2")
    assert (await retire(stage, retired.token)).removed == (Undeclared("a", "bank"),)


async def test_one_that_asks_again_does_not_undo_what_a_later_one_declares(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "w1", "bank", "a")
    await serve(stage, "old", "shop", "a")
    await stage.space.advance(1000)
    await serve(stage, "new", "shop", "a")
    await leave(stage, "w1")
    old, new = stage.at(0), stage.at(1)
    assert (await declare(stage, "a", "shop", every=5, asked=old)).word == "changed"
    assert (await declare(stage, "a", "shop", every=7, asked=new)).word == "changed"
    assert (await declare(stage, "a", "shop", every=5, asked=old)).word == "later"
    assert (await stage.schedules.get("a")).definition.cadence.startswith("every 7000 ")
    assert (await declare(stage, "a", "shop", every=7)).word == "same"
    assert (await declare(stage, "a", "shop", every=5)).word == "changed"
    await stage.space.do("HSET", stage.space.key("schedule:a"), "owner", "bank", "asked", 0)  # whose workers are gone
    assert (await declare(stage, "a", "shop", every=5, asked=new)).word == "same"
    assert (await declare(stage, "a", "shop", every=9, asked=old)).word == "later"


async def test_many_are_removed_in_steps(stage: Stage) -> None:
    names = [f"s{n:03}" for n in range(300)]
    await leave(stage, WORKER)
    await serve(stage, "w1", "shop", *names)
    await leave(stage, "w1")
    await serve(stage, "w2", "shop", "s007")
    first = await stage.space.store.retire_schedules("", 20)
    assert (first.begins, first.more, first.left) == (True, True, ())
    assert 0 < len(first.removed) < 100
    second = await retire(stage, first.token, 20)
    assert sorted([*first.removed, *second.removed], key=lambda schedule: schedule.schedule_id) == [
        Undeclared(name, "shop") for name in names if name != "s007"
    ]
    assert await stage.space.store.retire_schedules(second.token, 20) == Retired(second.token)
    assert set(await stage.space.do("SMEMBERS", stage.space.key("declared"))) == {b"s007"}
    assert len(await stage.space.do("SMEMBERS", stage.space.key("catalog_digests"))) == 1
    await leave(stage, "w2")
    await retire(stage, second.token)
    assert await stage.space.do("EXISTS", stage.space.key("catalog_digests")) == 0


async def test_many_workers_are_looked_at_in_steps_and_anew_where_one_comes(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "last", "shop", "a")
    await serve(stage, "w0", "shop")
    service = ServedWork((ServedLane(stage.space.queue),), application="shop", schedules=frozenset())
    for number in range(1, 1200):
        await stage.space.store.register(replace(introduction(f"w{number}"), service=service))
    await leave(stage, "last")
    step = await stage.space.store.retire_schedules("", 100)
    assert (step.begins, step.more, step.removed) == (True, True, ())
    await leave(stage, "w9")
    await serve(stage, "late", "shop", "a")
    again = await stage.space.store.retire_schedules(step.token, 100)
    assert (again.begins, again.more) == (True, True)
    assert (await retire(stage, again.token)).removed == ()
    await leave(stage, "late")
    assert (await retire(stage, again.token)).removed == (Undeclared("a", "shop"),)


async def test_nothing_is_looked_at_before_something_changes(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "old", "shop", "a", "b")
    await serve(stage, "new", "shop", "a")
    seen = (await retire(stage)).token
    await stage.space.advance(60_000)
    assert await retire(stage, seen) == Retired(seen)
    await leave(stage, "old")
    assert (await retire(stage, seen)).removed == (Undeclared("b", "shop"),)


async def test_a_worker_that_drains_declares_nothing(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "old", "shop", "a", "b")
    await serve(stage, "new", "shop", "a")
    seen = (await retire(stage)).token
    await stage.space.store.renew("old", "live", 0, [])
    assert await retire(stage, seen) == Retired(seen)
    await stage.space.store.renew("old", "draining", 0, [])
    assert (await retire(stage, seen)).removed == (Undeclared("b", "shop"),)


async def test_stewards_name_what_is_left_once_and_that_of_an_application_when_it_stays_away(stage: Stage) -> None:
    await leave(stage, WORKER)
    await serve(stage, "shop", "shop", "a")
    await serve(stage, "nameless", "", "b")
    await serve(stage, "bank", "bank")
    await leave(stage, "shop", "nameless")
    clock = [0.0]
    steward = UndeclaredSchedules(stage.space.store, lambda: clock[0])

    async def named() -> list[tuple[Any, Any]]:
        """The log lines of this look and of one a while later."""
        with capture_logs() as logs:
            for _ in range(2):
                await steward.run_once()
                await stage.space.advance(60_000)
        return [(line["schedule"], line.get("application")) for line in logs]

    assert await named() == [("b", None)]
    clock[0] = AWAY
    assert await named() == [("a", "shop")]
    await serve(stage, "back", "shop", "a")
    assert await named() == []
    await leave(stage, "back")
    assert await named() == []
