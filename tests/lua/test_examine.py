"""An examined store describes itself: as it is configured, and as this user may see it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from redis.asyncio import Redis

from holdfast.core.store_info import AclInfo, Replica, StoreInfo
from holdfast.core.worker_records import HostFacts
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfast.store import open_store
from holdfast.store.redis import examination, scripts, server_check
from holdfast.store.redis.keys import Keys
from holdfast_config import RedisSettings
from tests.lua.namespace import Namespace, namespace
from tests.servers import serve, valkey

pytestmark = pytest.mark.anyio

QUEUE = "bindu:tasks"
ROOT = Path(__file__).parents[2]
FOR_OPERATORS = {"allowed", "snapshot"}  # not needed to run tasks
FOR_OPERATORS |= {"events", "obliterate", "place", "purge_dead", "purge_unreadable", "readmit", "retry", "strays"}
FOR_OPERATORS |= {"webhooks_list", "webhook_now"}
FOR_OPERATORS |= {"key_count"}  # progress alone: it answers zeros where its commands are refused
FOR_OPERATORS |= {"dump", "follow", "known"}  # needed where PostgreSQL keeps the tasks
FOR_OPERATORS |= {"children", "outlines", "error_kinds"}  # for the dashboard
CALLED = [r"call\('([A-Z]+)'", r"_(?:command|block)\([^\"\n]*\"([A-Z]+)\""]


@pytest.fixture
async def alone(short_path: Path, anyio_backend: object) -> AsyncIterator[Namespace]:
    """A server that nobody else uses."""
    with valkey(short_path) as url:
        async with namespace(url) as made:
            yield made


async def examine(url: str, queue: str = QUEUE) -> StoreInfo:
    async with open_store(RedisSettings(url=url, queue=queue)) as store:
        return await store.examine([queue], 0.0)


@asynccontextmanager
async def user(space: Namespace, *rules: str) -> AsyncIterator[str]:
    """The URL of a user with these rights."""
    await space.do("ACL", "SETUSER", "somebody", "reset", "on", ">secret", *rules)
    yield space.url.replace("unix://", "unix://somebody:secret@")


async def rights_of(space: Namespace, *rules: str) -> AclInfo:
    async with user(space, *rules) as url:
        facts = await examine(url)
    assert facts.rights is not None, facts.unseen
    return facts.rights


async def test_a_server_as_it_comes(alone: Namespace) -> None:
    facts = await examine(alone.url)
    assert facts.unseen == ()
    assert facts.server is not None
    assert (facts.server.engine, facts.server.mode, facts.server.role) == ("valkey", "standalone", "master")
    assert facts.rights == AclInfo("default", (), "")
    assert facts.timing is not None
    assert len(facts.timing.round_trips_ms) == 50
    assert facts.persistence is not None
    assert (facts.persistence.aof, facts.persistence.save) == (False, "")
    assert facts.queue is not None
    assert (facts.queue.schema, facts.queue.counts.workers) == (None, 0)


async def test_a_default_user_without_rights_is_seen(alone: Namespace) -> None:
    async with user(alone, "allkeys", "allchannels", "+@all") as url, Redis.from_url(url) as admin:
        for rules, lacks in (
            ("off resetpass", ()),
            ("reset", ("+@all", "~*")),
            ("+@all -@dangerous ~x", ("~*",)),
            ("~* &* +@all", ()),
        ):
            await admin.execute_command("ACL", "SETUSER", "default", *rules.split())
            facts = await examine(url)
            assert facts.rights is not None
            assert facts.rights.replay == lacks, rules
        await admin.execute_command("ACL", "SETUSER", "default", "on", "nopass")


async def test_settings_that_were_changed_are_seen(short_path: Path) -> None:
    options = ("--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "20mb", "--maxclients", "40")
    with serve(short_path, *options, "--timeout", "30", "--maxmemory-policy", "allkeys-lru") as server:
        facts = await examine(server.url)
    assert facts.persistence is not None
    assert (facts.persistence.aof, facts.persistence.fsync) == (True, "always")
    assert facts.memory is not None
    assert (facts.memory.limit, facts.memory.policy) == (20 << 20, "allkeys-lru")
    assert facts.clients is not None
    assert (facts.clients.most, facts.clients.idle_timeout) == (40, 30)


@pytest.mark.parametrize("space", ["server"], indirect=True)
async def test_workers_and_their_stewards_are_seen(space: Namespace) -> None:
    await space.register("w1", "w2")
    await space.store.vouch(["w1"])
    facts = await examine(space.url, space.queue)
    assert facts.queue is not None
    assert {(one.incarnation, one.vouched_ago_ms is None) for one in facts.queue.members} == {
        ("w1", False), ("w2", True)
    }  # fmt: skip


async def test_a_second_examination_asks_a_handful_of_questions_and_sees_what_has_changed(alone: Namespace) -> None:
    await alone.register("w1")
    async with open_store(RedisSettings(url=alone.url, queue=alone.queue)) as store:
        first = await store.examine([alone.queue], 0.0)
        await alone.register("w2")
        await alone.do("CONFIG", "SET", "maxmemory", "20mb")
        await alone.store.pause_lane("mail", "the provider is down")
        sent, execute = list[str](), store.connection._execute

        async def counted(*command: object) -> object:
            sent.append(str(command[0]))
            return await execute(*command)

        store.connection._execute = counted
        again = await store.examine_again([alone.queue], first)
    assert len(sent) <= 8, sent
    assert first.queue is not None
    assert again.queue is not None
    assert again.memory is not None
    assert [each.incarnation for each in first.queue.members] == ["w1"]
    assert {each.incarnation for each in again.queue.members} == {"w1", "w2"}
    assert again.memory.limit == 20 << 20
    assert {each.name for each in again.queue.states if each.is_paused} == {"mail"}
    assert (again.rights, again.slow, again.clients, again.timing) == (
        first.rights, first.slow, first.clients, first.timing
    )  # fmt: skip


async def test_a_second_examination_tells_what_it_may_no_longer_see(alone: Namespace) -> None:
    async with user(alone, "allkeys", "allchannels", "+@all") as url, open_store(RedisSettings(url=url)) as store:
        first = await store.examine([QUEUE], 0.0)
        await alone.do("ACL", "SETUSER", "somebody", "-info")
        again = await store.examine_again([QUEUE], first)
        await alone.do("ACL", "SETUSER", "somebody", "+info")
        back = await store.examine_again([QUEUE], again)
    assert [what for what, _ in again.unseen] == ["server"]
    assert (again.server, again.memory, again.persistence) == (None, None, None)
    assert back.unseen == ()
    assert back.server == first.server
    assert back.memory is not None


async def test_somebody_elses_blpop_is_seen_and_ours_is_not(alone: Namespace) -> None:
    async with open_store(RedisSettings(url=alone.url)) as store, anyio.create_task_group() as group:
        group.start_soon(store.listen, "w1", [QUEUE], 60.0)
        group.start_soon(alone.do, "BLPOP", QUEUE, 60)
        with anyio.fail_after(30):
            while (await alone.do("INFO", "clients"))["blocked_clients"] < 2:
                await anyio.lowlevel.checkpoint()  # the question itself takes its time
        facts = await examine(alone.url)
        group.cancel_scope.cancel()
    assert facts.clients is not None
    assert facts.clients.strangers is not None
    assert [(stranger.name, stranger.command) for stranger in facts.clients.strangers] == [("", "blpop")]


async def test_a_user_without_rights_on_our_keys_is_told_which_commands_fail(alone: Namespace) -> None:
    refused = await rights_of(alone, "+@all", f"~{QUEUE}", "&*")
    assert f"HSET {{{QUEUE}}}:*" in refused.forbidden
    assert f"LPOP {QUEUE}" not in refused.forbidden


async def test_single_commands_that_are_missing_are_named(alone: Namespace) -> None:
    refused = await rights_of(alone, "allkeys", "allchannels", "+@all", "-blmove")
    assert refused.forbidden == (f"BLMOVE {QUEUE}",)


async def test_without_the_right_to_load_scripts_nothing_of_them_is_seen(alone: Namespace) -> None:
    async with user(alone, "allkeys", "allchannels", "+@all", "-script|load") as url:
        facts = await examine(url)
    assert "script|load" in dict(facts.unseen)["rights"]


async def test_what_a_user_may_not_see_hides_nothing_else(alone: Namespace) -> None:
    async with user(alone, "allkeys", "allchannels", "+@all", "-info", "-client|list", "-config") as url:
        facts = await examine(url)
    assert {what for what, _ in facts.unseen} == {"server", "settings"}
    assert (facts.server, facts.memory, facts.persistence, facts.clients) == (None, None, None, None)
    assert facts.timing is not None
    assert facts.queue is not None


async def test_a_wrong_password_is_a_refusal(alone: Namespace) -> None:
    with pytest.raises(StoreRefusedError, match="password"):
        await examine(alone.url.replace("unix://", "unix://nobody:wrong@"))


async def test_a_server_that_is_away_is_told_so(short_path: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        await examine(f"unix://{short_path}/nothing.sock")


def called() -> Iterator[str]:
    """Every command that the product runs, inside its scripts and outside."""
    lua = (scripts.text(name) for name in (*scripts.operations(), *scripts.shared_parts()) if name not in FOR_OPERATORS)
    roles = (
        (ROOT / f"workers/holdfast/store/redis/{role}.py").read_text() for role in ("worker", "steward", "producer")
    )
    for source in (*lua, *roles):
        for pattern in CALLED:
            yield from re.findall(pattern, source)


def test_rights_are_asked_about_for_every_command_that_is_run() -> None:
    asked = {command[0] for _, command in server_check.needed_rights(Keys(QUEUE), [QUEUE])} | {"PING"}
    assert set(called()) <= asked
    assert len(set(called())) > 30


def test_operations_are_shipped_where_they_are_looked_for() -> None:
    assert set(scripts.operations()) >= set(FOR_OPERATORS)


@pytest.mark.parametrize("space", ["server"], indirect=True)
async def test_a_steward_tells_the_clock_and_the_version_of_its_host(space: Namespace) -> None:
    await space.register("w1", "w2")
    now_ms = await space.store.clock_ms()
    await space.store.vouch(["w1"], HostFacts(now_ms + 5000, "1.2.3"))
    facts = await examine(space.url, space.queue)
    assert facts.queue is not None
    assert {(one.incarnation, one.version, one.clock_ahead_ms) for one in facts.queue.members} == {
        ("w1", "1.2.3", 5000), ("w2", "", None)
    }  # fmt: skip


@pytest.mark.parametrize("space", ["server"], indirect=True)
async def test_no_heartbeat_comes_from_the_future(space: Namespace) -> None:
    """A server's clock that was set back makes earlier heartbeats later than now: their age counts as 0."""
    await space.register("w1", "w2")
    await space.do("ZADD", space.keys["workers"], (int((await space.do("TIME"))[0]) + 60) * 1000, "w1")
    facts = await examine(space.url, space.queue)
    assert facts.queue is not None
    assert {one.incarnation: one.beat_ago_ms for one in facts.queue.members}["w1"] == 0
    assert {one.incarnation: one.beat_ago_ms for one in await space.store.workers()}["w1"] == 0
    assert (await space.store.incarnations(["w1"]))["w1"].beat_ago_ms == 0


