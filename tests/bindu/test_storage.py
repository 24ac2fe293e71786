"""The storage by itself: what the framework's own storages promise their callers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

from bindu.server.storage.base import OwnershipError

from tests.bindu.asking import message, submit, texts

if TYPE_CHECKING:
    from holdfast.bindu import SchedulerAndStorage
    from holdfast_config import Settings

pytestmark = pytest.mark.anyio


async def test_a_task_is_there_from_its_submission_on(pair: SchedulerAndStorage) -> None:
    context, said = uuid4(), message("hello")
    task = await pair.storage.submit_task(context, said)
    assert task["status"]["state"] == "submitted"
    assert (task["id"], task["context_id"], task["kind"]) == (said["task_id"], context, "task")
    loaded = await pair.storage.load_task(task["id"])
    assert loaded is not None
    assert texts(loaded["history"]) == [("user", "hello")]
    assert loaded["history"][0]["message_id"] == said["message_id"]


async def test_nothing_runs_before_the_scheduler_has_it_and_then_it_is_the_same_task(pair: SchedulerAndStorage) -> None:
    context, said = uuid4(), message("hello")
    task = await pair.storage.submit_task(context, said)
    assert await pair.scheduler.get_queue_length() == 0
    for _ in range(2):  # a call whose answer was lost is made again
        await pair.scheduler.run_task({"task_id": task["id"], "context_id": context, "message": said})
    assert await pair.scheduler.get_queue_length() == 1
    loaded = await pair.storage.load_task(task["id"])
    assert loaded is not None
    assert (loaded["status"]["state"], loaded["context_id"]) == ("submitted", context)
    assert texts(loaded["history"]) == [("user", "hello")]


async def test_an_unknown_task_is_none_and_a_bad_id_a_type_error(pair: SchedulerAndStorage) -> None:
    assert await pair.storage.load_task(uuid4()) is None
    with pytest.raises(TypeError, match="task_id must be a UUID, got 'x'"):
        await pair.storage.load_task("x")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="not found"):
        await pair.storage.update_task(uuid4(), "working")


async def test_who_opens_a_context_owns_it_and_its_tasks(pair: SchedulerAndStorage) -> None:
    context, said = uuid4(), message("hello")
    await pair.storage.submit_task(context, said, caller_did="did:one")
    assert await pair.storage.get_context_owner(context) == "did:one"
    assert await pair.storage.get_task_owner(said["task_id"]) == "did:one"
    for other in (None, "did:two"):
        with pytest.raises(OwnershipError):
            await pair.storage.submit_task(context, message("mine"), caller_did=other)
        with pytest.raises(OwnershipError):
            await pair.storage.submit_task(uuid4(), message("mine", said["task_id"]), caller_did=other)
    assert [each["id"] for each in await pair.storage.list_tasks(owner_did="did:one")] == [said["task_id"]]
    assert await pair.storage.list_tasks(owner_did="did:two") == []
    assert await pair.storage.list_tasks_by_context(context, owner_did="did:two") == []
    assert [each["context_id"] for each in await pair.storage.list_contexts(owner_did="did:one")] == [context]
    assert await pair.storage.list_contexts(owner_did="did:two") == []


async def test_lists_have_their_length_and_offset(pair: SchedulerAndStorage) -> None:
    context = uuid4()
    ids = [await submit(pair, f"{number}", context_id=context) for number in range(3)]
    assert [each["id"] for each in await pair.storage.list_tasks_by_context(context)] == ids
    assert [each["id"] for each in await pair.storage.list_tasks_by_context(context, length=1, offset=1)] == [ids[1]]
    assert {each["id"] for each in await pair.storage.list_tasks()} == set(ids)
    first, rest = await pair.storage.list_tasks(length=1), await pair.storage.list_tasks(offset=1)
    assert {each["id"] for each in first + rest} == set(ids)
    assert await pair.storage.count_tasks() == 3
    assert await pair.storage.count_tasks("submitted") == 3
    assert await pair.storage.count_tasks("payment-required") == 0
    [found] = await pair.storage.list_contexts()
    assert (found["context_id"], found["task_count"], set(found["task_ids"])) == (context, 3, set(ids))


async def test_one_of_several_cancels_has_canceled(pair: SchedulerAndStorage) -> None:
    task_id = await submit(pair, "hello")
    assert not await pair.storage.update_task_state_if(task_id, "working", "canceled")
    assert not await pair.storage.update_task_state_if(task_id, "submitted", "completed")
    answers = [await pair.storage.update_task_state_if(task_id, "submitted", "canceled") for _ in range(3)]
    assert answers == [True, False, False]
    await pair.scheduler.cancel_task({"task_id": task_id})
    assert (await pair.storage.load_task(task_id) or {})["status"]["state"] == "canceled"
    with pytest.raises(ValueError, match="canceled, which is final"):
        await pair.storage.submit_task(uuid4(), message("more", task_id))


async def test_a_state_that_only_its_worker_may_write_is_not_taken(pair: SchedulerAndStorage) -> None:
    task_id = await submit(pair, "hello")
    answered = await pair.storage.update_task(task_id, "completed", new_artifacts=[{"artifact_id": uuid4()}])
    assert (answered["status"]["state"], answered["artifacts"]) == ("submitted", [])


async def test_metadata_messages_and_artifacts_are_kept_beside_a_task(pair: SchedulerAndStorage) -> None:
    task_id, artifact = await submit(pair, "hello"), uuid4()
    await pair.storage.update_task(task_id, "submitted", metadata={"paid": False, "by": "x"})
    answer = {**message("noted", task_id), "role": "agent"}
    task = await pair.storage.update_task(
        task_id, "submitted", [{"artifact_id": artifact, "parts": []}], [answer], {"paid": True}
    )
    assert task["metadata"] == {"paid": True, "by": "x"}
    assert texts(task["history"]) == [("user", "hello"), ("agent", "noted")]
    assert [each["artifact_id"] for each in task["artifacts"]] == [artifact]
    loaded = await pair.storage.load_task(task_id, history_length=1)
    assert texts((loaded or {})["history"]) == [("agent", "noted")]


async def test_feedback_is_kept(pair: SchedulerAndStorage) -> None:
    task_id = await submit(pair, "hello")
    assert await pair.storage.get_task_feedback(task_id) is None
    await pair.storage.store_task_feedback(task_id, {"rating": 5, "task_id": task_id})
    assert await pair.storage.get_task_feedback(task_id) == [{"rating": 5, "task_id": str(task_id)}]


async def test_where_to_tell_of_a_task_is_kept_until_it_is_deleted(pair: SchedulerAndStorage) -> None:
    task_id, config = await submit(pair, "hello"), {"id": uuid4(), "url": "https://example.com/hook"}
    assert await pair.storage.load_webhook_config(task_id) is None
    await pair.storage.save_webhook_config(task_id, config)
    assert await pair.storage.load_webhook_config(task_id) == config
    assert await pair.storage.load_all_webhook_configs() == {task_id: config}
    for _ in range(2):
        await pair.storage.delete_webhook_config(task_id)
    assert await pair.storage.load_all_webhook_configs() == {}


async def test_a_context_keeps_data_and_knows_its_tasks(pair: SchedulerAndStorage) -> None:
    context = uuid4()
    assert await pair.storage.load_context(context) is None
    task_id = await submit(pair, "hello", context_id=context)
    await pair.storage.update_context(context, {"tone": "kind"})
    await pair.storage.append_to_contexts(context, [message("x")])
    assert await pair.storage.load_context(context) == {"tone": "kind", "task_ids": [task_id]}


async def test_a_cleared_context_leaves_nothing(pair: SchedulerAndStorage) -> None:
    context = uuid4()
    task_id = await submit(pair, "hello", context_id=context)
    other = await submit(pair, "stays")
    await pair.storage.store_task_feedback(task_id, {"rating": 1})
    await pair.storage.save_webhook_config(task_id, {"id": uuid4(), "url": "https://example.com"})
    await pair.storage.clear_context(context)
    assert await pair.storage.load_task(task_id) is None
    assert await pair.storage.load_context(context) is None
    assert await pair.storage.get_task_feedback(task_id) is None
    assert await pair.storage.load_all_webhook_configs() == {}
    assert [each["id"] for each in await pair.storage.list_tasks()] == [other]
    with pytest.raises(ValueError, match="not found"):
        await pair.storage.clear_context(context)
    await pair.storage.clear_all()
    assert await pair.storage.list_tasks() == []
    assert await pair.storage.list_contexts() == []


async def test_a_closed_storage_keeps_everything_and_can_be_used_again(pair: SchedulerAndStorage) -> None:
    task_id = await submit(pair, "hello")
    await pair.storage.close()
    assert await pair.storage.load_task(task_id) is not None


async def test_tasks_of_other_producers_are_shown_as_far_as_they_can_be(
    pair: SchedulerAndStorage, settings: Settings
) -> None:
    from holdfast import TaskManager, open_store

    async with open_store(settings.redis) as store:
        manager = TaskManager(store, queue=settings.queue_name)
        ours = UUID(await manager.run_task("hello", context_id="no uuid"))
        await manager.run_task("hello", task_id="no-uuid-either")
    [task] = await pair.storage.list_tasks()
    assert (task["id"], texts(task["history"])) == (ours, [("user", "hello")])
    assert isinstance(task["context_id"], UUID)


async def test_what_is_no_task_is_refused_and_nothing_is_written(pair: SchedulerAndStorage) -> None:
    from holdfast.errors import InvalidTaskError

    bad: list[dict[str, Any]] = [{}, {"task_id": "a b"}, {"task_id": uuid4(), "message": message("x" * 2_000_000)}]
    for params in bad:
        with pytest.raises(InvalidTaskError):
            await pair.scheduler.run_task(params)
    assert await pair.storage.count_tasks() == 0
