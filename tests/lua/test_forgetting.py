"""Deleting before its time: tasks that have ended, and a whole namespace."""

from __future__ import annotations

import pytest

from holdfast.core.counts import Obliterated
from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.lua.operations import run

pytestmark = pytest.mark.anyio


async def obliterate(space: Namespace, *, force: bool = False) -> list[Obliterated]:
    """All steps of it."""
    steps = [await space.store.obliterate("", 5, force=force)]
    while steps[-1].cursor:
        steps.append(await space.store.obliterate(steps[-1].cursor, 5, force=force))
    return steps


async def test_only_what_has_ended_is_forgotten(space: Namespace) -> None:
    await space.register("a")
    await space.submit("done", "held", "waits")
    done, _ = await space.take("a", 2)
    await space.settle("a", done, Settle.COMPLETED)
    await space.submit("later", delay_ms=1000)
    assert await space.store.forget_tasks(["done", "held", "waits", "later", "unknown"]) == 1
    assert await space.store.get("done") is None
    snapshot = await space.check()
    assert not [key for key in snapshot if key.endswith(":done")]


async def test_nothing_that_is_kept_beside_a_task_outlives_it(space: Namespace) -> None:
    await space.register("a")
    assert await space.store.note("t1", "c1", "one", b"{}") == "noted"
    await space.submit("t1")
    await space.store.add("t1", ran=True, added=(b"{}",), feedback=b"{}", push=b'{"token": "a-secret"}')
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.COMPLETED)
    assert await space.store.forget_tasks(["t1"]) == 1
    kinds = ("about:", "added:", "feedback:", "abouts", "noted", "pushes", "conversation", "owned:")
    assert [key for key in await space.check() if key.partition("}:")[2].startswith(kinds)] == []


async def test_nothing_is_left_of_an_obliterated_namespace(space: Namespace) -> None:
    outside = f"{space.queue}:outside"
    await space.register("a")
    await space.submit("t1", "t2", lane=outside)
    await space.submit("t3", "t4", "t5", "t6")
    [first, *_] = await space.take("a", 2)
    await space.settle("a", first, Settle.FAILED)
    await space.push(run("f1"), lane=outside)
    await space.crash("a")
    steps = await obliterate(space)
    assert sum(step.keys for step in steps) > 10
    left = await space.do("KEYS", f"*{space.queue}*")
    assert {key.decode() for key in left} <= {space.key("meta")}


async def test_other_namespaces_are_left_alone(space: Namespace) -> None:
    other = f"{{{space.queue}x}}:task:t1"
    await space.do("SET", other, "x")
    await space.submit("t1")
    await obliterate(space)
    assert await space.do("GET", other) == b"x"
    await space.do("DEL", other)


async def test_a_namespace_with_workers_is_obliterated_only_by_force(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    assert await obliterate(space) == [Obliterated(0, "", 2)]
    assert len(await space.entries()) == 1
    steps = await obliterate(space, force=True)
    assert not any(step.workers for step in steps)
    assert await space.entries() == []
    await space.register("a")
    assert await space.take("a") == []