async def test_slow_commands_are_named_without_their_arguments(alone: Namespace) -> None:
    await alone.do("CONFIG", "SET", "slowlog-log-slower-than", "0")
    await alone.do("SET", "x", "secret")
    async with open_store(RedisSettings(url=alone.url, queue=QUEUE)) as store:
        await store.counts()
    facts = await examine(alone.url)
    assert facts.slow is not None
    assert facts.slow.above_us == 0
    assert {"SET", "PING", "EVALSHA counts"} <= {each.command for each in facts.slow.commands}
    assert "secret" not in repr(facts.slow)


def test_a_replica_is_seen_with_what_it_lacks() -> None:
    report = {
        "role": "master", "connected_slaves": "1", "master_repl_offset": "600",
        "slave0": "ip=10.0.0.2,port=6379,state=online,offset=500,lag=3", "slave_read_only": "1",
    }  # fmt: skip
    assert examination.server(report, "url", "").followers == (Replica("10.0.0.2:6379", "online", 100, 3),)


async def test_connections_that_were_refused_are_counted(short_path: Path) -> None:
    with serve(short_path, "--maxclients", "3") as server:
        async with namespace(server.url) as space:
            await space.do("PING")  # this connection stays open
            held = [await anyio.connect_unix(server.url.removeprefix("unix://")) for _ in range(6)]
            for one in held:
                await one.aclose()
            with anyio.fail_after(20):
                while (await space.do("INFO", "clients"))["connected_clients"] > 1:
                    await anyio.lowlevel.checkpoint()
            facts = await examine(server.url)
    assert facts.clients is not None
    assert facts.clients.refused > 0
