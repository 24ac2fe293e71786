"""Entries that anybody pushes: both documented envelopes, and everything that cannot be understood."""

from __future__ import annotations

import hashlib

import pytest

from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.lua.operations import calling, control, flat, flat_resume, resume_with, run

pytestmark = pytest.mark.anyio

UNREADABLE = {
    "malformed": (b"{bad", "not a JSON object"),
    "no object": (b'"x"', "not a JSON object"),
    "empty": (b"", "not a JSON object"),
    "not UTF-8": (b'{"operation":"run","params":{"task_id":"a","x":"\xff"}}', "not UTF-8"),
    "a surrogate": (b'{"operation":"run","params":{"task_id":"a","x":"\xed\xa0\x80"}}', "not UTF-8"),
    "overlong": (b'{"operation":"run","params":{"task_id":"a","x":"\xc0\xaf"}}', "not UTF-8"),
    "unknown operation": (b'{"operation":"zap","params":{"task_id":"a"}}', "unknown operation"),
    "no operation": (b"{}", "unknown operation"),
    "a list": (b"[]", "unknown operation"),
    "no params": (b'{"operation":"run"}', "no params"),
    "no id": (b'{"operation":"run","params":{}}', "no task id"),
    "a number as id": (b'{"operation":"run","params":{"task_id":7}}', "no task id"),
    "an id with a space": (b'{"operation":"run","params":{"task_id":"a b"}}', "bad task id"),
    "an id with a colon": (b'{"operation":"run","params":{"task_id":"a:b"}}', "bad task id"),
    "an empty id": (b'{"operation":"run","params":{"task_id":""}}', "bad task id"),
    "a long id": (b'{"operation":"run","params":{"task_id":"%b"}}' % (b"a" * 129), "bad task id"),
    "deep": (b"[" * 20_000 + b"]" * 10_000, "not a JSON object"),
}


SERVED = {
    "nested": run("f1", "m1"),
    "flat": flat("f1", "m1"),
    "flat, no operation": b'{"operation": null, "type": "run", "task_id": "f1", "message": {"message_id": "m1"}}',
    "nested, no type": b'{"type": null, "operation": "run", "task_id": null,'
    b' "params": {"task_id": "f1", "message": {"message_id": "m1"}}}',
    "nested, no messages": b'{"operation": "run",'
    b' "params": {"task_id": "f1", "messages": null, "message": {"message_id": "m1"}}}',
}


@pytest.mark.parametrize("raw", SERVED.values(), ids=SERVED)
async def test_both_envelopes_are_served(space: Namespace, raw: bytes) -> None:
    await space.register("a")
    await space.push(raw)
    [delivery] = await space.take("a")
    assert (delivery.task_id, delivery.operation, delivery.lane) == ("f1", raw, space.queue)
    task = await space.task("f1")
    assert (task.message_id, task.origin) == ("m1", "foreign")
    assert await space.entries() == []
    await space.check()


@pytest.mark.parametrize(
    "raw",
    [
        b'{"operation":"run","params":{"task_id":"f1"}}',
        b'  {\n "params" : {"task_id" : "f1", "message": null}, "operation" : "run", "more": [1] }',
        b'{"operation":"run","params":{"task_id":"f1","message":{"message_id":7}}}',
    ],
)
async def test_a_run_without_a_message_id_is_known_by_its_bytes(space: Namespace, raw: bytes) -> None:
    await space.register("a")
    await space.push(raw, raw)
    assert len(await space.take("a")) == 1
    assert (await space.task("f1")).message_id == hashlib.sha1(raw).hexdigest()
    assert (await space.task("f1")).pending == 0


