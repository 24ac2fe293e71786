"""Whatever is damaged of a key that many tasks share, all tasks end as they would have.

The world is that of the fuzz of single tasks. Nobody but scripts writes these keys, so one that holds something else is
removed, with a reason, and what it said is made anew: permits from what runs, places at gates by the audit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest

from holdfast.core.acceptance import Accepted, SubmitOptions
from holdfast.core.counts import Epoch
from holdfast.core.delivery import Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.webhook_notice import Notice
from holdfast.core.worker_records import ServedLane, ServedWork, WorkerKind
from holdfast.errors import StoreError
from holdfast.store.redis import RedisStore
from holdfast.store.redis.keys import KEY_NAMES
from holdfast.store.redis.steward import RedisSteward
from holdfast_config import RedisSettings
from holdfast_config.settings import MEMORY
from tests.combinations import combined
from tests.lua.gates import held_at
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import introduction, submission
from tests.lua.test_damage_fuzz import (
    MISSING,
    STEPS,
    TEXTS,
    Step,
    audit,
    build,
    damaged_key,
    good_tasks,
    keys,
    serve,
    take,
    unserved,
)
from tests.lua.test_suspects import suspect

pytestmark = pytest.mark.anyio

# Wrong type: what leads to tasks, and what counts them.
SHARED = (
    "held:*", "keyed:*", "gates:*", "unknown:*", "suspects:*", "active:*", "audit:*", "submitted:*", "bell:*",
    "batch:one", "batch:two", "batch_tasks:one", "batch_tasks:two", "webhook:*", "receiver:*", "receivers*",
    "outcome:*", "owner:*",
)  # fmt: skip
# Hashes with a field for a lane, a handler, a state or a word.
BATCH_FIELDS = ("digest", "expected", "submitted", "sealed", "ended", "callback", "created", "looked", "canceled")
NUMBERS = (
    "seq",
    "heads",
    "stale",
    "turns",
    "rates",
    "tally",
    "counters",
    "clocks",
    "tended",
    "closed",
    "ahead",
    "apart",
)


Damage = Callable[[Namespace], Awaitable[None]]
# What was taken out of an index comes back by the audit, and its waiting begins anew.
ANEW = {"audit": audit, "serve": serve, "unserved": unserved, "serve again": serve}


async def ends(space: Namespace, damage: Damage | None) -> tuple[list[str], dict[str, str]]:
    """Plays every step after the damage. Answers the errors, and the states of the good tasks at the end."""
    await build(space)
    if damage:
        await damage(space)
    await space.clock.advance(1_000)
    failed = await take(space, STEPS)
    failed += await take(space, ANEW)
    return failed, await good_tasks(space)


@pytest.fixture(scope="module")
async def whole_world(server_url: str, anyio_backend: object) -> dict[str, str]:
    async with namespace(server_url) as space:
        failed, good = await ends(space, None)
        assert failed == []
        return good


async def hold(url: str, whole: dict[str, str], damage: Damage) -> Counter[str]:
    """Answers the reasons why something was set aside."""
    space = Namespace(url)
    try:
        failed, good = await ends(space, damage)
        assert (failed, good) == ([], whole)
        reasons = await space.reasons()
        await space.forget_keys()
        return Counter(reasons)
    finally:
        await space.aclose()


@pytest.mark.parametrize("pattern", SHARED)
async def test_a_key_that_tasks_share_and_that_holds_something_else_stops_none(
    server_url: str, whole_world: dict[str, str], pattern: str
) -> None:
    reasons = await hold(server_url, whole_world, lambda space: damaged_key(space, pattern))
    assert all(times == 1 for reason, times in reasons.items() if "was removed" in reason)


@pytest.mark.parametrize(("key", "how"), combined(NUMBERS, [*TEXTS, MISSING], rounds=2))
async def test_a_number_that_tasks_share_and_that_is_none_stops_none(
    server_url: str, whole_world: dict[str, str], key: str, how: str
) -> None:
    async def damage(space: Namespace) -> None:
        for name in await keys(space, key):
            for field in await space.do("HKEYS", name):
                await (space.do("HDEL", name, field) if how == MISSING else space.do("HSET", name, field, TEXTS[how]))

    await hold(server_url, whole_world, damage)


@pytest.mark.parametrize(("field", "how"), combined(BATCH_FIELDS, [*TEXTS, MISSING], rounds=2))
async def test_a_damaged_field_of_a_batch_is_its_own_trouble(
    server_url: str, whole_world: dict[str, str], field: str, how: str
) -> None:
    async def damage(space: Namespace) -> None:
        for batch in ("one", "two"):
            key = space.key(f"batch:{batch}")
            await (space.do("HDEL", key, field) if how == MISSING else space.do("HSET", key, field, TEXTS[how]))

    await hold(server_url, whole_world, damage)


# What the queue has once. What records say of it is put back. ORDERS say what operators want, which nobody else knows.
ORDERS = ("meta", "rules", "quiet")
QUEUE_KEYS = tuple(
    name for name in KEY_NAMES.values() if name[0] != ":" and name[-1] not in ":@" and name not in (*ORDERS, "reporter")
)


async def mend(space: Namespace) -> None:
    await RedisSteward(space.store.connection).mend()


MENDED: dict[str, Step] = {
    "mend": mend,
    "promote": STEPS["promote"],
    "serve": serve,
    "webhooks": STEPS["webhooks"],
    "batches": STEPS["cancel batches"],
    "promote again": STEPS["promote"],
    "serve again": serve,
}


@pytest.mark.parametrize(("key", "when"), combined(QUEUE_KEYS, ["met", "looked for"]))
async def test_a_key_of_the_queue_that_holds_something_else_stops_nothing(
    server_url: str, whole_world: dict[str, str], key: str, when: str
) -> None:
    """Whether a call meets it first, or the steward that looks for it."""
    space = Namespace(server_url)
    try:
        await build(space)
        await spoil(space, key)
        if when == "looked for":
            await mend(space)
        await space.clock.advance(1_000)
        failed = await take(space, STEPS)
        for again in (MENDED, ANEW, MENDED):
            failed += await take(space, again)
        assert (failed, await good_tasks(space)) == ([], whole_world)
        found = [reason.partition(" held")[0] for reason in await removed(space)]
        assert found == [f"key {space.key(key)}"] or (found == [] and key.startswith("control:"))
        assert not await space.do("HEXISTS", space.key("meta"), "anew")
        await space.forget_keys()
    finally:
        await space.aclose()


async def test_what_records_say_of_a_key_of_the_queue_is_put_back(space: Namespace) -> None:
    await space.submit("late", delay_ms=1_000)
    await spoil(space, "due")
    await mend(space)
    await space.advance(1_000)
    await space.store.promote(10)
    assert await space.state("late") == "submitted"


@pytest.mark.parametrize(
    "key", ["due", "agenda", "gated", "finished", "parked", "tally", "waiting", "unique", "batches"]
)
async def test_a_key_of_the_queue_that_was_deleted_is_put_back_by_a_recovery(server_url: str, key: str) -> None:
    """As `supervisor recover` does it."""
    space = Namespace(server_url)
    try:
        await build(space)
        before = await told_of(space)
        await space.do("DEL", space.key(key))
        await space.put_strays_back(60_000_000)
        assert await told_of(space) == before
        await space.forget_keys()
    finally:
        await space.aclose()


async def told_of(space: Namespace) -> dict[str, object]:
    """The members of the indexes, and the counts. Keys that are unique for a time end without the agenda."""
    names = ("due", "finished", "parked", "waiting", "batches")
    told: dict[str, object] = {name: sorted(await space.do("ZRANGE", space.key(name), 0, -1)) for name in names}
    told["agenda"] = [one for one in await space.do("ZRANGE", space.key("agenda"), 0, -1) if b"forget|" not in one]
    told["gated"] = sorted(await space.do("SMEMBERS", space.key("gated")))
    told["unique"] = [one for one in sorted(await space.do("HKEYS", space.key("unique"))) if b"hook" not in one]
    told["tally"] = {name: count for name, count in (await counted(space)).items() if count}
    return told


async def counted(space: Namespace) -> dict[bytes, int]:
    flat = await space.do("HGETALL", space.key("tally"))
    found = flat.items() if isinstance(flat, dict) else zip(flat[::2], flat[1::2], strict=True)
    return {name: int(count) for name, count in found}


async def test_damage_of_the_queue_is_no_task_s_trouble(space: Namespace) -> None:
    options = SubmitOptions(expires_in_ms=500)
    await space.store.submit_with_options([submission("t1", space.queue, options=options, delay_ms=5_000)])
    await spoil(space, "finished")
    await space.advance(1_000)
    await space.store.promote(10)
    await mend(space)
    await space.put_strays_back(60_000)
    assert (await space.state("t1"), await removed(space)) == ("canceled", await space.reasons())
    assert await space.do("ZCARD", space.key("finished")) == 1


@pytest.mark.parametrize("key", ORDERS)
async def test_a_key_of_orders_that_holds_something_else_is_named_and_stays(space: Namespace, key: str) -> None:
    await space.submit("t1")
    await spoil(space, key)
    await mend(space)
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "meta": lambda: space.store.epoch(Epoch("", 0), "x"),
        "rules": lambda: space.store.pause_lane(space.queue, "why"),
        "quiet": lambda: space.store.quiet_host("host", "me", "why"),
    }
    with pytest.raises(StoreError, match=f"key .*:{key} is a string, and queue .* keeps a hash there; rename it"):
        await calls[key]()
    assert await space.do("GET", space.key(key)) == b"x"


async def spoil(space: Namespace, key: str) -> None:
    await space.do("DEL", space.key(key))
    await space.do("SET", space.key(key), "x")


async def removed(space: Namespace) -> list[str]:
    return [reason for reason in await space.reasons() if "was removed" in reason]


async def test_permits_of_a_key_are_made_anew_from_what_runs(space: Namespace) -> None:
    """Two tasks of one key do not run at the same time, although somebody has written over its permits."""
    await space.register("a")
    await space.submit("t1", "t2", concurrency_key="k")
    [first] = await space.take("a")
    await spoil(space, "keyed:k")
    await space.submit("t3", concurrency_key="k")
    await space.do("ZADD", space.key(f"gates:{space.queue}"), 0, "key:k")
    assert await space.take("a") == []
    assert await removed(space) == [f"key {space.key('keyed:k')} held a string and was removed"]
    await space.settle("a", first, Settle.COMPLETED)
    assert [one.task_id for one in await space.take("a")] == ["t2"]


async def test_permits_of_a_lane_are_made_anew_from_what_runs(space: Namespace) -> None:
    await space.store.bound([LaneLimit(LaneBound.LIMIT, space.queue, "1")])
    await space.register("a")
    await space.submit("t1", "t2")
    [first] = await space.take("a")
    await spoil(space, f"active:{space.queue}")
    assert await space.take("a") == []
    await space.settle("a", first, Settle.COMPLETED)
    assert [one.task_id for one in await space.take("a")] == ["t2"]
    await space.check()


async def without_handler(space: Namespace) -> None:
    """`t1` waits for a handler that `a` does not have, and `b` has."""
    for worker, names in (("a", frozenset({""})), ("b", frozenset({"", "new"}))):
        service = ServedWork((ServedLane(space.queue),), names)
        await space.store.register(replace(introduction(worker), service=service))
    await space.submit("t1", name="new")
    assert await space.take("a") == []


def named(space: Namespace, key: str) -> str:
    """`{}`: the public queue as most keys name it, `{at}`: as those of its gates do."""
    return key.format(space.queue, at=f"{len(space.queue)}:{space.queue}")


async def audited(space: Namespace) -> None:
    for _ in range(3):
        await space.store.audit(space.queue, 100, "")


@pytest.mark.parametrize("key", ["held:{at}:unknown:new", "unknown:{}", "submitted:{}", "bell:{}"])
async def test_who_waits_for_a_handler_is_found_again(space: Namespace, key: str) -> None:
    await without_handler(space)
    await space.submit("t2")
    await spoil(space, named(space, key))
    taken = await space.take("b")
    await audited(space)
    taken += await space.take("b")
    assert sorted(one.task_id for one in taken) == ["t1", "t2"]


@pytest.mark.parametrize("key", ["held:{at}:key:k", "gates:{}", "audit:{}"])
async def test_who_waits_for_a_key_is_found_again(space: Namespace, key: str) -> None:
    await space.register("a")
    await space.submit("t1", "t2", "t3", concurrency_key="k")
    [first] = await space.take("a")
    await spoil(space, named(space, key))
    await space.submit("t4")
    assert [one.task_id for one in await space.take("a")] == ["t4"]
    await audited(space)
    await space.settle("a", first, Settle.COMPLETED)
    for name in ("t2", "t3"):
        [held] = await space.take("a")
        assert held.task_id == name
        await space.settle("a", held, Settle.COMPLETED)
    assert not await space.do("EXISTS", space.key("gated"))


@pytest.mark.parametrize("key", ["held:{at}:key:k", "gates:{}", "suspects:{}"])
async def test_a_quarantine_worker_goes_on(space: Namespace, key: str) -> None:
    await space.register("a")
    await space.register("q", kind=WorkerKind.QUARANTINE)
    await space.submit("t1", "t2", concurrency_key="k")
    await space.take("a")
    await suspect(space, "bad")
    await space.do("ZADD", space.key(f"gates:{space.queue}"), 0, "key:k")
    await spoil(space, named(space, key))
    taken = await space.take("q", 1)
    await audited(space)
    taken += await space.take("q", 1)
    assert [one.task_id for one in taken] == ["bad"]


async def test_a_lane_without_its_index_goes_on(space: Namespace) -> None:
    """Also where nothing else is unusual."""
    await space.register("a")
    await space.submit("t1", "t2", "t3")
    await spoil(space, f"submitted:{space.queue}")
    assert [one.task_id for one in await space.take("a", 2)] == ["t1", "t2"]
    await audited(space)
    assert len(await removed(space)) == 1
    assert [one.task_id for one in await space.take("a", 2)] == ["t3"]


async def test_an_index_of_a_lane_is_made_anew_from_its_entries(space: Namespace) -> None:
    """So a task that is submitted again is the same one, and an entry that another program takes is put back."""
    await space.submit("t1", "t2")
    await spoil(space, f"submitted:{space.queue}")
    await audited(space)
    assert await space.submit("t1") == [Accepted.DUPLICATE]
    await space.do("LPOP", space.queue)
    await audited(space)
    assert len(await space.entries()) == 2
    await space.check(stolen=True)


async def test_a_lane_that_is_no_list_keeps_no_other_lane_back(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", lane="other")
    await space.do("SET", space.key("lane:broken"), "x")
    lanes = ["broken", "other"]
    for _ in range(2):
        pulled = await space.pull("a", 5, lanes=lanes)
        taken = [one.task_id for one in pulled.deliveries]
        await space.submit("t2", lane="other", delay_ms=1)
        await space.advance(1)
        await space.store.promote(10)
        assert len(taken) == 1


async def test_what_waits_in_a_lane_that_is_no_list_waits_until_it_is_one(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", lane="broken", delay_ms=1)
    await space.do("SET", space.key("lane:broken"), "x")
    await space.advance(1)
    await space.store.promote(10)
    for _ in range(3):
        assert await space.store.audit("broken", 100, "") == (0, "")
    assert (await space.state("t1"), await space.reasons()) == ("submitted", [])
    await space.do("DEL", space.key("lane:broken"))
    assert sum([(await space.store.audit("broken", 100, ""))[0] for _ in range(3)]) == 1
    pulled = await space.pull("a", 5, lanes=["broken"])
    assert [one.task_id for one in pulled.deliveries] == ["t1"]


async def test_counts_that_are_none_begin_anew(space: Namespace) -> None:
    await space.submit("t1", "t2")
    for key, field in (("counters", "unreadable"), ("tally", "canceled"), ("stale", space.queue)):
        await space.do("HSET", space.key(key), field, "x")
    await space.store.cancel("t1", "enough")
    counts = await space.store.counts()
    assert (counts.states["canceled"], counts.lanes[space.queue]) == (1, 1)
    await space.register("a")
    await space.push(b"nonsense")
    assert [one.task_id for one in await space.take("a")] == ["t2"]
    assert (await space.store.counts()).counters["unreadable"] == 1


async def test_a_gate_at_which_nobody_waits_is_none(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", concurrency_key="k")
    [first] = await space.take("a")
    await spoil(space, held_at(space.queue, "key:k"))
    await space.settle("a", first, Settle.COMPLETED)
    assert await space.take("a") == []
    assert not await space.do("EXISTS", space.key("gated"), space.key(f"gates:{space.queue}"))


async def test_a_doubt_without_its_moment_has_ended(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.do("HSET", space.key("closed"), "", "x")
    assert [one.task_id for one in await space.take("a")] == ["t1"]


async def test_a_lane_that_has_lost_its_number_goes_on_behind_the_last(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1", "t2", delay_ms=1)
    await space.submit("t0")
    await space.do("HSET", space.key("seq"), space.queue, "x")
    await space.advance(1)
    await space.store.promote(10)
    assert [one.task_id for one in await space.take("a")] == ["t0", "t1", "t2"]
    await space.check()


async def test_a_count_that_is_refused_does_not_begin_anew(space: Namespace) -> None:
    if space.url == MEMORY:
        return
    user = space.queue.replace(":", "-")
    await space.do("ACL", "SETUSER", user, "reset", "on", ">secret", "~*", "&*", "+@all", "-hincrby")
    url = f"unix://{user}:secret@{space.url.removeprefix('unix://')}"
    await space.submit("t1")
    async with aclosing(
        RedisStore(RedisSettings(url=url, queue=space.queue), space.store.connection._replaced)
    ) as store:
        with pytest.raises(StoreError, match=r"hincrby|HINCRBY|run this command"):
            await store.cancel("t1", "enough")
    await space.do("ACL", "DELUSER", user)
    assert not await space.do("HEXISTS", space.key("tally"), "canceled")


@pytest.mark.parametrize(
    ("field", "how"), combined(["task", "turn", "state", "url", "at", "tries"], [*TEXTS, MISSING], rounds=2)
)
async def test_a_damaged_field_of_a_webhook_is_its_own_trouble(space: Namespace, field: str, how: str) -> None:
    await space.register("a")
    for name in ("bad", "good"):
        options = SubmitOptions(webhook=f"https://{name}.example.org/hook")
        await space.store.submit_with_options([submission(name, space.queue, options=options)])
    for delivery in await space.take("a"):
        await space.settle("a", delivery, Settle.COMPLETED)
    key = space.key("webhook:bad|1|completed")
    assert await space.do("EXISTS", key)
    await space.do(*(("HDEL", key, field) if how == MISSING else ("HSET", key, field, TEXTS[how])))
    taken, _ = await space.store.take_notices(10, 1000)
    assert "good" in {one.task_id for one in taken if isinstance(one, Notice)}
