"""Tasks that the storage has and the scheduler does not have yet: they are their application's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

from holdfast.errors import TaskEndedError
from tests.bindu.asking import message, submit, texts

if TYPE_CHECKING:
    from holdfast.bindu import SchedulerAndStorage

pytestmark = pytest.mark.anyio


async def note(pair: SchedulerAndStorage, text: str = "hello", context_id: UUID | None = None) -> UUID:
    """A task that the scheduler is not given."""
    task_id: UUID = (await pair.storage.submit_task(context_id or uuid4(), message(text)))["id"]
    return task_id


async def state(pair: SchedulerAndStorage, task_id: UUID) -> str:
    task = await pair.storage.load_task(task_id)
    assert task is not None
    return str(task["status"]["state"])


async def run(pair: SchedulerAndStorage, task_id: UUID, said: dict[str, Any]) -> None:
    await pair.scheduler.run_task({"task_id": task_id, "context_id": uuid4(), "message": said})


@pytest.mark.parametrize("written", ["working", "input-required", "completed", "payment-required"])
async def test_a_noted_task_takes_any_state_with_all_that_comes_along(pair: SchedulerAndStorage, written: str) -> None:
    task_id, artifact = await note(pair), uuid4()
    before = await pair.storage.load_task(task_id)
    answer = {**message("noted", task_id), "role": "agent"}
    parts = [{"kind": "text", "text": "done"}]
    task = await pair.storage.update_task(
        task_id, written, [{"artifact_id": artifact, "parts": parts}], [answer], {"paid": True}
    )
    assert task == await pair.storage.load_task(task_id)
    assert task["status"]["state"] == written
    assert before is not None
    assert task["status"]["timestamp"] >= before["status"]["timestamp"]
    assert texts(task["history"]) == [("user", "hello"), ("agent", "noted")]
    assert {each["task_id"] for each in task["history"]} == {task_id}
    assert [(each["artifact_id"], each["parts"]) for each in task["artifacts"]] == [(artifact, parts)]
    assert task["metadata"] == {"paid": True}


async def test_a_noted_task_that_has_ended_stays_so(pair: SchedulerAndStorage) -> None:
    task_id = await note(pair)
    await pair.storage.update_task(task_id, "completed")
    answered = await pair.storage.update_task(task_id, "working", new_messages=[message("late", task_id)])
    assert (answered["status"]["state"], texts(answered["history"])) == ("completed", [("user", "hello")])
    assert not await pair.storage.update_task_state_if(task_id, "completed", "working")
    with pytest.raises(ValueError, match="in the terminal state completed"):
        await pair.storage.submit_task(uuid4(), message("more", task_id))
    with pytest.raises(TaskEndedError, match="is completed and takes no more messages"):
        await run(pair, task_id, message("more", task_id))
    assert await pair.scheduler.get_queue_length() == 0


async def test_one_of_several_writers_swaps_the_state_of_a_noted_task(pair: SchedulerAndStorage) -> None:
    task_id = await note(pair)
    assert not await pair.storage.update_task_state_if(task_id, "working", "canceled")
    swaps = [await pair.storage.update_task_state_if(task_id, "submitted", "working") for _ in range(2)]
    assert (swaps, await state(pair, task_id)) == ([True, False], "working")
    swaps = [await pair.storage.update_task_state_if(task_id, "working", "canceled") for _ in range(2)]
    assert (swaps, await state(pair, task_id)) == ([True, False], "canceled")
    assert not await pair.storage.update_task_state_if(uuid4(), "submitted", "canceled")


async def test_a_task_that_is_canceled_before_the_scheduler_has_it_never_runs(pair: SchedulerAndStorage) -> None:
    """The scheduler refuses it; a producer that knows nothing of the storage submits it in vain."""
    hello = message("hello")
    await pair.storage.submit_task(uuid4(), hello)
    assert await pair.storage.update_task_state_if(hello["task_id"], "submitted", "canceled")
    with pytest.raises(TaskEndedError, match="is canceled"):
        await run(pair, hello["task_id"], hello)
    await pair.scheduler._manager.run_task("hello", task_id=str(hello["task_id"]))
    assert await pair.scheduler.get_queue_length() == 0
    assert await state(pair, hello["task_id"]) == "canceled"


async def test_noted_tasks_are_listed_and_counted_beside_those_that_were_submitted(pair: SchedulerAndStorage) -> None:
    context = uuid4()
    noted = [await note(pair, f"{number}", context) for number in range(3)]
    await pair.storage.update_task(noted[0], "completed")
    await pair.storage.update_task(noted[1], "working")
    submitted = await submit(pair, "runs", context_id=context)
    assert {each["id"] for each in await pair.storage.list_tasks()} == {*noted, submitted}
    assert len(await pair.storage.list_tasks(length=2)) == 2
    assert len(await pair.storage.list_tasks(offset=3)) == 1
    assert {each["id"] for each in await pair.storage.list_tasks_by_context(context)} == {*noted, submitted}
    assert await pair.storage.count_tasks() == 4
    counts = {each: await pair.storage.count_tasks(each) for each in ("submitted", "working", "completed", "failed")}
    assert counts == {"submitted": 2, "working": 1, "completed": 1, "failed": 0}


async def test_a_task_that_the_scheduler_gets_is_noted_no_more(pair: SchedulerAndStorage) -> None:
    hello = message("hello")
    await pair.storage.submit_task(uuid4(), hello)
    await pair.storage.update_task(hello["task_id"], "working", metadata={"by": "x"})
    await run(pair, hello["task_id"], hello)
    task = await pair.storage.load_task(hello["task_id"])
    assert task is not None
    assert (task["status"]["state"], texts(task["history"])) == ("submitted", [("user", "hello")])
    assert task["metadata"] == {"by": "x"}
    assert [each["id"] for each in await pair.storage.list_tasks()] == [hello["task_id"]]
    assert await pair.storage.count_tasks() == 1


async def test_a_task_that_another_producer_submits_is_noted_no_more(pair: SchedulerAndStorage) -> None:
    hello = message("hello")
    await pair.storage.submit_task(uuid4(), hello)
    await pair.scheduler._manager.run_task("hello", task_id=str(hello["task_id"]), message_id=str(hello["message_id"]))
    assert await pair.storage.count_tasks() == 1
    [task] = await pair.storage.list_tasks()
    assert texts(task["history"]) == [("user", "hello")]


async def test_a_noted_task_takes_further_messages_and_keeps_them_all(pair: SchedulerAndStorage) -> None:
    context, first = uuid4(), message("one")
    await pair.storage.submit_task(context, first)
    await pair.storage.update_task(first["task_id"], "input-required")
    second = message("two", first["task_id"])
    for _ in range(2):  # a call whose answer was lost is made again
        task = await pair.storage.submit_task(context, second)
    assert task["status"]["state"] == "submitted"
    assert texts(task["history"]) == [("user", "one"), ("user", "two")]
    await run(pair, first["task_id"], second)
    task = await pair.storage.load_task(first["task_id"]) or {}
    assert sorted(texts(task["history"])) == [("user", "one"), ("user", "two")]


async def test_a_cleared_context_takes_its_noted_tasks_along(pair: SchedulerAndStorage) -> None:
    context = uuid4()
    task_id = await note(pair, context_id=context)
    await pair.storage.update_task(task_id, "completed")
    await pair.storage.clear_context(context)
    assert await pair.storage.load_task(task_id) is None
    assert await pair.storage.list_tasks() == []
    assert await pair.storage.count_tasks() == 0


@pytest.mark.parametrize("bad", [None, 7, "x", int("1" * 32), object()])
async def test_what_is_no_uuid_is_a_type_error_everywhere(pair: SchedulerAndStorage, bad: Any) -> None:
    storage = pair.storage
    for call in (
        storage.clear_context(bad),
        storage.store_task_feedback(bad, {"rating": 1}),
        storage.get_task_feedback(bad),
        storage.update_task(bad, "working"),
        storage.update_task_state_if(bad, "working", "canceled"),
        storage.load_context(bad),
        storage.load_webhook_config(bad),
        storage.get_task_owner(bad),
    ):
        with pytest.raises(TypeError, match="must be a UUID, got"):
            await call
    with pytest.raises(TypeError, match="must be a UUID, got"):
        await pair.scheduler.cancel_task({"task_id": bad})


async def test_what_is_no_document_is_a_type_error_and_nothing_is_written(pair: SchedulerAndStorage) -> None:
    """One that was kept could not be shown again."""
    bad: Any = "x"
    storage, context = pair.storage, uuid4()
    task_id = await note(pair, context_id=context)
    before = await storage.load_task(task_id)
    for call, named in (
        (storage.update_task(task_id, "working", new_messages=[bad]), "Message must be dict, got str"),
        (storage.update_task(task_id, "working", new_artifacts=[bad]), "Artifact must be dict"),
        (storage.update_task(task_id, "working", new_messages=bad), "new_messages must be list"),
        (storage.update_task(task_id, "working", metadata=bad), "metadata must be dict"),
        (storage.submit_task(context, bad), "Message must be dict"),
        (storage.append_to_contexts(context, bad), "messages must be list"),
        (storage.update_context(context, bad), "context must be dict"),
        (storage.store_task_feedback(task_id, bad), "feedback_data must be dict"),
        (storage.save_webhook_config(task_id, bad), "config must be dict"),
    ):
        with pytest.raises(TypeError, match=named):
            await call
    assert await storage.load_task(task_id) == before
    assert await storage.load_context(context) == {"task_ids": [task_id]}
    assert await storage.get_task_feedback(task_id) is None
    assert await storage.load_all_webhook_configs() == {}
