"""Conversations and what is kept beside tasks: who may write there, and that it goes when its tasks go."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

DAY = 86_400_000


async def note(stand: Stand, task_id: str, context_id: str = "c1", owner: str = "one") -> str:
    return await stand.store.note(task_id, context_id, owner, b"{}")


async def test_who_opens_a_conversation_owns_it(stand: Stand) -> None:
    assert await note(stand, "t1") == "noted"
    assert await note(stand, "t2", owner="two") == "foreign"
    assert await note(stand, "t2", owner="") == "foreign"
    assert await note(stand, "t2") == "noted"
    conversation = await stand.store.conversation("c1")
    assert conversation is not None
    assert (conversation.owner, conversation.task_ids) == ("one", ("t1", "t2"))
    assert await stand.store.conversations("one", 10, 0) == ["c1"]
    assert await stand.store.conversations("two", 10, 0) == []


async def test_tasks_and_conversations_of_one_moment_are_in_their_order(stand: Stand) -> None:
    tasks, conversations = ("t3", "t1", "t2"), ["c9", "c1", "c5"]
    for context_id in conversations:
        for task_id in tasks:
            await note(stand, f"{context_id} {task_id}", context_id)
    conversation = await stand.store.conversation("c1")
    assert conversation is not None
    assert conversation.task_ids == tuple(f"c1 {task_id}" for task_id in tasks)
    assert await stand.store.conversations("one", 10, 0) == conversations[::-1]
    assert await stand.store.conversations(None, 10, 0) == conversations[::-1]


async def test_a_task_is_its_owners_in_every_conversation(stand: Stand) -> None:
    await note(stand, "t1")
    assert await note(stand, "t1", "c2", "two") == "foreign"
    assert await stand.store.conversation("c2") is None, "what is refused writes nothing"


async def test_a_message_is_noted_until_its_task_is_there(stand: Stand) -> None:
    await note(stand, "t1")
    assert (await stand.store.about("t1")).message == b"{}"
    await stand.submit("t1")
    await stand.store.add("t1", ran=True)
    await note(stand, "t1")
    about = await stand.store.about("t1")
    assert (about.message, about.context_id, about.owner) == (None, "c1", "one")


@pytest.mark.parametrize("by", ["removal", "retention", "purge"])
async def test_what_is_beside_a_task_goes_with_it(stand: Stand, by: str) -> None:
    store = stand.store
    await stand.register("a")
    for task_id in ("t1", "t2"):
        await note(stand, task_id)
        await stand.submit(task_id)
        await store.add(task_id, ran=True, added=(b"{}",), feedback=b"{}", push=b'{"token": "secret"}')
    (delivery,) = await stand.take("a", 1)
    await stand.settle("a", delivery, Settle.EXHAUSTED)
    await stand.advance(1)
    match by:
        case "removal":
            assert await store.forget_tasks(["t1", "t2"]) == 1
        case "purge":
            assert await store.purge_dead(["t1", "t2"]) == 1
        case _:
            assert await store.trim(0, 10) == 1
    about = await store.about("t1")
    assert (about.context_id, about.owner, about.added, await store.feedback("t1")) == ("", "", (), [])
    assert list(await store.pushes()) == ["t2"]
    conversation = await store.conversation("c1")
    assert conversation is not None
    assert conversation.task_ids == ("t2",)


async def test_the_state_of_a_noted_task_is_written_until_it_is_submitted(stand: Stand) -> None:
    store = stand.store
    assert await store.note_state("t1", "working") == "unnoted"
    await note(stand, "t1")
    assert await store.note_state("t1", "working", ("completed", "failed")) == "kept"
    assert await store.note_state("t1", "working", ("completed", "submitted")) == "written"
    about = await store.about("t1")
    assert (about.state, about.changed_ms >= about.at_ms > 0) == ("working", True)
    assert await store.noted_state("t1") == "working"
    assert await store.noted(10, 0) == ({"t1": "working"}, -1)
    await stand.submit("t1")
    assert await store.note_state("t1", "completed") == "unnoted"
    assert await store.noted(10, 0) == ({}, -1), "also where nobody said that it was submitted"
    assert await store.noted_state("t1") == ""


async def test_a_noted_task_that_has_ended_takes_neither_messages_nor_states(stand: Stand) -> None:
    await note(stand, "t1")
    for _ in range(2):  # a call whose answer was lost is made again
        assert await stand.store.note_state("t1", "failed") == "written"
    assert await stand.store.note_state("t1", "working") == "kept"
    assert await note(stand, "t1") == "failed"
    assert await stand.store.noted(10, 0) == ({"t1": "failed"}, -1)


async def test_a_noted_task_that_is_canceled_is_so_when_it_is_submitted(stand: Stand) -> None:
    await stand.register("a")
    await note(stand, "t1")
    assert await stand.store.note_state("t1", "canceled", ("submitted",)) == "written"
    await stand.submit("t1")
    assert await stand.take("a") == []
    assert await stand.state("t1") == "canceled"


async def test_further_messages_of_a_noted_task_are_kept_in_order_and_once(stand: Stand) -> None:
    for message in (b'{"m":1}', b'{"m":1}', b'{"m":2}', b'{"m":2}', b'{"m":3}'):
        assert await stand.store.note("t1", "c1", "", message) == "noted"
    added = (b'{"message":{"m":2}}', b'{"message":{"m":3}}')
    about = await stand.store.about("t1")
    assert (about.message, about.added) == (b'{"m":1}', added)
    await stand.submit("t1")
    for _ in range(2):
        await stand.store.add("t1", ran=True)
        about = await stand.store.about("t1")
        assert (about.message, about.added) == (None, (b'{"message":{"m":1}}', *added))


async def test_noted_tasks_are_listed_in_pages(stand: Stand) -> None:
    for number in range(5):
        await note(stand, f"t{number}")
        await stand.advance(1)
    await stand.submit("t1")
    first, offset = await stand.store.noted(3, 0)
    rest, end = await stand.store.noted(3, offset)
    assert [list(first), list(rest), end] == [["t0", "t2"], ["t3", "t4"], -1]


async def test_a_noted_task_that_nobody_submits_is_forgotten_a_day_after_its_last_change(stand: Stand) -> None:
    await note(stand, "t1")
    await stand.advance(DAY)
    await stand.store.note_state("t1", "completed")
    await stand.advance(DAY - 1)
    await note(stand, "t2")
    assert await stand.store.noted(10, 0) == ({"t1": "completed", "t2": "submitted"}, -1)
    await stand.advance(1)
    await note(stand, "t3")
    assert list((await stand.store.noted(10, 0))[0]) == ["t2", "t3"]
    assert (await stand.store.about("t1")).message is None


async def test_the_index_of_noted_tasks_loses_those_that_others_have_submitted(stand: Stand) -> None:
    for number in range(3):
        await note(stand, f"t{number}")
        await stand.submit(f"t{number}")
    await stand.advance(60_001)
    await note(stand, "t3")
    assert (await stand.store.about("t0")).message is None
    assert await stand.store.noted(10, 0) == ({"t3": "submitted"}, -1)


async def test_a_task_that_has_ended_takes_no_more(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.COMPLETED, result=b"{}")
    assert await note(stand, "t1") == "completed"


async def test_only_one_cancels_and_only_from_the_states_it_names(stand: Stand) -> None:
    await stand.submit("t1")
    assert not await stand.store.cancel_if("t1", ("working", "suspended"), "x")
    assert not await stand.store.cancel_if("t2", ("submitted",), "x")
    assert await stand.store.cancel_if("t1", ("working", "submitted"), "x")
    assert not await stand.store.cancel_if("t1", ("submitted", "canceled"), "x")
    assert await stand.state("t1") == "canceled"


async def test_what_is_beside_a_task_goes_after_its_record(stand: Stand) -> None:
    await stand.register("a")
    await note(stand, "t1")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.COMPLETED, result=b"{}")
    await stand.store.add("t1", metadata={"a": b"1"}, added=(b"2",), feedback=b"3", push=b"4")
    await stand.advance(DAY + 1)
    await note(stand, "t2", "c2")
    assert (await stand.store.about("t1")).metadata == {"a": b"1"}, "its record is still there"
    assert await stand.store.trim(1000, 10) == 1
    await stand.advance(DAY + 1)
    await note(stand, "t3", "c2")
    about = await stand.store.about("t1")
    assert (about.context_id, about.metadata, about.added) == ("", {}, ())
    assert await stand.store.feedback("t1") == []
    assert await stand.store.pushes() == {}
    assert await stand.store.conversation("c1") is None
    assert await stand.store.conversations("one", 10, 0) == ["c2"]


async def test_a_cleared_conversation_cancels_and_deletes_in_steps(stand: Stand) -> None:
    if stand.remembers:
        pytest.skip("what is deleted here can still be asked about there")
    await stand.register("a")
    for number in range(3):
        await note(stand, f"t{number}")
        await stand.submit(f"t{number}")
    [delivery] = await stand.take("a", 1)
    assert await stand.store.clear_conversation("c1", 2) == 1
    assert await stand.store.clear_conversation("c1", 2) == 0
    assert await stand.store.clear_conversation("c1", 2) == -1
    for number in range(3):
        assert await stand.store.get(f"t{number}") is None
    assert sum((await stand.store.counts()).states.values()) == 0, "no index knows them any more"
    assert await stand.settle("a", delivery, Settle.COMPLETED, result=b"{}") == "GONE"
    assert await stand.take("a") == []


async def test_a_conversation_without_tasks_keeps_data_for_nobody_in_particular(stand: Stand) -> None:
    await stand.store.write_conversation("c1", b"{}")
    conversation = await stand.store.conversation("c1")
    assert conversation is not None
    assert (conversation.owner, conversation.data, conversation.task_ids) == ("", b"{}", ())
    assert await note(stand, "t1", owner="one") == "foreign"
    assert await stand.store.clear_conversation("c1", 10) == 0
    assert await stand.store.conversation("c1") is None
