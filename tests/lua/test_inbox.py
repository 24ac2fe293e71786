"""Entries too large for the scripts: whole to a worker's inbox, read there, admitted at the head."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from holdfast.core.worker_records import Admission
from holdfast.worker.worker import admission
from tests.lua.namespace import Namespace
from tests.lua.operations import LARGE, control, resume_with, run, sha1

pytestmark = pytest.mark.anyio

LIMIT = 1_048_576  # bytes of a message, the setting's default


async def admit_all(space: Namespace, incarnation: str) -> list[str]:
    words: list[str] = []
    while len(words) < 10 and (head := await space.store.inbox(incarnation)):
        words.append(await space.store.admit(incarnation, admission(head[1], LIMIT)))
    return words


def large(task_id: str, message_id: str = "m") -> bytes:
    return run(task_id, message_id, text="x" * LARGE)


async def test_a_large_entry_runs_with_all_its_bytes(space: Namespace) -> None:
    await space.register("a")
    await space.push(large("f1"))
    pulled = await space.pull("a")
    assert (pulled.deliveries, pulled.inbox) == ((), 1)
    assert await admit_all(space, "a") == ["new"]
    [delivery] = await space.take("a")
    assert delivery.operation == large("f1")
    await space.check()


async def test_large_and_small_entries_stay_in_order(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1"), large("f2"), large("f3"), run("f4"))
    ran: list[str] = []
    for _ in range(8):
        ran += [delivery.task_id for delivery in await space.take("a", 10 - len(ran))]
        await admit_all(space, "a")
    assert ran == ["f1", "f2", "f3", "f4"]
    await space.check()


async def test_ten_megabytes_are_set_aside_by_the_worker(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1", text="x" * 10_000_000), run("f2"))
    assert (await space.pull("a")).inbox == 1
    assert await admit_all(space, "a") == ["set-aside"]
    [item] = await space.store.unreadable(1)
    assert (item.size > 10_000_000, len(item.raw)) == (True, 65536)
    assert [delivery.task_id for delivery in await space.take("a")] == ["f2"]
    await space.check()


async def test_seventeen_megabytes_never_reach_a_worker(space: Namespace) -> None:
    await space.register("a")
    await space.push(b"x" * 17_000_000)
    assert (await space.pull("a")).inbox == 0
    assert await space.reasons() == ["larger than 16777216 bytes"]


async def test_deep_nesting_is_set_aside(space: Namespace) -> None:
    await space.register("a")
    await space.push(b"[" * 100_000 + b"]" * 100_000)
    await space.pull("a")
    assert await admit_all(space, "a") == ["set-aside"]
    assert len(await space.reasons()) == 1


async def test_the_inbox_of_the_dead_goes_back_in_order(space: Namespace) -> None:
    await space.register("a", "b")
    await space.push(large("f1"), run("f3"))
    await space.pull("a", 1)
    await space.crash("a")
    assert (await space.entries())[:2] == [large("f1"), run("f3")]
    assert await space.store.inbox("a") is None
    await space.check()


async def test_an_admission_is_made_once(space: Namespace) -> None:
    await space.register("a")
    await space.push(large("f1"))
    await space.push(large("f2"), lane=f"{space.queue}:y")
    await space.pull("a", lanes=[space.queue, f"{space.queue}:y"])
    read = admission(large("f1"), LIMIT)
    assert [await space.store.admit("a", read) for _ in range(2)] == ["new", "gone"]
    assert await space.store.admit("a", Admission(sha1(b"other"), "run", "f9", "m")) == "gone"
    assert await admit_all(space, "a") == ["new"]
    assert await space.store.admit("a", read) == "gone"
    await space.check()


async def test_two_copies_of_a_large_entry_are_one_task(space: Namespace) -> None:
    await space.register("a")
    await space.push(large("f1"))
    await space.pull("a")
    await space.push(large("f1"))
    assert await admit_all(space, "a") == ["new"]
    await space.pull("a", 0)
    await space.take("a", 1)
    await space.pull("a", 1)
    assert await admit_all(space, "a") == ["duplicate"]
    await space.check()


async def test_large_messages_wait_like_small_ones(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.push(large("t1", "m2"))
    await space.pull("a")
    assert await admit_all(space, "a") == ["pending"]
    await space.settle("a", delivery, Settle.COMPLETED)
    assert (await space.take("a"))[0].operation == large("t1", "m2")
    await space.check()


async def test_a_large_conflict_and_a_late_message_are_set_aside(space: Namespace) -> None:
    await space.register("a")
    await space.push(run("f1"))
    [delivery] = await space.take("a")
    await space.push(large("f1"))
    await space.pull("a")
    assert await admit_all(space, "a") == ["set-aside"]
    await space.settle("a", delivery, Settle.COMPLETED)
    await space.push(large("f1", "m2"))
    await space.pull("a")
    assert await admit_all(space, "a") == ["set-aside"]
    assert await space.reasons() == ["task f1 is completed", "message m came before with other content"]


async def test_a_large_order_is_carried_out(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.take("a")
    await space.push(control("cancel", "t1")[:-1] + b"," + b" " * LARGE + b'"x":1}')
    await space.pull("a")
    assert await admit_all(space, "a") == ["canceled"]
    await space.push(control("pause", "t2")[:-1] + b"," + b" " * LARGE + b'"x":1}')
    await space.pull("a")
    assert await admit_all(space, "a") == ["set-aside"]
    await space.check()


async def test_a_large_cancel_of_nobody_is_kept_for_its_task(space: Namespace) -> None:
    await space.register("a")
    await space.push(control("cancel", "t1")[:-1] + b"," + b" " * LARGE + b'"x":1}')
    await space.pull("a")
    assert await admit_all(space, "a") == ["unknown"]
    await space.push(large("t1"))
    await space.pull("a")
    assert await admit_all(space, "a") == ["new"]
    assert not await space.take("a")
    assert await space.state("t1") == "canceled"
    await space.check()


async def test_a_large_resume_answers_and_makes_no_task(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.INPUT_REQUIRED)
    answer = resume_with("t1", text="x" * LARGE)
    await space.push(answer)
    await space.pull("a")
    assert await admit_all(space, "a") == ["turn"]
    assert (await space.take("a"))[0].operation == answer
    await space.push(resume_with("t2", text="x" * LARGE))
    await space.pull("a")
    assert await admit_all(space, "a") == ["set-aside"]
    assert await space.store.get("t2") is None
    await space.check()