async def test_a_message_id_that_does_not_fit_is_known_by_its_hash(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1", "a|b\n" + "x" * 99))
    await space.take("a")
    assert len((await space.task("f1")).message_id) == 40


@pytest.mark.parametrize("case", list(UNREADABLE))
async def test_what_cannot_be_understood_is_set_aside_and_stops_nobody(space: Namespace, case: str) -> None:
    raw, reason = UNREADABLE[case]
    await space.register("a")
    await space.push(raw, run("f1"))
    assert [delivery.task_id for delivery in await space.take("a", 1)] == ["f1"]
    [item] = await space.store.unreadable(5)
    assert (item.reason, item.raw, item.size) == (reason, raw, len(raw))
    assert (await space.store.counts()).counters["unreadable"] == 1
    await space.check()


async def test_a_long_run_of_nonsense_is_passed_in_bounded_steps(space: Namespace) -> None:
    await space.register("a")
    await space.push(*[b"{"] * 200, run("f1"))
    assert not await space.take("a", 1)
    assert len(await space.entries()) > 100
    taken = [delivery for _ in range(4) for delivery in await space.take("a", 1)]
    assert [delivery.task_id for delivery in taken] == ["f1"]


async def test_other_content_under_a_known_message_id_is_set_aside(space: Namespace) -> None:
    await space.register("a", "b")
    await space.push(run("f1", "m1"))
    [delivery] = await space.take("a")
    await space.push(run("f1", "m1", text="other"))
    await space.take("a")
    await space.crash("a")
    await space.do("LPUSH", space.queue, run("f1", "m1", text="another"))
    [again] = await space.take("b")
    assert again.operation == delivery.operation
    assert ["other content" in reason for reason in await space.reasons()] == [True, True]
    await space.check()


async def test_a_message_for_an_ended_task_is_set_aside(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1"))
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.COMPLETED)
    await space.push(run("f1", "m2"))
    assert not await space.take("a")
    assert await space.reasons() == ["task f1 is completed"]
    await space.check()


async def test_pushed_orders_are_carried_out(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("t1"), run("t2"))
    [first, second] = await space.take("a", 2)
    await space.push(control("pause", "t1"), control("cancel", "t2"))
    await space.take("a")
    hints = await space.do("LRANGE", space.key("control:a"), 0, -1)
    assert hints == [f"pause:t1:{first.claim}".encode(), f"cancel:t2:{second.claim}".encode()]
    await space.settle("a", first, Settle.SUSPENDED)
    await space.push(flat("t1", "", "resume"))
    await space.take("a", 1)
    assert [await space.state(task) for task in ("t1", "t2")] == ["working", "canceled"]
    await space.check()


async def test_an_order_for_nobody_is_set_aside(space: Namespace) -> None:
    await space.register("a")
    await space.push(control("pause", "nobody"), control("resume", "nobody"))
    await space.take("a")
    assert await space.reasons() == ["resume of an unknown task", "pause of an unknown task"]


@pytest.mark.parametrize("raw", [resume_with("t1"), flat_resume("t1")], ids=["first", "second"])
async def test_a_pushed_resume_that_carries_a_message_answers_the_question(space: Namespace, raw: bytes) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.INPUT_REQUIRED)
    await space.push(raw, raw)
    [answered] = await space.take("a")
    assert (answered.turn, answered.operation) == (2, raw)
    assert not await space.take("a")
    await space.settle("a", answered, Settle.COMPLETED)
    await space.push(raw.replace(b"Friday", b"Monday").replace(b"answer", b"again"))
    assert not await space.take("a")
    assert await space.reasons() == ["task t1 is completed"]
    await space.check()


@pytest.mark.parametrize("raw", [resume_with("t1"), flat_resume("t1")], ids=["first", "second"])
async def test_a_pushed_resume_makes_no_task(space: Namespace, raw: bytes) -> None:
    await space.register("a")
    await space.push(raw)
    assert not await space.take("a")
    assert await space.reasons() == ["resume of an unknown task"]
    assert await space.store.get("t1") is None
    await space.check()


async def test_the_name_of_a_handler_is_known_of_pushed_tasks_too(space: Namespace) -> None:
    await space.register("a")
    await space.push(calling("t1", "billing.send"), run("t2"))
    await space.take("a")
    assert [(await space.task(task_id)).name for task_id in ("t1", "t2")] == ["billing.send", ""]


async def test_an_own_entry_of_nobody_is_dropped_and_counted(space: Namespace) -> None:
    await space.register("a")
    await space.push(b'{"_b":"ghost:7","operation":"run","params":{"task_id":"ghost"}}')
    assert not await space.take("a")
    assert (await space.store.counts()).counters["stale"] == 1
    await space.check()


async def test_a_cancel_that_came_first_ends_a_pushed_task(space: Namespace) -> None:
    await space.register("a")
    await space.store.cancel("f1", "asked")
    await space.push(run("f1"))
    assert await space.take("a") == []
    assert await space.state("f1") == "canceled"
    await space.check()


async def test_an_order_that_is_pushed_alone_makes_no_task(space: Namespace) -> None:
    await space.register("a")
    await space.push(control("cancel", "f1"))
    assert await space.take("a") == []
    assert await space.do("EXISTS", space.key("task:f1")) == 0
    await space.check()
