"""A script that the server ends between two of its writes, as a right was taken away, leaves a hint: once the right is
back, what was recorded in part is found and recorded whole."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Delivery, Settle
from holdfast.errors import StoreError
from holdfast.store.redis import RedisStore
from holdfast.store.redis.ledger import RedisLedger
from holdfast_config import RedisSettings
from tests.lua import test_damaged_neighbours as neighbours
from tests.lua.invariants import breaches
from tests.lua.namespace import Namespace, settlement
from tests.lua.test_damage_fuzz import audit

pytestmark = pytest.mark.anyio

# Each of these a settlement runs behind its first write.
COMMANDS = ("publish", "zadd", "hincrby", "xadd", "hdel", "del", "exists", "rpush", "pexpire")
KINDS = (Settle.COMPLETED, Settle.FAILED, Settle.INPUT_REQUIRED)
STATES = {Settle.COMPLETED: "completed", Settle.FAILED: "failed", Settle.INPUT_REQUIRED: "input-required"}


@pytest.fixture
async def space(server_url: str, anyio_backend: object) -> AsyncGenerator[Namespace]:
    """A result that is recorded anew is told twice, so this namespace does not hold the history against the table."""
    made = Namespace(server_url)
    try:
        yield made
        await made.forget_keys()
    finally:
        await made.aclose()


@asynccontextmanager
async def without(space: Namespace, *refused: str) -> AsyncGenerator[RedisStore]:
    """The store as a user has it who lacks some rights."""
    user = space.queue.replace(":", "-")
    await space.do("ACL", "SETUSER", user, "reset", "on", ">pw", "~*", "&*", "+@all", *refused)
    url = space.url.replace("unix://", f"unix://{user}:pw@")
    store = RedisStore(RedisSettings(url=url, queue=space.queue), space.store.connection._replaced)
    try:
        yield store
    finally:
        await store.aclose()
        await space.do("ACL", "DELUSER", user)


async def held(space: Namespace, *, usual: bool) -> list[Delivery]:
    await space.register("a")
    for task_id in ("t1", "t2", "t3"):
        await space.submit(task_id, concurrency_key="" if usual else task_id)
    return await space.take("a")


async def require_whole(space: Namespace, kind: Settle) -> None:
    """Each of the three stands in the index of its state and is counted once."""
    assert [await space.state(task_id) for task_id in ("t1", "t2", "t3")] == [STATES[kind]] * 3
    index = "parked" if kind is Settle.INPUT_REQUIRED else "finished"
    assert await space.do("ZCARD", space.key(index)) == 3
    assert await space.do("HGET", space.key("tally"), STATES[kind]) == b"3"
    assert await space.do("EXISTS", space.key("worker:a:running")) == 0


async def settle_twice(space: Namespace, taken: Sequence[Delivery], kind: Settle, command: str) -> None:
    """The worker's first settlement is cut off, as its user may not run the command; it comes again."""
    settlements = [settlement(each, kind) for each in taken]
    async with without(space, f"-{command}") as store:
        try:
            await store.pull("a", 2, 0, [space.queue], settlements)
        except StoreError:
            assert command != "publish"
    await space.pull("a", 0, *settlements, request=3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_settlement_that_comes_again_ends_what_was_begun(
    space: Namespace, command: str, kind: Settle, *, usual: bool
) -> None:
    taken = await held(space, usual=usual)
    await settle_twice(space, taken, kind, command)
    await require_whole(space, kind)


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("command", ["zadd", "xadd", "hdel"])
@pytest.mark.parametrize("found_by", ["recovery", "renewal", "strays"])
async def test_what_was_begun_is_found_where_no_settlement_comes_again(
    space: Namespace, command: str, found_by: str, *, usual: bool
) -> None:
    taken = await held(space, usual=usual)
    async with without(space, f"-{command}") as store:
        with pytest.raises(StoreError):
            await store.pull("a", 2, 0, [space.queue], [settlement(each, Settle.COMPLETED) for each in taken])
    begun = [each.task_id for each in taken if await space.state(each.task_id) == "completed"]
    if found_by == "recovery":
        await space.crash("a")
    elif found_by == "renewal":
        await space.store.renew("a", "live", 1, [])
    else:
        await space.put_strays_back(60_000)
    assert await space.do("ZCARD", space.key("finished")) == len(begun)
    assert int(await space.do("HGET", space.key("tally"), "completed") or 0) == len(begun)


async def test_who_may_not_publish_records_all(space: Namespace) -> None:
    taken = await held(space, usual=True)
    async with without(space, "resetchannels") as store:
        await store.pull("a", 2, 0, [space.queue], [settlement(each, Settle.COMPLETED) for each in taken])
    await require_whole(space, Settle.COMPLETED)


@pytest.mark.parametrize("command", ["zadd", "publish", "xadd"])
async def test_a_cancel_that_was_cut_off_is_ended_by_the_next_recovery(space: Namespace, command: str) -> None:
    await held(space, usual=True)
    async with without(space, f"-{command}") as store:
        try:
            await store.cancel("t1", "enough")
        except StoreError:
            assert command != "publish"
    await space.crash("a")
    assert await space.state("t1") == "canceled"
    assert await space.do("ZRANGE", space.key("finished"), 0, -1) == [b"t1"]


# Each of these a submission or a retry runs behind its first write.
WRITES = ("zadd", "hincrby", "xadd", "rpush", "sadd", "hset", "set", "hdel", "del", "unlink", "exists")
EPOCH = "1-e"


async def require_sound(space: Namespace) -> None:
    """All invariants hold when the stewards have looked. Some that were refused are counted as accepted."""
    await space.clock.advance(neighbours.FAR_MS)
    await space.store.promote(100)
    await audit(space)
    found = breaches(await space.store.snapshot(), space.queue)
    assert not [line for line in found if not re.search("entries of|I6|I11 rollup", line)]


@pytest.mark.parametrize("command", WRITES)
async def test_a_submission_that_was_cut_off_is_made_when_it_comes_again(space: Namespace, command: str) -> None:
    """Also where its producer has never heard that it was accepted: it is not told that the task is there."""
    await neighbours.build(space)
    made = neighbours.operations(space.queue)
    ours = space.store
    async with without(space, f"-{command}") as store:
        space.store = store
        for operation in made.values():
            await neighbours.tried(space, operation)
        space.store = ours
    for name, operation in made.items():
        assert await operation(space) in {Accepted.NEW, Accepted.DUPLICATE}, name
    await require_sound(space)
    await neighbours.all_run(space, [space.queue])
    assert {await space.state(name) for name in made} == {"completed"}


@pytest.mark.parametrize("command", WRITES)
async def test_a_retry_that_was_cut_off_leaves_no_task_behind(space: Namespace, command: str) -> None:
    await neighbours.build(space)
    ours = space.store
    async with without(space, f"-{command}") as store:
        space.store = store
        for name in neighbours.RETRIED:
            await neighbours.retried(space, name)
        space.store = ours
    for name in neighbours.RETRIED[:-1]:
        word = await neighbours.retried(space, name)
        assert word in {f"new {name}.r1", f"again {name}.r1"}
    await require_sound(space)
    await neighbours.all_run(space, [space.queue])
    assert {await space.state(f"{name}.r1") for name in neighbours.RETRIED[:-1]} == {"completed"}


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
@pytest.mark.parametrize("state", ["submitted", "working", "delayed", "suspended"])
@pytest.mark.parametrize("command", ["zadd", "zrem", "hincrby", "xadd", "rpush", "exists"])
async def test_an_order_of_a_ledger_that_was_cut_off_is_carried_out_when_it_comes_again(
    space: Namespace, verb: str, state: str, command: str
) -> None:
    """It was not noted as carried out before it was."""
    await space.register("a")
    await space.do("HSET", space.key("meta"), "ledger", EPOCH)
    await space.submit("t", delay_ms=1000 if state == "delayed" else None)
    if state == "working":
        await space.take("a")
    elif state == "suspended":
        await space.store.pause("t", "wait")
    async with without(space, f"-{command}") as store:
        try:
            await RedisLedger(store.connection).ask(EPOCH, 5, verb, "t", "asked")
        except StoreError:
            assert await space.do("HGET", space.key("task:t"), "asked") is None or command == "hset"
    ledger = RedisLedger(space.store.connection)
    word = await ledger.ask(EPOCH, 5, verb, "t", "asked")
    assert word == {"cancel": "canceled", "pause": "working" if state == "working" else "suspended"}.get(
        verb, "submitted" if state == "suspended" else state
    )
    assert await space.do("HGET", space.key("task:t"), "asked") == b"5"
    assert await ledger.ask(EPOCH, 5, "cancel", "t", "asked") == word
    if state == "working" and verb == "cancel":
        await space.crash("a")
    await require_sound(space)


@pytest.mark.parametrize("kind", [Settle.RETRY, Settle.RELEASE, Settle.SUSPENDED])
@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("command", [*COMMANDS, "hset"])
async def test_a_task_that_was_given_back_in_part_runs_again(
    space: Namespace, command: str, kind: Settle, *, usual: bool
) -> None:
    """Whether its settlement comes again or not."""
    taken = await held(space, usual=usual)
    await settle_twice(space, taken, kind, command)
    await space.crash("a", charged=False)
    await space.put_strays_back(60_000)
    await require_sound(space)
    await space.register("w")
    for each in taken:
        await space.store.resume(each.task_id, "go on")
    await neighbours.all_run(space, [space.queue])
    assert {await space.state(each.task_id) for each in taken} == {"completed"}
