"""Promises about handlers: every kind of result, retries and dead letters, names, limits, arguments, both envelopes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date
from typing import Any

import pydantic
import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.outcomes import read_result
from holdfast.core.task_states import State
from holdfast.errors import Reject, Retry
from holdfast.handler.registry import Handlers
from holdfast.handler.task import Task
from tests.conformance.shop import Shop
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]


@dataclasses.dataclass
class Total:
    pieces: int


class Statement(pydantic.BaseModel):
    region: str
    due: date


RESULTS: list[tuple[object, State, list[dict[str, Any]]]] = [
    (None, State.COMPLETED, []),
    ("done", State.COMPLETED, [{"kind": "text", "text": "done"}]),
    ("", State.COMPLETED, [{"kind": "text", "text": ""}]),
    ({"a": [1, None]}, State.COMPLETED, [{"kind": "data", "data": {"a": [1, None]}}]),
    ([], State.COMPLETED, [{"kind": "data", "data": []}]),
    (0, State.COMPLETED, [{"kind": "data", "data": 0}]),
    (False, State.COMPLETED, [{"kind": "data", "data": False}]),
    (Total(3), State.COMPLETED, [{"kind": "data", "data": {"pieces": 3}}]),
    ({"state": "completed", "text": "so"}, State.COMPLETED, [{"kind": "text", "text": "so"}]),
    ({"state": "failed", "error": "no"}, State.FAILED, [{"kind": "text", "text": "no"}]),
    ({"state": "rejected", "reason": "never"}, State.REJECTED, [{"kind": "text", "text": "never"}]),
    ({"state": "input-required", "prompt": "which?"}, State.INPUT_REQUIRED, [{"kind": "text", "text": "which?"}]),
    ({"state": "auth-required", "prompt": "who?"}, State.AUTH_REQUIRED, [{"kind": "text", "text": "who?"}]),
    ({"state": "unheard-of"}, State.COMPLETED, [{"kind": "data", "data": {"state": "unheard-of"}}]),
]


def as_function(value: object) -> Callable[..., Any]:
    def handle() -> object:
        return value

    return handle


def as_coroutine(value: object) -> Callable[..., Any]:
    async def handle(messages: Messages) -> object:
        return value

    return handle


def as_generator(value: object) -> Callable[..., Any]:
    def handle(task: Task) -> Iterator[object]:
        yield "1 of 2"
        yield value

    return handle


def as_async_generator(value: object) -> Callable[..., Any]:
    async def handle(messages: Messages, task: Task) -> AsyncIterator[object]:
        yield "1 of 2"
        yield value

    return handle


KINDS = (as_function, as_coroutine, as_generator, as_async_generator)


@pytest.mark.parametrize("kind", KINDS)
async def test_results_of_every_kind_are_kept_as_they_were_meant(
    stand: Stand, kind: Callable[[object], Callable[..., Any]]
) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    for number, (value, state, parts) in enumerate(RESULTS):
        await manager.run_task("go", task_id=f"t{number}")
        await Shop(stand, kind(value)).work()
        record = await manager.get_task(f"t{number}")
        assert (record.state, read_result(record.result).parts) == (state, parts)
        assert json.loads(record.result or b"")["state"] == state


async def test_exhausted_attempts_are_a_dead_letter_with_its_history(stand: Stand) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)

    async def stumble(task: Task) -> None:
        raise ValueError(f"slip {task.attempts + 1}")

    await manager.run_task("go", task_id="t1")
    shop = Shop(stand, stumble)
    while (await manager.get_task("t1")).state != State.FAILED:
        assert await shop.work() == 1
        await stand.advance(1_000)
    [letter] = (await manager.dead_letters()).tasks
    record = await manager.get_task("t1")
    assert (letter.task_id, record.attempts, record.deliveries, record.dead) == ("t1", 3, 3, True)
    assert [line.split(" ", 1)[1] for line in record.trail if "slip" in line][-1].endswith("ValueError: slip 3")
    assert sum("retry" in line for line in record.trail) == 2
    error = read_result(record.result).error or {}
    assert (error["type"], error["message"], "stumble" in error["traceback"]) == ("ValueError", "slip 3", True)


async def test_a_handler_may_ask_for_a_retry_or_reject_for_good(stand: Stand) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)

    def handle(messages: Messages, task: Task) -> str:
        if messages[-1]["content"] == "nowhere":
            raise Reject("no such place")
        if task.attempts == 0:
            raise Retry(after=30)
        return "there"

    await manager.run_task("somewhere", task_id="t1")
    await manager.run_task("nowhere", task_id="t2")
    shop = Shop(stand, handle)
    await shop.work()
    assert [await stand.state(task_id) for task_id in ("t1", "t2")] == [State.DELAYED, State.REJECTED]
    record = await stand.task("t1")
    assert record.due_ms == record.created_ms + 30_000
    await stand.advance(30_000)
    await shop.work()
    assert read_result((await stand.task("t1")).result).value == "there"


ENVELOPES = {
    "first": {
        "operation": "run",
        "params": {"task_id": "t1", "message": {"role": "user", "parts": [{"kind": "text", "text": "hello"}]}},
    },
    "second": {"type": "run", "task_id": "t1", "messages": [{"role": "user", "content": "hello"}]},
}


@pytest.mark.parametrize("envelope", ENVELOPES)
async def test_content_and_parts_of_either_envelope_can_be_read(stand: Stand, envelope: str) -> None:
    seen: list[tuple[str, object]] = []

    async def handle(messages: Messages) -> None:
        seen.append((messages[-1]["content"], messages[-1]["parts"]))

    await stand.push(json.dumps(ENVELOPES[envelope]).encode())
    await Shop(stand, handle).work()
    assert seen == [("hello", [{"kind": "text", "text": "hello"}])]


@pytest.fixture
def handlers() -> Handlers:
    registry = Handlers()

    @registry.register("billing.send", lane="billing", max_attempts=1)
    async def send(statement: Statement, copies: int = 1) -> str:
        if statement.region == "nowhere":
            raise ValueError("no such region")
        return f"{copies} for {statement.region}, due {statement.due:%d.%m.%Y}"

    @registry.register("plain")
    def plain(anything: Any) -> Any:
        return anything

    @registry.default
    async def default() -> str:
        return "what would you like?"

    return registry


GOOD: dict[str, object] = {"statement": {"region": "eu", "due": "2030-01-31"}, "copies": 2}


async def test_named_handlers_get_their_arguments_and_others_the_default(stand: Stand, handlers: Handlers) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    named = await manager.run_task(name="billing.send", kwargs=GOOD)
    plain = await manager.run_task(name="plain", kwargs={"anything": [1]})
    other = await manager.run_task("hello")
    await Shop(stand, handlers).work()
    results = [read_result((await manager.get_task(task_id)).result).value for task_id in (named, plain, other)]
    assert results == ["2 for eu, due 31.01.2030", [1], "what would you like?"]


@pytest.mark.parametrize(
    ("kwargs", "field"),
    [
        ({}, "statement"),
        ({"statement": {"region": "eu"}}, "statement.due"),
        ({"statement": {"region": "eu", "due": "soon"}}, "statement.due"),
        ({**GOOD, "copies": "many"}, "copies"),
        ({**GOOD, "colour": "red"}, "colour"),
    ],
)
async def test_arguments_that_do_not_fit_are_rejected_by_the_field_and_not_retried(
    stand: Stand, handlers: Handlers, kwargs: dict[str, object], field: str
) -> None:
    task_id = await TaskManager(stand.store, queue=stand.queue).run_task(name="billing.send", kwargs=kwargs)
    assert await Shop(stand, handlers).work() == 1
    record = await stand.task(task_id)
    assert (record.state, record.deliveries) == (State.REJECTED, 1)
    assert field in record.reason


async def test_a_handlers_attempts_count_before_the_workers_and_a_tasks_before_them(
    stand: Stand, handlers: Handlers
) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    bad: dict[str, object] = {"statement": {"region": "nowhere", "due": "2030-01-31"}}
    once = await manager.run_task(name="billing.send", kwargs=bad)
    twice = await manager.run_task(name="billing.send", kwargs=bad, max_attempts=2)
    await Shop(stand, handlers).work()
    assert [await stand.state(task_id) for task_id in (once, twice)] == [State.FAILED, State.DELAYED]


async def test_a_producer_that_shares_the_registry_uses_its_lane(stand: Stand, handlers: Handlers) -> None:
    manager = TaskManager(stand.store, queue=stand.queue, handlers=handlers)
    named = await manager.run_task(name="billing.send", kwargs=GOOD)
    other = await manager.run_task("hello")
    chosen = await manager.run_task(name="billing.send", kwargs=GOOD, lane="urgent")
    lanes = [(await manager.get_task(task_id)).lane for task_id in (named, other, chosen)]
    assert lanes == ["billing", stand.queue, "urgent"]
    shop = Shop(stand, handlers)
    assert await shop.work("billing") == 1
    assert await stand.state(named) == State.COMPLETED
