"""Tasks of the framework's scheduler and storage run in our workers; its storage shows what came of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

import redis.asyncio as aioredis
from bindu.server.scheduler.redis_scheduler import RedisScheduler
from opentelemetry.sdk.trace import TracerProvider

from tests.bindu.asking import message, shown, submit, texts

if TYPE_CHECKING:
    from holdfast.bindu import SchedulerAndStorage
    from holdfast_config import Settings

pytestmark = pytest.mark.anyio
ANSWER = "tests.bindu.handlers:answer"
Working = Callable[..., None]


async def test_a_task_is_completed_with_a_message_and_an_artifact(pair: SchedulerAndStorage, working: Working) -> None:
    working(ANSWER)
    task_id = await submit(pair, "hello")
    task = await shown(pair.storage, task_id, "completed")
    assert texts(task["history"]) == [("user", "hello"), ("agent", "You said hello")]
    [artifact] = task["artifacts"]
    assert artifact["parts"] == [{"kind": "text", "text": "You said hello"}]
    again = await pair.storage.load_task(task_id)
    assert again == task, "ids of what Holdfast made are the same each time"
    assert await pair.storage.count_tasks("completed") == 1


async def test_data_comes_as_the_framework_has_it(pair: SchedulerAndStorage, working: Working) -> None:
    working(ANSWER)
    task = await shown(pair.storage, await submit(pair, "data"), "completed")
    assert task["artifacts"][0]["parts"] == [{"kind": "data", "text": "", "data": {"result": [1, 2]}}]


async def test_a_question_is_answered_by_one_more_message(pair: SchedulerAndStorage, working: Working) -> None:
    working(ANSWER)
    context = uuid4()
    task_id = await submit(pair, "ask", context_id=context)
    asked = await shown(pair.storage, task_id, "input-required")
    assert texts(asked["history"]) == [("user", "ask"), ("agent", "which one?")]
    assert asked["artifacts"] == []
    await submit(pair, "the red one", task_id=task_id, context_id=context)
    task = await shown(pair.storage, task_id, "completed")
    assert [text for _, text in texts(task["history"])] == ["ask", "which one?", "the red one", "You said the red one"]
    assert len(task["artifacts"]) == 1


async def test_what_is_rejected_says_why_and_leaves_no_artifact(pair: SchedulerAndStorage, working: Working) -> None:
    working(ANSWER)
    task = await shown(pair.storage, await submit(pair, "bad"), "rejected")
    assert (task["history"][-1]["role"], task["artifacts"]) == ("agent", [])
    assert "not this one" in task["history"][-1]["parts"][0]["text"]


async def test_a_cancel_interrupts_what_runs(pair: SchedulerAndStorage, working: Working) -> None:
    working(ANSWER, concurrency=1)
    task_id = await submit(pair, "forever")
    await shown(pair.storage, task_id, "working")
    assert await pair.storage.update_task_state_if(task_id, "working", "canceled")
    other = await submit(pair, "next")
    await shown(pair.storage, other, "completed")
    assert (await shown(pair.storage, task_id, "canceled"))["artifacts"] == []


async def test_pause_parks_and_resume_goes_on(pair: SchedulerAndStorage, working: Working) -> None:
    task_id = await submit(pair, "hello")
    await pair.scheduler.pause_task({"task_id": task_id})
    await shown(pair.storage, task_id, "suspended")
    working(ANSWER)
    await pair.scheduler.resume_task({"task_id": task_id})
    await shown(pair.storage, task_id, "completed")


async def test_a_message_for_a_working_task_waits_its_turn(pair: SchedulerAndStorage, working: Working) -> None:
    working(ANSWER)
    context = uuid4()
    task_id = await submit(pair, "forever", context_id=context)
    await shown(pair.storage, task_id, "working")
    more = message("more", task_id)
    task = await pair.storage.submit_task(context, more)
    assert task["status"]["state"] == "working"
    await pair.scheduler.run_task({"task_id": task_id, "context_id": context, "message": more})
    assert (await shown(pair.storage, task_id, "working"))["status"]["state"] == "working"


async def test_the_frameworks_own_redis_scheduler_is_served_unchanged(
    pair: SchedulerAndStorage, settings: Settings, working: Working
) -> None:
    """Its class, its envelopes, its RPUSH; we only take what it has pushed."""
    working(ANSWER)
    theirs = RedisScheduler(redis_url=settings.store_url, queue_name=settings.queue_name)
    ran, canceled, paused = uuid4(), uuid4(), uuid4()

    def params(task_id: object, text: str) -> dict[str, object]:
        return {"task_id": task_id, "context_id": uuid4(), "message": message(text, task_id), "history_length": 5}  # type: ignore[arg-type]

    async with theirs:
        tracer = TracerProvider().get_tracer("test")
        with tracer.start_as_current_span("asking"):
            await theirs.run_task(params(ran, "hello"))  # type: ignore[arg-type]
        await theirs.run_task(params(canceled, "forever"))  # type: ignore[arg-type]
        await theirs.run_task(params(paused, "forever"))  # type: ignore[arg-type]
        done = await shown(pair.storage, ran, "completed")
        assert texts(done["history"]) == [("user", "hello"), ("agent", "You said hello")]
        for task_id in (canceled, paused):
            await shown(pair.storage, task_id, "working")
        await theirs.cancel_task({"task_id": canceled})
        await theirs.pause_task({"task_id": paused})
        await shown(pair.storage, canceled, "canceled")
        await shown(pair.storage, paused, "suspended")
        await theirs.resume_task({"task_id": paused})
        await shown(pair.storage, paused, "working")
        assert await theirs.get_queue_length() == 0
    async with aioredis.from_url(settings.store_url) as client:
        assert await client.exists(f"{{{settings.queue_name}}}:unreadable") == 0
