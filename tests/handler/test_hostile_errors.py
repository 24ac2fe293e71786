"""An error that cannot be shown as others are is a failed attempt, wherever a task meets it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from holdfast import Handlers, Task
from holdfast.core.messages import call_part
from holdfast.core.outcomes import Raised
from holdfast.errors import HandlerError
from holdfast.handler.failures import MESSAGE_BYTES, TRACEBACK_BYTES
from holdfast.handler.handler import Handler
from holdfast.handler.named_handler import resolve
from tests.handler.deliveries import delivery_of, run_handler
from tests.handler.hostile_errors import HOSTILE, nothing, properties

pytestmark = pytest.mark.anyio

Raising = Callable[[], Any]


def coroutine(raising: Raising) -> Handler:
    handlers = Handlers()

    @handlers.register("a")
    async def handle() -> None:
        raising()

    return handlers.frozen("tests:handle")


def plain(raising: Raising) -> Handler:
    handlers = Handlers()
    handlers.register("a")(lambda: raising())
    return handlers.frozen("tests:handle")


def step(raising: Raising) -> Handler:
    handlers = Handlers()

    @handlers.register("a")
    async def handle(task: Task) -> None:
        await task.step("one", raising)

    return handlers.frozen("tests:handle")


def plain_step(raising: Raising) -> Handler:
    handlers = Handlers()

    @handlers.register("a")
    def handle(task: Task) -> None:
        task.step_sync("one", raising)

    return handlers.frozen("tests:handle")


def middleware(raising: Raising) -> Handler:
    handlers = Handlers()

    @handlers.use
    async def around(task: Task, call: Callable[[], Awaitable[Any]]) -> Any:
        await call()
        raising()

    @handlers.register("a")
    async def handle() -> None: ...

    return handlers.frozen("tests:handle")


def plain_middleware(raising: Raising) -> Handler:
    handlers = Handlers()

    @handlers.use
    def around(task: Task, call: Callable[[], Any]) -> Any:
        call()
        raising()

    @handlers.register("a")
    async def handle() -> None: ...

    return handlers.frozen("tests:handle")


def task_group(raising: Raising) -> Handler:
    handlers = Handlers()

    async def beside() -> None:
        raising()

    @handlers.register("a")
    async def handle() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(beside)

    return handlers.frozen("tests:handle")


@pytest.mark.parametrize("raising", HOSTILE)
@pytest.mark.parametrize("place", [coroutine, plain, step, plain_step, middleware, plain_middleware, task_group])
async def test_it_is_a_failed_attempt(place: Callable[[Raising], Handler], raising: Raising) -> None:
    if place is task_group and raising in (nothing, properties):
        pytest.skip("anyio itself asks such an error for its class")
    outcome = await run_handler(place(raising), delivery_of([call_part("a", {})]))
    assert isinstance(outcome, Raised), outcome
    assert outcome.failure.type
    assert len(outcome.failure.message.encode()) <= MESSAGE_BYTES
    assert len(outcome.failure.traceback.encode()) <= TRACEBACK_BYTES
    json.dumps([outcome.failure.type, outcome.failure.message, outcome.failure.traceback]).encode()


@pytest.mark.parametrize("raising", HOSTILE)
def test_an_import_that_raises_it_is_refused_with_a_reason(raising: Raising, tmp_path: Path) -> None:
    name = f"app_{raising.__name__}"
    (tmp_path / f"{name}.py").write_text(f"from tests.handler.hostile_errors import {raising.__name__} as do\ndo()\n")
    with pytest.raises(HandlerError) as caught:
        resolve(f"{name}:handle", tmp_path)
    assert str(caught.value).startswith(f"importing {name} failed: ")
    assert f"in {raising.__name__}" in caught.value.traceback
