"""Whatever is damaged of one task or one worker, all other tasks end as they would have.

One world has a pair of tasks, `…-bad` and `…-good`, in each place from which a script that works on many tasks takes
them. Each field of each record of the bad ones is damaged in each way, and each of their keys; then every such script
runs. None may fail, and the good tasks end as in a world without damage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest

from holdfast.core.acceptance import BatchPlace, SubmitOptions
from holdfast.core.delivery import Delivery, Settle
from holdfast.core.worker_records import ServedLane, ServedWork, WorkerKind
from holdfast.errors import StoreError
from holdfast_config.settings import MEMORY
from tests.combinations import combined
from tests.lua.namespace import Namespace, namespace
from tests.lua.operations import introduction, run, submission

pytestmark = pytest.mark.anyio

LEASE, GRACE = 15_000, 5_000
ALIVE = ["keeper", "w", "q"]
UNSERVED = 8_000
WAITING = 230  # messages: more than are set aside, or join, in one call
HOOK = "https://example.org/hook"
OTHER, EMPTIED = "other", "emptied"  # lanes
TEXTS = {
    "a word": "x",
    "empty": "",
    "negative": "-1",
    "not a number": "nan",
    "endless": "1e999",
    "huge": "9" * 15,
    "too long": "9" * 40,
    "large": "x" * 70_000,
}
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Damage:
    """`what`: a field of the records, or the name of a key that holds something else. `how`: one of TEXTS, or MISSING;
    empty for a key."""

    what: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.how or 'of another type'}"


async def build(space: Namespace) -> None:
    await register(space, "dead", "silent", "keeper", "ghost", "w")
    await register(space, "q", kind=WorkerKind.QUARANTINE)
    await taken_by(space, "dead", "run", concurrency_key="")
    await space.submit("key-bad", concurrency_key="k")
    await space.submit("lim-bad", lane=OTHER, concurrency_key="l")
    assert len(await take_all(space, "dead")) == 1
    assert len((await space.pull("dead", lanes=[OTHER])).deliveries) == 1
    await space.submit("key-good", concurrency_key="k")
    assert await space.take("silent") == []  # it waits for its key
    await taken_by(space, "silent", "sil")
    await taken_by(space, "keeper", "ren")
    await taken_by(space, "ghost", "str")
    await suspected(space)
    await ended(space)
    for name in ("left-bad", "left-good"):
        await crowded(space, name)
        await space.store.cancel(name, "enough")
    for name in ("join-bad", "join-good"):
        await crowded(space, name)
        await space.store.pause(name, "wait")
        await space.message(name, "last")
    await tied(space)
    await space.submit("unk-bad", "unk-good", name="new")
    await take_all(space, "silent")
    await space.submit("clr-bad", "clr-good", lane=EMPTIED)
    await space.submit("sub-bad", "sub-good")
    await space.push(run("psh-good"))
    await space.do("DEL", space.key("worker:ghost"), space.key("worker:ghost:running"))
    await space.do("ZREM", space.key("workers"), "ghost")


async def register(space: Namespace, *workers: str, kind: WorkerKind = WorkerKind.WORKER) -> None:
    """They have a handler for tasks that name none, and no other."""
    service = ServedWork((ServedLane(space.queue), ServedLane(OTHER)), frozenset({""}))
    for worker in workers:
        await space.store.register(replace(introduction(worker, kind=kind), service=service))


async def taken_by(space: Namespace, worker: str, name: str, **more: str) -> None:
    await space.submit(f"{name}-good", f"{name}-bad", f"{name}-last-good", **more)
    assert len(await take_all(space, worker)) == 3


async def take_all(space: Namespace, worker: str) -> list[Delivery]:
    """All tasks that this worker gets. Each of several workers takes a share, so it asks until it gets nothing."""
    taken = list[Delivery]()
    while more := await space.take(worker):
        taken += more
    return taken


async def suspected(space: Namespace) -> None:
    names = ["sus-bad", "sus-good"]
    await space.submit(*names)
    for worker in ("x", "y"):
        await register(space, worker)
        assert [one.task_id for one in await take_all(space, worker)] == names
        await space.crash(worker)
    await space.clock.advance(5_000)


async def ended(space: Namespace) -> None:
    await register(space, "ender")
    await space.submit("fin-bad", "fin-good")
    for delivery in await take_all(space, "ender"):
        if delivery.task_id.startswith("fin"):
            await space.settle("ender", delivery, Settle.COMPLETED)
    await space.submit("dls-bad", "dls-good", max_attempts=1)
    for delivery in await take_all(space, "ender"):
        await space.settle("ender", delivery, Settle.EXHAUSTED)
    await space.crash("ender", charged=False, ordered=True)


async def crowded(space: Namespace, task_id: str) -> None:
    await space.submit(task_id, delay_ms=3_600_000)
    item = "|".join(("m{}", "o{}", '{{"operation":"run","n":{}}}'))
    await space.do("RPUSH", space.key(f"pending:{task_id}"), *[item.format(n, n, n) for n in range(WAITING)])


async def tied(space: Namespace) -> None:
    async def submit(task_id: str, options: SubmitOptions, lane: str = "", **more: int) -> None:
        await space.store.submit_with_options([submission(task_id, lane or space.queue, options=options, **more)])

    await space.submit("due-bad", "due-good", delay_ms=500)
    for name in ("exp-bad", "exp-good"):
        await submit(name, SubmitOptions(expires_in_ms=500), OTHER)
    for name in ("wex-bad", "wex-good"):
        await submit(name, SubmitOptions(expires_in_ms=500), delay_ms=3_600_000)
    await space.submit("par-good", delay_ms=400)
    for name in ("chi-bad", "chi-good"):
        await submit(name, SubmitOptions(after=("par-good",)))
    await submit("cbk-bad", SubmitOptions(batch=BatchPlace("one", 0, 1, "d1")))
    await submit("of-one-good", SubmitOptions(batch=BatchPlace("one", 1, 1, "d1")))
    for place, name in ((1, "bat-bad"), (2, "bat-good")):
        await submit(name, SubmitOptions(batch=BatchPlace("two", place, 2, "d2")))
    for place, name in ((1, "can-bad"), (2, "can-good")):
        await submit(name, SubmitOptions(batch=BatchPlace("three", place, 2, "d3")), delay_ms=3_600_000)
    for name in ("hook-bad", "hook-good"):
        await submit(name, SubmitOptions(webhook=HOOK, unique=f"{name:x<40}", unique_ms=900))


Step = Callable[[Namespace], Awaitable[object]]


async def strays(space: Namespace) -> None:
    cursor = ""
    while cursor := (await space.store.strays(cursor, 100, LEASE + GRACE, put_back=True)).cursor:
        pass


async def audit(space: Namespace) -> None:
    for lane in (space.queue, OTHER):
        cursor = ""
        for _ in range(4):
            _, cursor = await space.store.audit(lane, 100, cursor)


async def reap(space: Namespace) -> None:
    await space.clock.advance(LEASE)
    await space.store.vouch(ALIVE)
    await space.store.reap(LEASE, GRACE)
    await space.clock.advance(GRACE)
    await space.store.vouch(ALIVE)
    await space.store.reap(LEASE, GRACE)


async def serve(space: Namespace) -> None:
    """Run all that may run: a worker of the pool, and quarantine workers."""
    lanes = [space.queue, OTHER]
    for worker in ("w", "q"):
        for _ in range(12):
            taken = (await space.pull(worker, 10, lanes=lanes)).deliveries
            for delivery in taken:
                await space.settle(worker, delivery, Settle.COMPLETED)
        await space.pull(worker, 0, lanes=lanes)
        await space.pull(worker, 0, lanes=lanes, request=space_request(space, worker))


def space_request(space: Namespace, worker: str) -> int:
    return space._requests[worker]  # the same number again: its claims are told again


async def unserved(space: Namespace) -> None:
    for _ in range(4):
        await space.clock.advance(5_000)
        await space.store.vouch(ALIVE)
        await space.store.unserved(UNSERVED, 100)


async def look(space: Namespace) -> None:
    await space.store.counts()
    await space.store.lanes([space.queue, OTHER])
    await space.store.left([space.queue, OTHER])
    await space.store.suspects([space.queue, OTHER], ["keeper"])
    await space.store.service([(space.queue, "new"), (OTHER, "")])
    await space.store.strays("", 1000, LEASE, put_back=False)
    await space.store.key_count()


async def webhooks(space: Namespace) -> None:
    await space.store.take_notices(100, 1000)


async def cancel_batches(space: Namespace) -> None:
    await space.store.cancel_batch("three", 100, "enough")
    await space.store.look_at_batches(100)


async def clear(space: Namespace) -> None:
    for _ in range(3):
        await space.store.clear(EMPTIED, 100)


async def hosts(space: Namespace) -> None:
    await space.store.quiet_host("host", "me", "why")
    await space.store.resume_host("host", "me")
    await space.store.retire_schedules("", 100)
    await space.store.pause_lane(OTHER, "why")
    await space.store.resume_lane(OTHER)


STEPS: dict[str, Step] = {
    "promote": lambda space: space.store.promote(100),
    "recover": lambda space: space.store.recover("dead", "died", charged=True, ordered=False, begun=None),
    "promote again": lambda space: space.store.promote(100),
    "renew": lambda space: space.store.renew("keeper", "live", 99, []),
    "take back": lambda space: space.store.take_back("silent", 0, ()),
    "look": look,
    "audit": audit,
    "strays": strays,
    "serve": serve,
    "reap": reap,
    "unserved": unserved,
    "clear": clear,
    "cancel batches": cancel_batches,
    "hosts": hosts,
    "strays again": strays,
    "audit again": audit,
    "promote the rest": lambda space: space.store.promote(100),
    "serve again": serve,
    "webhooks": webhooks,
    "look again": look,
    "promote at last": lambda space: space.store.promote(100),
    "serve at last": serve,
}

LAST_STEPS: dict[str, Step] = {
    "purge": lambda space: space.store.purge_dead(["dls-bad", "dls-good"]),
    "forget": lambda space: space.store.forget_tasks(["fin-bad", "fin-good"]),
    "trim": lambda space: space.store.trim(0, 1000),
}


async def take(space: Namespace, steps: dict[str, Step]) -> list[str]:
    """The names of the steps that failed."""
    failed = list[str]()
    for name, step in steps.items():
        try:
            await step(space)
        except StoreError as error:
            failed.append(f"{name}: {error}")
    return failed


async def good_tasks(space: Namespace) -> dict[str, str]:
    found = await space.do("KEYS", f"*{space.queue}*:task:*good")
    names = sorted(key.decode().rpartition(":")[2] for key in found)
    return {name: f"{(await space.do('HGET', space.key(f'task:{name}'), 'state') or b'?').decode()}" for name in names}


async def outcome(space: Namespace, damage: Callable[[Namespace], Awaitable[None]] | None) -> dict[str, object]:
    await build(space)
    if damage:
        await damage(space)
    await space.clock.advance(1_000)
    failed = await take(space, STEPS)
    before = await good_tasks(space)
    failed += await take(space, {name: STEPS[name] for name in ("promote", "strays", "audit", "serve")})
    often = await set_aside(space)
    await space.clock.advance(1_000)
    failed += await take(space, LAST_STEPS)
    await space.clock.advance(1_000)
    failed += await take(space, LAST_STEPS)
    return {"failed": failed, "good": before, "left": await good_tasks(space), "set aside often": often}


async def set_aside(space: Namespace) -> dict[str, int]:
    """Tasks that were set aside more than once. A key that holds no record cannot note that it was: each index that
    leads to it sets it aside."""
    reasons = [
        found[1] for reason in await space.reasons() if (found := re.match(r"the record of task (\S+) ", reason))
    ]
    no_record = any("holds no record" in reason for reason in await space.reasons())
    return {name: times for name, times in Counter(reasons).items() if times > 1 + no_record}


async def damaged_field(space: Namespace, pattern: str, damage: Damage) -> None:
    for key in await keys(space, pattern):
        if damage.how == MISSING:
            await space.do("HDEL", key, damage.what)
        elif await space.do("TYPE", key) == b"hash":
            await space.do("HSET", key, damage.what, TEXTS[damage.how])


async def damaged_key(space: Namespace, pattern: str) -> None:
    for key in await keys(space, pattern):
        kind = await space.do("TYPE", key)
        await space.do("DEL", key)
        await space.do(*(("SET", key, "x") if kind != b"string" else ("RPUSH", key, "x")))


async def keys(space: Namespace, pattern: str) -> list[str]:
    prefix = re.sub(r"([\[\]*?\\])", r"\\\1", space.keys.prefix)
    found: list[bytes] = await space.do("KEYS", f"{prefix}{pattern}")
    return sorted(key.decode() for key in found)


TASK_FIELDS = (
    "alone", "amended", "aside", "attempts", "batch", "begins", "bulk_change", "claim", "claimed",
    "concurrency_key", "crashes", "created", "deaths", "delivery", "digest", "due", "duplicate_of", "expires",
    "finished", "generation", "given", "held", "if_parent_fails", "joining", "lane", "last_claim",
    "max_attempts", "message", "name", "origin", "owner", "pause", "permits", "progress", "queued", "raised",
    "reason", "recoveries", "refused", "releases", "restoring", "retried_as", "retry", "retry_of", "root",
    "schedule", "seq", "solo", "state", "timeout", "turn", "unbegun", "unknown_at", "waits_for", "webhook",
)  # fmt: skip
TASK_KEYS = (
    "task", "op", "history", "pending", "messages", "checkpoint", "trail", "ties", "children", "left",
    "parents", "result", "steps", "parts", "retrying", "about", "added",
)  # fmt: skip
WORKER_FIELDS = (
    "application", "boot", "catalog", "concurrency", "halt", "heartbeat", "held", "host", "joins", "kind",
    "lanes", "limits", "names", "pid", "quiet", "request", "slot", "state", "suspect", "version", "vouched",
    "ahead", "cause", "died",
)  # fmt: skip


@pytest.fixture(scope="module")
async def whole_world(server_url: str, anyio_backend: object) -> dict[str, object]:
    async with namespace(server_url) as space:
        return await outcome(space, None)


def test_nothing_fails_where_nothing_is_damaged(whole_world: dict[str, object]) -> None:
    assert (whole_world["failed"], whole_world["set aside often"]) == ([], {})
    good = whole_world["good"]
    assert isinstance(good, dict)
    assert {name: state for name, state in good.items() if state != "completed"} == {
        "can-good": "canceled",
        "clr-good": "canceled",
        "dls-good": "failed",
        "exp-good": "canceled",
        "left-good": "canceled",
        "unk-good": "failed",
        "wex-good": "canceled",
    }


async def hold(url: str, whole: dict[str, object], damage: Callable[[Namespace], Awaitable[None]]) -> None:
    space = Namespace(url)
    try:
        found = await outcome(space, damage)
        assert found["failed"] == []
        assert found == whole
        if url != MEMORY:
            await space.forget_keys()
    finally:
        await space.aclose()


@pytest.mark.parametrize(("field", "how"), combined(TASK_FIELDS, [*TEXTS, MISSING], rounds=2))
async def test_a_damaged_field_of_a_task_is_its_own_trouble(
    server_url: str, whole_world: dict[str, object], field: str, how: str
) -> None:
    await hold(server_url, whole_world, lambda space: damaged_field(space, "task:*-bad", Damage(field, how)))


@pytest.mark.parametrize("key", TASK_KEYS)
async def test_a_key_of_a_task_that_holds_something_else_is_its_own_trouble(
    server_url: str, whole_world: dict[str, object], key: str
) -> None:
    async def damage(space: Namespace) -> None:
        await damaged_key(space, f"{key}:*-bad")
        await damaged_key(space, f"{key}:*-bad:*")

    await hold(server_url, whole_world, damage)


@pytest.mark.parametrize(
    ("worker", "field", "how"),
    combined(["dead", "silent", "keeper"], WORKER_FIELDS, ["a word", "too long", "not a number", MISSING], rounds=2),
)
async def test_a_damaged_field_of_a_worker_is_its_own_trouble(
    server_url: str, whole_world: dict[str, object], worker: str, field: str, how: str
) -> None:
    if (worker, field, how) == ("keeper", "names", MISSING):
        return  # it lives, and runs tasks of any handler
    await hold(server_url, whole_world, lambda space: damaged_field(space, f"worker:{worker}", Damage(field, how)))


@pytest.mark.parametrize("worker", ["dead", "silent", "keeper"])
@pytest.mark.parametrize("key", ["", ":running", ":inbox", ":last"])
async def test_a_key_of_a_worker_that_holds_something_else_is_its_own_trouble(
    server_url: str, whole_world: dict[str, object], worker: str, key: str
) -> None:
    await hold(server_url, whole_world, lambda space: damaged_key(space, f"worker:{worker}{key}"))
