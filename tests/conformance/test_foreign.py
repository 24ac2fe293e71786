"""Entries of producers that only push: understood, made tasks of, or set aside with the reason."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from tests.conformance.stand import Stand
from tests.lua.operations import LARGE, admission, control, flat, run, sha1

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("entry", [run("t1"), flat("t1", "m"), run("t1", extra=[12345678901234567890, 1.5, None])])
async def test_the_documented_envelopes_are_served(stand: Stand, entry: bytes) -> None:
    await stand.register("a")
    await stand.push(entry)
    [delivery] = await stand.take("a")
    assert (delivery.task_id, delivery.operation, delivery.turn) == ("t1", entry, 1)
    task = await stand.task("t1")
    assert (task.state, task.origin, task.message_id) == ("working", "foreign", "m")
    assert await stand.settle("a", delivery, Settle.COMPLETED) == "OK"


async def test_a_run_without_a_message_id_is_known_by_its_bytes(stand: Stand) -> None:
    await stand.register("a")
    entry = run("t1", None)
    await stand.push(entry, entry)
    assert len(await stand.take("a")) == 1
    assert (await stand.task("t1")).message_id == sha1(entry)


async def test_orders_may_come_through_the_queue(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2")
    await stand.store.pause("t2", "x")
    await stand.push(control("cancel", "t1"), control("resume", "t2"))
    taken = await stand.take("a", 1)
    await stand.take("a", 1)
    assert [delivery.task_id for delivery in taken] == ["t1"]
    assert await stand.state("t1") == "canceled"


BAD = {
    b"{": "not a JSON object",
    b"[1]": "unknown operation",
    b'"x"': "not a JSON object",
    b'{"operation": "dance"}': "unknown operation",
    b'{"operation": null, "task_id": "t2"}': "unknown operation",
    b'{"operation": "run"}': "no params",
    b'{"operation": "run", "params": null}': "no params",
    b'{"operation": "run", "params": {}}': "no task id",
    b'{"operation": "run", "params": {"task_id": "a b"}}': "bad task id",
    b'{"operation": "run", "params": {"task_id": "%s"}}' % (b"x" * 129): "bad task id",
    b'{"operation": "run", "params": {"task_id": "\xff"}}': "not UTF-8",
    b"\xef\xbb\xbf{}": "not a JSON object",
    b"\x00": "not a JSON object",
    b"nul": "not a JSON object",
    b"[" * 20_000: "not a JSON object",
    control("pause", "nobody"): "pause of an unknown task",
}


@pytest.mark.parametrize("entry", BAD, ids=range(len(BAD)))
async def test_what_cannot_be_understood_is_set_aside_with_its_reason(stand: Stand, entry: bytes) -> None:
    await stand.register("a")
    await stand.push(entry, run("t1"))
    assert [delivery.task_id for delivery in await stand.take("a")] == ["t1"]
    [unreadable] = await stand.store.unreadable(10)
    assert (unreadable.raw, unreadable.size) == (entry, len(entry))
    assert unreadable.reason == BAD[entry]
    assert (await stand.store.counts()).counters["unreadable"] == 1


async def test_a_large_entry_is_read_by_the_worker(stand: Stand) -> None:
    await stand.register("a")
    entry = run("t1", text="x" * LARGE)
    await stand.push(entry, run("t2"))
    pulled = await stand.pull("a")
    assert (pulled.inbox, pulled.deliveries) == (1, ())
    assert await stand.store.inbox("a") == (stand.queue, entry)
    assert await stand.store.admit("a", admission(entry)) == "new"
    assert await stand.store.admit("a", admission(entry)) == "gone"
    assert [delivery.task_id for delivery in await stand.take("a")] == ["t1", "t2"]


async def test_an_inbox_goes_back_when_its_worker_dies(stand: Stand) -> None:
    await stand.register("a", "b")
    entry = run("t1", text="x" * LARGE)
    await stand.push(entry)
    await stand.pull("a")
    await stand.crash("a")
    assert await stand.store.inbox("a") is None
    assert (await stand.pull("b")).inbox == 1
    assert await stand.store.inbox("b") == (stand.queue, entry)
