"""Callers that submit at the same time share calls of the script, and share nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from holdfast.core.acceptance import Accepted, Submission
from holdfast.core.envelope import build_parts
from holdfast.errors import StoreError
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.envelopes import build_run

pytestmark = pytest.mark.anyio


def submission(task_id: str, lane: str, text: str = "hello", message_id: str = "m") -> Submission:
    built = build_run(task_id, build_parts(text), message_id=message_id)
    return Submission(task_id, built.message_id, built.digest, built.operation, lane)


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        assert isinstance(opened, RedisStore)
        yield opened


class Line:
    """Counts the calls of the script, and can hold one back before it is sent."""

    def __init__(self, store: RedisStore) -> None:
        self.calls = 0
        self.held: anyio.Event | None = None
        self.holds = anyio.Event()
        self._send = store.connection.client.execute_command
        store.connection._execute = self.execute  # pyright: ignore[reportPrivateUsage]  # sends all the same

    async def execute(self, *command: object) -> object:
        self.calls += 1
        if self.held is not None:
            held, self.held = self.held, None
            self.holds.set()
            await held.wait()
        return await self._send(*command)


async def test_callers_that_submit_at_the_same_time_share_calls(
    store: RedisStore, redis_settings: RedisSettings
) -> None:
    answers, line = dict[str, Accepted](), Line(store)

    async def submit(task_id: str) -> None:
        [answers[task_id]] = await store.submit([submission(task_id, redis_settings.queue)])

    await submit("loaded")
    line.calls = 0
    names = [f"t{number}" for number in range(64)]
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(submit, name)
    assert {answers[name] for name in names} == {Accepted.NEW}
    assert line.calls == 2
    assert [(await store.get(name)) is not None for name in names] == [True] * 64


async def test_an_error_is_that_of_the_caller_whose_submission_has_it(
    store: RedisStore, redis_settings: RedisSettings
) -> None:
    """A key of another type fails the script for all that are in the call; only one caller hears of it."""
    queue = redis_settings.queue
    await store.connection.command("SET", f"{{{queue}}}:task:broken", "no hash")
    answers, errors = dict[str, Accepted](), dict[str, str]()

    async def submit(task_id: str) -> None:
        try:
            [answers[task_id]] = await store.submit([submission(task_id, queue)])
        except StoreError as error:
            errors[task_id] = str(error)

    async with anyio.create_task_group() as group:
        for name in ("first", "a", "broken", "b"):
            group.start_soon(submit, name)
    assert set(errors) == {"broken"}
    assert errors["broken"]
    assert set(answers) == {"first", "a", "b"}


@pytest.mark.parametrize("cancelled", ["first", "leader", "follower"])
async def test_a_cancelled_caller_takes_no_other_along(
    store: RedisStore, redis_settings: RedisSettings, cancelled: str
) -> None:
    answers, line = dict[str, Accepted](), Line(store)
    scopes = dict[str, anyio.CancelScope]()

    async def submit(task_id: str) -> None:
        with anyio.CancelScope() as scopes[task_id]:
            [answers[task_id]] = await store.submit([submission(task_id, redis_settings.queue)])

    release = line.held = anyio.Event()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for name in ("first", "leader", "follower", "last"):
                group.start_soon(submit, name)
            await line.holds.wait()
            if cancelled == "first":
                scopes["first"].cancel()
            else:  # the second call has the other three
                line.holds, line.held = anyio.Event(), (second := anyio.Event())
                release.set()
                await line.holds.wait()
                scopes[cancelled].cancel()
                await anyio.wait_all_tasks_blocked()
                second.set()
    others = {"first", "leader", "follower", "last"} - {cancelled}
    assert others <= set(answers)
    assert {answers[name] for name in others} <= {Accepted.NEW, Accepted.DUPLICATE}


async def test_a_caller_that_leaves_the_queue_is_not_submitted(
    store: RedisStore, redis_settings: RedisSettings
) -> None:
    line = Line(store)
    release = line.held = anyio.Event()
    gone = anyio.CancelScope()

    async def submit(task_id: str) -> None:
        await store.submit([submission(task_id, redis_settings.queue)])

    async def leave() -> None:
        with gone:
            await submit("gone")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(submit, "first")
            await line.holds.wait()
            group.start_soon(leave)
            group.start_soon(submit, "last")
            await anyio.wait_all_tasks_blocked()
            gone.cancel()
            await anyio.wait_all_tasks_blocked()
            release.set()
    assert await store.get("gone") is None
    assert await store.get("last") is not None
