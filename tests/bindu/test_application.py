"""A whole application of the framework, unmodified, over its own HTTP interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

import bindu.server.scheduler.factory as schedulers
import bindu.server.storage.factory as storages

from holdfast.bindu import install
from tests.bindu.application import Client, Messages, manifest_of, serving

if TYPE_CHECKING:
    from holdfast_config import Settings

pytestmark = pytest.mark.anyio
ENDED = {"completed", "failed", "rejected", "canceled", "input-required"}


@pytest.fixture
def factories() -> Iterator[None]:
    """The functions that `install` has replaced are put back."""
    before = schedulers.create_scheduler, storages.create_storage
    yield
    schedulers.create_scheduler, storages.create_storage = before


@pytest.fixture
async def client(settings: Settings, factories: None, short_path: Path, anyio_backend: object) -> AsyncIterator[Client]:
    """Of an application whose own worker takes no tasks."""
    install(settings)
    async with serving(manifest_of(never, short_path)) as made:
        yield made


def never(messages: Messages) -> str:
    raise AssertionError("the framework's worker ran this")


async def ended(client: Client, task_id: str, states: Collection[str] = ENDED) -> dict[str, Any]:
    with anyio.fail_after(30):
        while True:
            task: dict[str, Any] = (await client.ask("tasks/get", taskId=task_id))["result"]
            if task["status"]["state"] in states:
                return task
            await anyio.sleep(0.01)


async def test_it_submits_and_our_workers_run(client: Client, working: Callable[..., None]) -> None:
    working("tests.bindu.handlers:answer")
    context = str(uuid4())
    sent = await client.send("hello", context_id=context)
    assert sent["status"]["state"] == "submitted"
    task = await ended(client, sent["id"])
    assert task["status"]["state"] == "completed"
    assert task["artifacts"][0]["parts"][0]["text"] == "You said hello"
    assert [each["id"] for each in (await client.ask("tasks/list"))["result"]] == [sent["id"]]
    [found] = (await client.ask("contexts/list"))["result"]
    assert (found["context_id"], found["task_ids"]) == (context, [sent["id"]])
    health = await client.get("/health")
    assert health["runtime"]["scheduler_backend"] == "HoldfastScheduler"
    assert health["ready"]


async def test_it_cancels_and_clears(client: Client, working: Callable[..., None]) -> None:
    working("tests.bindu.handlers:answer")
    sent = await client.send("forever")
    await ended(client, sent["id"], {"working"})
    answer = await client.ask("tasks/cancel", taskId=sent["id"])
    assert answer["result"]["status"]["state"] == "canceled"
    assert "error" in await client.ask("tasks/cancel", taskId=sent["id"])
    await client.ask("tasks/feedback", taskId=sent["id"], feedback="fine", rating=5, metadata={})
    assert "error" not in await client.ask("contexts/clear", contextId=sent["context_id"])
    assert (await client.ask("tasks/get", taskId=sent["id"]))["error"]["message"] == "Task not found"


async def test_a_question_over_http_is_answered(client: Client, working: Callable[..., None]) -> None:
    working("tests.bindu.handlers:answer")
    sent = await client.send("ask")
    assert (await ended(client, sent["id"]))["status"]["state"] == "input-required"
    await client.send("red", sent["id"], sent["context_id"])
    task = await ended(client, sent["id"], {"completed"})
    assert [each["parts"][0]["text"] for each in task["history"]] == ["ask", "which one?", "red", "You said red"]


async def test_its_own_worker_runs_what_it_consumes(settings: Settings, factories: None, short_path: Path) -> None:
    def handler(messages: Messages) -> str:
        return f"Its own: {messages[-1]['parts'][0]['text']}"

    install(settings, consume=True)
    async with serving(manifest_of(handler, short_path)) as client:
        for text in ("one", "two"):
            task = await ended(client, (await client.send(text))["id"])
            assert task["status"]["state"] == "completed"
            assert task["artifacts"][0]["parts"][0]["text"] == f"Its own: {text}"
            assert "did.message.signature" in task["artifacts"][0]["parts"][0]["metadata"]


async def test_a_handler_of_its_own_that_raises_fails_its_task_and_the_next_one_runs(
    settings: Settings, factories: None, short_path: Path
) -> None:
    def handler(messages: Messages) -> object:
        if (text := messages[-1]["parts"][0]["text"]) == "bad":
            raise ValueError("not this one")
        return {"state": "input-required", "prompt": "which one?"} if text == "ask" else text

    install(settings, consume=True)
    async with serving(manifest_of(handler, short_path)) as client:
        failed = await ended(client, (await client.send("bad"))["id"])
        assert failed["status"]["state"] == "failed"
        assert "not this one" in failed["history"][-1]["parts"][0]["text"]
        asked = await ended(client, (await client.send("ask"))["id"])
        assert asked["status"]["state"] == "input-required"
        assert (await ended(client, (await client.send("fine"))["id"]))["status"]["state"] == "completed"
