"""Servers that are unfit: full, evicting, of another schema, without our scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from holdfast.core.acceptance import SubmitOptions
from holdfast.core.delivery import Holding, Settle, Standing
from holdfast.errors import StoreFullError, StoreRefusedError
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import introduction, submission
from tests.servers import valkey

pytestmark = pytest.mark.anyio


@pytest.fixture
async def alone(short_path: Path, anyio_backend: object) -> AsyncIterator[Namespace]:
    """A server that nobody else uses: its configuration may be changed."""
    with valkey(short_path) as url:
        async with namespace(url) as made:
            yield made


async def fill(space: Namespace) -> None:
    await space.do("CONFIG", "SET", "maxmemory", "1")


async def test_a_full_server_refuses_a_submit_before_anything_is_written(alone: Namespace) -> None:
    await alone.submit("t1")
    before = await alone.check()
    await fill(alone)
    with pytest.raises(StoreFullError):
        await alone.submit("t2")
    with pytest.raises(StoreFullError):
        await alone.store.submit_with_options(
            [submission("t2", alone.queue, options=SubmitOptions(unique="k", after=("t1",)))]
        )
    assert await alone.check() == before


async def test_a_full_server_refuses_a_retry_before_anything_is_written(alone: Namespace) -> None:
    await alone.submit("t1")
    await alone.store.cancel("t1", "x")
    before = await alone.check()
    await fill(alone)
    with pytest.raises(StoreFullError):
        await alone.store.retry("t1", "x")
    assert await alone.check() == before


async def test_on_a_full_server_everything_else_goes_on(alone: Namespace) -> None:
    await alone.register("a")
    await alone.submit("t1", "t2", "t3", "t4")
    [first] = await alone.take("a", 1)
    await alone.push(b"{", b"[", lane=alone.keys.lane("other"))
    await alone.pull("a", lanes=["other"])
    [late, early] = await alone.store.unreadable(2)
    await fill(alone)
    assert await alone.store.register(introduction("b")) is Standing.OK
    [second] = await alone.take("b", 1)
    assert await alone.settle("a", first, Settle.COMPLETED, result=b"1" * 1000) == "OK"
    assert (await alone.store.renew("b", "live", 1, [Holding("t2", second.claim)])).standing is Standing.OK
    assert await alone.crash("b") == 1
    assert await alone.store.cancel("t3", "enough") == "canceled"
    assert await alone.store.pause("t4", "wait") == "suspended"
    assert await alone.store.resume("t4", "go") == "submitted"
    await alone.store.vouch(["a"])
    await alone.store.wake("a")
    assert await alone.store.promote(10) == (0, None)
    assert await alone.store.audit(alone.queue, 10, "") == (0, "")
    assert await alone.store.reap(1, 1) == {}
    assert (await alone.store.ring(alone.queue))[0] > 0
    assert (await alone.store.tend([alone.queue])).lanes == 1
    assert len(await alone.entries()) > 0
    assert await alone.store.readmit(early.address) == "back"
    assert await alone.store.purge_unreadable(late.at_ms, 10) == 1
    assert await alone.store.purge_dead(["t1"]) == 0
    assert await alone.store.trim(0, 10) == 2
    await alone.check()


async def test_a_server_that_has_room_again_takes_submits_again(alone: Namespace) -> None:
    await fill(alone)
    with pytest.raises(StoreFullError):
        await alone.submit("t1")
    await alone.do("CONFIG", "SET", "maxmemory", "0")
    await alone.submit("t1")
    assert await alone.state("t1") == "submitted"


async def test_a_full_server_is_no_reason_not_to_start_again(alone: Namespace) -> None:
    await alone.store.preflight()
    await fill(alone)
    await alone.store.preflight()


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
async def test_an_evicting_server_is_refused(alone: Namespace, policy: str) -> None:
    await alone.store.preflight()
    await alone.do("CONFIG", "SET", "maxmemory-policy", policy)
    with pytest.raises(StoreRefusedError, match="noeviction"):
        await alone.store.preflight()


async def answer_as_redis_6(stream: SocketStream) -> None:
    """A server of another age, as far as a greeting goes: PONG, its INFO, OK to the rest."""
    info = b"# Server\r\nredis_version:6.2.14\r\n"
    async with stream:
        async for request in stream:
            told = b"$%d\r\n%b\r\n" % (len(info), info)
            answer = told if b"INFO" in request else b"+PONG\r\n" if b"PING" in request else b"+OK\r\n"
            await stream.send(answer * request.count(b"*"))


async def test_a_server_that_is_too_old_is_refused(short_path: Path) -> None:
    listener = await anyio.create_unix_listener(short_path / "old.sock")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer_as_redis_6)
        async with aclosing(Namespace(f"unix://{short_path / 'old.sock'}")) as old:
            with pytest.raises(StoreRefusedError, match=r"is 6\.2\.14; Redis 7\.0 or later"):
                await old.store.preflight()
        group.cancel_scope.cancel()


async def test_another_schema_is_refused(space: Namespace) -> None:
    await space.store.preflight()
    await space.do("HSET", space.key("meta"), "schema", 2)
    with pytest.raises(StoreRefusedError, match="schema"):
        await space.store.preflight()


async def test_a_lost_store_is_told_and_begun_anew(alone: Namespace) -> None:
    await alone.register("a")
    await alone.submit("t1")
    await alone.take("a")
    await alone.do("FLUSHALL")
    assert (await alone.store.renew("a", "live", 1, [])).standing is Standing.UNKNOWN
    assert await alone.store.register(introduction("a")) is Standing.OK
    await alone.submit("t2")
    assert [delivery.task_id for delivery in await alone.take("a")] == ["t2"]
    await alone.check()
