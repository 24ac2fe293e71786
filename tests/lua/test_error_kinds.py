"""The kinds of errors of failed tasks: their index, their numbers, their bounds."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.error_kinds import ErrorKind
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from tests.lua.namespace import Namespace

pytestmark = pytest.mark.anyio

A, B = "ValueError\napp.tasks:pay\nno customer #", "KeyError\napp.tasks:pay\n…"


async def kinds(space: Namespace, handler: str | None = None, **more: Any) -> list[ErrorKind]:
    asked = {"since_ms": 0, "first": 0, "limit": 300} | more
    _, found = await space.store.error_kinds(handler, **asked)
    return list(found)


async def fail(space: Namespace, task_id: str, error: str, kind: Settle = Settle.EXHAUSTED, name: str = "pay") -> None:
    await space.submit(task_id, name=name)
    [delivery] = await space.take("a")
    delay = 60_000 if kind is Settle.RETRY else 0
    assert await space.settle("a", delivery, kind, error=error, result=b"{}", delay_ms=delay) == "OK"


async def ids(space: Namespace, kind: str, *states: State) -> list[str]:
    page = await space.store.tasks(Wanted(states=states, error=kind), 100)
    return sorted(task.task_id for task in page.tasks)


async def test_tasks_that_failed_alike_are_one_kind_with_its_numbers(space: Namespace) -> None:
    await space.register("a")
    await fail(space, "t1", A)
    await space.advance(5000)
    await fail(space, "t2", A)
    await fail(space, "t3", B)
    await fail(space, "t4", A, Settle.REJECTED)
    await fail(space, "t5", A, name="other")
    first, second, third = await kinds(space)
    assert {each.handler for each in (first, second, third)} == {"pay", "other"}
    [one] = [each for each in await kinds(space, "pay") if each.type == "ValueError"]
    assert (one.place, one.message, one.runs, one.failed, one.dead) == ("app.tasks:pay", "no customer #", 3, 3, 2)
    assert one.last_ms - one.first_ms == 5000
    assert await ids(space, one.kind_id) == ["t1", "t2", "t4"]
    assert await ids(space, one.kind_id, State.REJECTED) == ["t4"]
    assert (await space.task("t1")).error_kind == one.kind_id
    await space.check()


async def test_a_task_counts_for_the_kind_of_its_last_failure(space: Namespace) -> None:
    await space.register("a")
    await fail(space, "t1", A, Settle.RETRY)
    [one] = await kinds(space)
    assert (one.runs, one.failed, one.dead) == (1, 0, 0)
    assert await ids(space, one.kind_id, State.DELAYED) == ["t1"]
    await space.advance(60_000)
    await space.store.promote(10)
    [again] = await space.take("a")
    await space.settle("a", again, Settle.EXHAUSTED, error=B)
    [other] = await kinds(space)
    assert (other.type, other.runs, other.failed, other.dead) == ("KeyError", 1, 1, 1)
    assert await ids(space, one.kind_id) == []
    await space.check()


async def test_a_retried_task_stays_in_its_kind_and_needs_nobody(space: Namespace) -> None:
    await space.register("a")
    await fail(space, "t1", A)
    await space.store.retry("t1", "")
    [one] = await kinds(space)
    assert (one.failed, one.dead) == (0, 0)
    assert await ids(space, one.kind_id) == ["t1"]
    await space.check()


async def test_a_kind_is_forgotten_with_its_last_task(space: Namespace) -> None:
    await space.register("a")
    await fail(space, "t1", A)
    await fail(space, "t2", A)
    await space.store.purge_dead(["t1"])
    assert [each.failed for each in await kinds(space)] == [1]
    await space.check()
    await space.advance(1000)
    await space.store.trim(0, 100)
    assert await kinds(space) == []
    snapshot = await space.check()
    assert not [key for key in snapshot if "error" in key]


async def test_a_handler_has_at_most_200_kinds_and_one_for_the_others(space: Namespace) -> None:
    await space.register("a")
    for number in range(203):
        await fail(space, f"t{number}", f"E{number}\n\nx")
    await fail(space, "t-again", "E3\n\nx")
    await fail(space, "t-else", "E500\n\nx", name="else")
    found = await kinds(space, "pay")
    assert len(found) == 201
    [other] = [each for each in found if each.type == "other"]
    assert other.failed == 3
    assert await ids(space, other.kind_id) == ["t200", "t201", "t202"]
    assert [each.failed for each in found if each.type == "E3"] == [2]
    assert [each.type for each in await kinds(space, "else")] == ["E500"]
    await space.check()
    await space.store.purge_dead(["t0"])
    await fail(space, "t-new", "E900\n\nx")
    assert "E900" in {each.type for each in await kinds(space, "pay")}
    await space.check()


async def test_a_crash_that_counts_is_a_kind_by_its_cause(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", name="pay")
    await space.take("a")
    await space.crash("a")
    [one] = await kinds(space)
    assert (one.type, one.handler, one.runs, one.failed) == ("WorkerDied", "pay", 1, 0)
    await space.check()


async def test_the_course_counts_tasks_by_their_last_failure(space: Namespace) -> None:
    await space.register("a")
    start = await space.store.clock_ms()
    await fail(space, "t1", A)
    await fail(space, "t2", A, Settle.RETRY)
    await space.advance(5000)
    await fail(space, "t3", A, Settle.REJECTED)
    [one] = await kinds(space, since_ms=start, course=(start, start + 10_000, 2))
    assert (one.course, one.latest) == ((2, 1), "t1")  # the only dead letter
    assert await kinds(space, since_ms=start + 6000) == []


async def test_kinds_come_in_pages_the_latest_first(space: Namespace) -> None:
    await space.register("a")
    for number in range(3):
        await fail(space, f"t{number}", f"E{number}\n\nx")
        await space.advance(1000)
    count, found = await space.store.error_kinds(None, 0, 1, 1)
    assert (count, [each.type for each in found]) == (3, ["E1"])


async def test_the_index_is_made_anew_from_the_records(space: Namespace) -> None:
    await space.register("a")
    await fail(space, "t1", A)
    await fail(space, "t2", A, Settle.REJECTED)
    await space.do("DEL", space.key("errors"))
    await space.do("SET", space.key("errors"), "x")
    await space.store.mend()
    [one] = await kinds(space)
    assert (one.failed, one.dead) == (2, 1)


async def test_the_filter_asks_the_record(space: Namespace) -> None:
    await space.register("a")
    await fail(space, "t1", A)
    await fail(space, "t2", B)
    kind = (await space.task("t1")).error_kind
    await space.do("ZADD", space.key(f"error_tasks:{kind}"), 1, "t2")
    assert await ids(space, kind) == ["t1"]
    await space.store.purge_dead(["t1"])


@pytest.mark.parametrize("key", ["error", "errors_of", "error_tasks"])
async def test_a_key_of_another_type_stops_no_settlement(space: Namespace, key: str) -> None:
    await space.register("a")
    await fail(space, "t1", A)
    kind = (await space.task("t1")).error_kind
    name = space.key(f"{key}:{'pay' if key == 'errors_of' else kind}")
    await space.do("DEL", name)
    await space.do("SET", name, "x")
    await fail(space, "t2", A)
    assert "t2" in await ids(space, kind)
