"""Whatever is damaged while a ledger puts tasks and settings back: once it is mended, the next rebuild mends the rest.

Redis has lost a world of tasks. Each key that a rebuild touches holds something else in turn, or a right is taken away;
the rebuild is begun, the damage is mended, and the rebuild is done again. What stands there is what stands there
without any damage.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from holdfast.core.acceptance import BatchPlace, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.errors import StoreError
from holdfast.store.redis.keys import KEY_NAMES
from holdfast.store.redis.ledger import Dump, KeptSetting, RedisLedger, Removal, Restored
from holdfast.store.redis.steward import RedisSteward
from tests.lua import test_damaged_neighbours as neighbours
from tests.lua.invariants import breaches
from tests.lua.namespace import Namespace
from tests.lua.test_half_recorded import without

pytestmark = pytest.mark.anyio

EPOCH = "1-e"
HOOK = "https://example.org/hook"
SETTINGS = ("rules|", "quiet|", "webhook|")
OWN = (
    "task", "op", "history", "pending", "messages", "checkpoint", "trail", "retrying", "steps", "ties", "children",
    "parents",
)  # fmt: skip
QUEUE_KEYS = tuple(
    name for name in KEY_NAMES.values() if not name.startswith(":") and name[-1] not in ":@" and name != "meta"
)
OF_MANY = ("batch:b", "batch_tasks:b", "submitted:QUEUE", "bell:QUEUE", "lane:other", "receiver:*", "outcome:*")
COMMANDS = (
    "zadd", "hincrby", "xadd", "rpush", "sadd", "hset", "set", "hdel", "del", "unlink", "exists", "zrem", "hsetnx",
    "zcard", "publish",
)  # fmt: skip
# What a second try may do again: numbers of lanes, moments, and what tells of the first try.
TOLD = (
    "events",
    "unreadable",
    "seq",
    "heads",
    "stale",
    "bell:",
    "control:",
    "worker",
    "quarantine",
    "names:",
    "handlers",
)


@dataclass(frozen=True, slots=True)
class World:
    queue: str
    dumps: Sequence[Dump]
    settings: Sequence[KeptSetting]
    whole: Mapping[str, object]


async def build(space: Namespace) -> None:
    await neighbours.build(space)
    for operation in neighbours.operations(space.queue).values():
        await operation(space)
    for task_id in ("paused", "parked", "hooked"):
        await neighbours.with_options(space, task_id, SubmitOptions(webhook=HOOK))
    for delivery in await space.take("w"):
        kind = {"parked": Settle.INPUT_REQUIRED, "hooked": Settle.COMPLETED}.get(delivery.task_id)
        if kind:
            await space.settle("w", delivery, kind)
    await neighbours.with_options(space, "of-other", SubmitOptions(batch=BatchPlace("c", 1, 1, "d3")))
    await space.submit("halted", lane="other", delay_ms=1)
    await space.store.pause("halted", "wait")
    await space.message("par", "m2")
    await space.store.bound([LaneLimit(LaneBound.LIMIT, "other", "3")])
    await space.store.pause_lane("other", "wait")
    await space.store.quiet_host("host", "me", "why")


def task_ids(snapshot: Mapping[str, Any], space: Namespace) -> list[str]:
    return sorted(key.removeprefix(space.key("task:")) for key in snapshot if key.startswith(space.key("task:")))


def told(space: Namespace, snapshot: Mapping[str, Any]) -> dict[str, object]:
    """What stands there, without what a second try may do again."""
    found = dict[str, object]()
    for key, held in snapshot.items():
        name, content = key.removeprefix(space.key("")), held["content"]
        if name.startswith(TOLD):
            continue
        if name == space.queue or name.startswith("lane:"):
            continue  # breaches says which entries are missing
        if name.startswith(("submitted:", "children:", "waiting", "parked", "agenda", "batch_looks", "batches")):
            content = sorted(content)
        if name.startswith("task:"):
            content = {field: text for field, text in content.items() if field not in {"seq", "queued"}}
        if name == "tally":
            content = {field: text for field, text in content.items() if text != "0"}
        if name == "counters":
            content = {field: text for field, text in content.items() if field in {"accepted", "trimmed"}}
        if isinstance(content, list) and not name.startswith(("history:", "pending:", "trail:")):
            content = sorted(map(str, content))
        found[name] = content
    return found


async def lose(space: Namespace) -> None:
    await space.forget_keys()
    await space.do("DEL", space.queue)
    await RedisLedger(space.store.connection).begin_rebuild(EPOCH)


async def rebuild(space: Namespace, world: World, *, tolerant: bool = False) -> None:
    """As the keeper of a ledger does: each step by itself."""
    ledger = RedisLedger(space.store.connection)

    async def settings() -> None:
        await ledger.restore_settings(EPOCH, world.settings, set_back=False)

    async def tasks() -> None:
        ended = [dump for dump in world.dumps if dump.text("finished")]
        await ledger.restore(EPOCH, ended)
        words = await ledger.restore(EPOCH, world.dumps)
        assert tolerant or {word for word, _ in words if word is Restored.DAMAGED} == set()

    for step in (settings, tasks):
        try:
            await step()
        except StoreError:
            assert tolerant


async def outcome(space: Namespace) -> dict[str, object]:
    await RedisSteward(space.store.connection).mend()
    snapshot = await space.store.snapshot()
    found = [line for line in breaches(snapshot, space.queue) if not line.startswith(("I4 1 of", "I4 2 of"))]
    return {**told(space, snapshot), "breaches": sorted(line for line in found if "entries of" not in line)}


@pytest.fixture(scope="module")
async def world(server_url: str, anyio_backend: object) -> World:
    space = Namespace(server_url)
    try:
        await build(space)
        ids = task_ids(await space.store.snapshot(), space)
        await space.do("HSET", space.key("meta"), "ledger", EPOCH)
        ledger = RedisLedger(space.store.connection)
        dumps = await ledger.dump(ids)
        assert not dumps.damaged
        kept = await ledger.kept_settings(EPOCH, "", SETTINGS)
        assert kept
        made = World(space.queue, dumps.tasks, kept[1], {})
        await lose(space)
        await rebuild(space, made)
        whole = await outcome(space)
        assert not [line for line in whole["breaches"] if not line.startswith("I15")], whole["breaches"]
        return World(space.queue, dumps.tasks, kept[1], whole)
    finally:
        await space.forget_keys()
        await space.aclose()


@pytest.fixture
async def space(server_url: str, world: World, anyio_backend: object) -> AsyncGenerator[Namespace]:
    made = Namespace(server_url, queue=world.queue)
    try:
        await lose(made)
        yield made
        await made.forget_keys()
        await made.do("DEL", made.queue)
    finally:
        await made.aclose()


async def hold(space: Namespace, world: World, begun: Callable[[], Awaitable[None]]) -> None:
    await begun()
    await rebuild(space, world)
    assert await outcome(space) == world.whole


def kind_of(space: Namespace, world: World, name: str) -> str:
    """A command that makes it something else."""
    return "RPUSH" if isinstance(world.whole.get(name), str) or name.startswith(("op:", "checkpoint:")) else "SET"


async def is_damaged(space: Namespace, world: World, name: str) -> bool:
    kind, key = await space.do("TYPE", space.key(name)), space.key(name)
    if name not in world.whole:
        return kind in {b"string", b"list"}
    return bool(kind == b"string" and await space.do("GET", key) == b"x")


async def damage_during(space: Namespace, world: World, *names: str) -> None:
    async def begun() -> None:
        for name in names:
            await space.do(kind_of(space, world, name), space.key(name), "x")
        await rebuild(space, world, tolerant=True)
        for name in names:
            if await is_damaged(space, world, name):
                await space.do("DEL", space.key(name))

    await hold(space, world, begun)


def test_nothing_is_missing_where_nothing_is_damaged(world: World) -> None:
    states = {dump.text("state") for dump in world.dumps}
    assert states >= {
        "submitted",
        "delayed",
        "waiting",
        "working",
        "completed",
        "failed",
        "input-required",
        "suspended",
    }


@pytest.mark.parametrize("name", [*QUEUE_KEYS, *OF_MANY])
async def test_a_key_of_many_tasks_that_holds_something_else(space: Namespace, world: World, name: str) -> None:
    name = name.replace("QUEUE", space.queue)
    names = [each for each in world.whole if each.startswith(name[:-1])] if name.endswith("*") else [name]
    await damage_during(space, world, *names)


@pytest.mark.parametrize("own", OWN)
async def test_keys_of_the_tasks_that_hold_something_else(space: Namespace, world: World, own: str) -> None:
    names = [f"{own}:{dump.task_id}" for dump in world.dumps]
    await damage_during(space, world, *[name for name in names if own != "children" or name in world.whole])


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_rebuild_that_the_server_has_cut_off(space: Namespace, world: World, command: str) -> None:
    async def begun() -> None:
        ours = space.store
        async with without(space, f"-{command}") as store:
            space.store = store
            await rebuild(space, world, tolerant=True)
            space.store = ours

    await hold(space, world, begun)


async def remove(space: Namespace, world: World) -> None:
    """As a ledger that has seen half of the tasks removed, one by one."""
    ledger = RedisLedger(space.store.connection)
    for dump in world.dumps:
        if dump.task_id < "late":
            with suppress(StoreError):
                await ledger.remove(EPOCH, [Removal(dump.task_id, int(dump.text("created")), 2, 1)])


async def removed(space: Namespace, world: World) -> dict[str, object]:
    await remove(space, world)
    found = await outcome(space)
    breached = found.pop("breaches")
    assert isinstance(breached, list)
    return {**found, "counters": None, "breaches": [line for line in breached if "I6" not in line]}


@pytest.fixture(scope="module")
async def without_half(server_url: str, world: World, anyio_backend: object) -> dict[str, object]:
    space = Namespace(server_url, queue=world.queue)
    try:
        await lose(space)
        await rebuild(space, world)
        return await removed(space, world)
    finally:
        await space.forget_keys()
        await space.aclose()


LOOKED_AT_LATER = {
    "agenda",
    "unique",
    "debounce",
    "batch_tasks:b",
}  # what they say of a task that is gone counts for nothing


@pytest.mark.parametrize("name", [name for name in (*QUEUE_KEYS, *OF_MANY[:-2]) if name not in LOOKED_AT_LATER])
async def test_a_removal_beside_a_key_that_holds_something_else(
    space: Namespace, world: World, without_half: dict[str, object], name: str
) -> None:
    """It is mended with what stood there before."""
    await rebuild(space, world)
    key = space.key(name.replace("QUEUE", space.queue))
    is_there = await space.do("EXISTS", key)
    if is_there:
        await space.do("RENAME", key, f"saved:{key}")
    await space.do("SET", key, "x")
    await remove(space, world)
    if await space.do("TYPE", key) == b"string":
        await space.do("DEL", key)
        if is_there:
            await space.do("RENAME", f"saved:{key}", key)
    await space.do("DEL", f"saved:{key}")
    assert await removed(space, world) == without_half


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "hdel"])
async def test_a_removal_that_the_server_has_cut_off(
    space: Namespace, world: World, without_half: dict[str, object], command: str
) -> None:
    await rebuild(space, world)
    ours = space.store
    async with without(space, f"-{command}") as store:
        space.store = store
        await remove(space, world)
        space.store = ours
    assert await removed(space, world) == without_half
