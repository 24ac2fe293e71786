"""A Cluster: work over it, lanes that it would keep elsewhere, a slot that moves, a node that ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from holdfast.core.acceptance import Accepted
from holdfast.errors import InvalidTaskError, StoreError, StoreRefusedError, StoreUnavailableError
from holdfast.store.redis import RedisStore
from tests.constellations import Cluster, Group, cluster, until
from tests.lua.invariants import breaches
from tests.lua.operations import introduction, submission
from tests.redis.work import PATIENT, claim, opened, round_of_work, settle, with_files
from tests.servers import bundled, redis_server

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["valkey", "redis"])
def nodes(folder: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """They tell clients of a slot that moves in ways of their own."""
    program = None if request.param == "valkey" else redis_server()
    if request.param == "redis" and program is None:
        pytest.skip("no redis-server, 7.0 or later, on PATH")
    with cluster(folder / request.param, program=program) as made:
        yield made


async def test_work_is_done_on_the_node_that_serves_the_queue(nodes: Cluster) -> None:
    for _ in range(3):  # each with a queue of its own, mostly of another node
        await round_of_work(nodes.url)


async def test_nodes_are_reached_over_tls(tls_server: Path, short_path: Path) -> None:
    with cluster(short_path, program=tls_server, tls=True) as made:
        await round_of_work(with_files(made.url, made.group))


async def test_any_node_leads_to_the_one_that_serves(nodes: Cluster) -> None:
    async with opened(f"redis+cluster://{nodes.nodes[0].host}:1,{nodes.other('q').address}", "q") as (store, _):
        await store.preflight()
    assert nodes.owner("q").ask("HGET", "{q}:meta", "schema") == "1"


async def test_a_lane_that_the_cluster_would_keep_elsewhere_is_refused_before_anything_is_written(
    nodes: Cluster,
) -> None:
    async with opened(nodes.url) as (store, queue):
        with pytest.raises(InvalidTaskError, match=r"may keep lane 'other:lane' on another node"):
            await store.submit([submission("t", "other:lane")])
        assert await store.get("t") is None
        assert await store.submit([submission("t", "high"), submission("u", queue)]) == [Accepted.NEW] * 2


async def test_a_plain_url_of_a_node_is_refused_with_the_url_that_is_needed(nodes: Cluster) -> None:
    for node in (nodes.owner("q"), nodes.other("q")):
        async with opened(f"redis://{node.address}", "q") as (store, _):
            with pytest.raises(StoreRefusedError, match=r"use redis\+cluster://"):
                await store.preflight()
    async with opened(f"redis://{nodes.other('q').address}", "q") as (store, _):
        with pytest.raises(StoreRefusedError, match=r"use redis\+cluster://"):
            await store.get("t")


async def test_a_server_that_is_no_node_is_an_error_that_says_so(short_path: Path) -> None:
    group = Group(short_path, bundled())
    with group.stack:
        alone = group.start()
        async with opened(f"redis+cluster://{alone.address}") as (store, _):
            with pytest.raises(StoreError, match="cluster support disabled") as refused:
                await store.ping()
    assert not isinstance(refused.value, StoreUnavailableError)


async def test_work_follows_a_slot_that_has_moved(nodes: Cluster) -> None:
    async with opened(nodes.url) as (store, queue):
        await store.register(introduction("w"))
        delivery = await claim(store, queue, "w", "t")
        to = nodes.other(queue)
        with nodes.moving(queue, to):
            pass
        assert await settle(store, queue, "w", delivery) == "OK"
        assert nodes.owner(queue) is to
        assert breaches(await store.snapshot(), queue) == []


async def test_while_a_slot_moves_scripts_are_refused_before_they_begin(nodes: Cluster) -> None:
    """Nothing is executed by half, whichever slots have moved and whatever a script would find first."""
    async with opened(nodes.url) as (store, queue):
        await store.register(introduction("w"))
        delivery = await claim(store, queue, "w", "t")
        await store.submit([submission("waiting", queue)])
        with nodes.moving(queue, nodes.other(queue)) as move:
            await _refused(store, queue)
            while move(1):
                await _refused(store, queue)
            await _refused(store, queue)
        assert await settle(store, queue, "w", delivery) == "OK"
        assert [each.task_id for each in (await store.pull("w", 3, 10, [queue], [])).deliveries] == ["waiting"]
        assert breaches(await store.snapshot(), queue) == []


async def _refused(store: RedisStore, queue: str) -> None:
    with pytest.raises(StoreUnavailableError):
        await store.submit([submission("new", queue)])
    with pytest.raises(StoreUnavailableError):
        await store.pull("w", 2, 10, [queue], [])


async def test_who_blocks_at_the_old_node_finds_the_new_one(nodes: Cluster) -> None:
    async with opened(nodes.url) as (store, queue), anyio.create_task_group() as group:
        await store.register(introduction("w"))
        kinds: list[str] = []

        async def listen() -> None:
            hint = await PATIENT.call(store.listen, "w", [queue], 60.0)
            kinds.append(hint.kind if hint else "")

        source = nodes.owner(queue)
        group.start_soon(listen)
        await anyio.to_thread.run_sync(until, lambda: "cmd=blpop" in source.ask("CLIENT", "LIST"))
        with nodes.moving(queue, nodes.other(queue)):
            pass
        await store.submit([submission("t", queue)])
        await anyio.to_thread.run_sync(until, lambda: bool(kinds))
        assert kinds == ["bell"]


async def test_a_node_that_dies_is_replaced_by_its_replica_which_is_found(short_path: Path) -> None:
    with cluster(short_path) as made:
        async with opened(made.url) as (store, queue):
            await store.register(introduction("w"))
            delivery = await claim(store, queue, "w", "t")
            master = made.owner(queue)
            replica = made.follow(master)
            assert master.ask("WAIT", 1, 10_000) == 1
            master.kill()
            assert await PATIENT.call(settle, store, queue, "w", delivery) == "OK"
            assert replica.ask("ROLE")[0] == "master"
            assert breaches(await store.snapshot(), queue) == []
