"""Commands over connections that are kept: every answer belongs to its command, whatever becomes of callers and
connections."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import pytest
import redis

from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.fast_client import Send
from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio
CONNECTIONS = 3


@pytest.fixture
async def connection(redis_settings: RedisSettings) -> AsyncIterator[Connection]:
    settings = replace(redis_settings, max_connections=CONNECTIONS, answer_timeout=5.0)
    async with open_store(settings) as store:
        assert isinstance(store, RedisStore)
        yield store.connection


async def own_id(connection: Connection) -> int:
    return int(await connection.command("CLIENT", "ID"))


async def test_what_was_sent_behind_a_wait_was_not_run_where_the_server_has_lost_its_script(
    connection: Connection,
) -> None:
    """It is loaded when it is asked again."""
    await connection.command("SCRIPT", "FLUSH")
    await connection.command("RPUSH", "list", "rung")

    def offer(send: Send | None) -> None:
        assert send is None or send(*connection.operation("now"))

    assert await connection.wait(10.0, offer, "BLPOP", "list", 10) == ([b"list", b"rung"], None)
    await connection.run("now")
    await connection.command("RPUSH", "list", "rung")
    _, now = await connection.wait(10.0, offer, "BLPOP", "list", 10)
    assert now is not None


async def test_one_caller_keeps_one_connection(connection: Connection) -> None:
    assert len({await own_id(connection) for _ in range(20)}) == 1


async def test_more_callers_than_connections_are_all_answered(connection: Connection) -> None:
    ids, answers = set[int](), list[int]()

    async def call(number: int) -> None:
        ids.add(await own_id(connection))
        answers.append(int(await connection.command("ECHO", number)))

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(call, number)
    assert sorted(answers) == list(range(50))
    assert len(ids) <= CONNECTIONS


async def test_no_answer_reaches_another_command_where_callers_are_cancelled(connection: Connection) -> None:
    dice, answered, cancelled = random.Random(7), 0, 0

    async def call(number: int) -> None:
        nonlocal answered, cancelled
        with anyio.move_on_after(dice.choice([0.0, 0.0001, 0.0005, 0.002, 5.0])) as scope:
            assert int(await connection.command("ECHO", number)) == number
            answered += 1
        cancelled += scope.cancelled_caught

    for start in range(0, 2000, 20):
        async with anyio.create_task_group() as group:
            for number in range(start, start + 20):
                group.start_soon(call, number)
    assert answered
    assert cancelled
    assert len({await own_id(connection) for _ in range(5)}) == 1


async def test_the_answer_of_a_command_that_was_given_up_reaches_no_other(connection: Connection) -> None:
    await own_id(connection)
    async with anyio.create_task_group() as group:
        group.start_soon(connection.command, "BLPOP", f"{connection.keys.queue}:nothing", 0.5)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert await connection.command("ECHO", "own") == b"own"


async def test_a_connection_that_the_server_has_closed_is_not_used_again(connection: Connection) -> None:
    before = await own_id(connection)
    async with open_store(RedisSettings(connection.url, 1, connection.keys.queue)) as other:
        assert isinstance(other, RedisStore)
        await other.connection.command("CLIENT", "KILL", "ID", before)
        with anyio.fail_after(30):
            while (after := await own_id(connection)) == before:
                pass
    assert after != before


async def test_a_late_answer_closes_its_connection(connection: Connection, redis_settings: RedisSettings) -> None:
    async with open_store(replace(redis_settings, answer_timeout=0.05)) as store:
        assert isinstance(store, RedisStore)
        before = await own_id(store.connection)
        with pytest.raises(StoreUnavailableError, match=r"no answer within 0\.05 s"):
            await store.connection.command("BLPOP", f"{redis_settings.queue}:nothing", 1)
        assert await own_id(store.connection) != before


async def test_an_answer_that_comes_while_this_process_stands_still_past_the_limit_counts(
    redis_settings: RedisSettings,
) -> None:
    """As behind a handler that blocks its event loop, or on a host that sleeps."""
    answers = list[object]()

    async def wait(connection: Connection) -> None:
        answers.append(await connection.block(0.0, "BLPOP", "list", 30))

    async with open_store(replace(redis_settings, answer_timeout=1.0)) as store:
        assert isinstance(store, RedisStore)
        with redis.Redis.from_url(redis_settings.url) as other:
            other.rpush("list", "first")
            await wait(store.connection)  # the connection is there from now on
            async with anyio.create_task_group() as group:
                group.start_soon(wait, store.connection)
                await anyio.wait_all_tasks_blocked()
                other.rpush("list", "second")
                time.sleep(1.1)  # noqa: ASYNC251  # that is what it is about
    assert answers == [[b"list", b"first"], [b"list", b"second"]]


async def test_what_no_command_takes_is_refused_and_costs_no_connection(connection: Connection) -> None:
    before = await own_id(connection)
    for value in (None, object()):
        with pytest.raises(StoreError, match="texts, bytes and numbers"):
            await connection.command("ECHO", value)  # type: ignore[arg-type]  # that is the test
    assert await own_id(connection) == before
