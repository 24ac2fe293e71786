"""How long the server is busy with one call when others push what they like: `python -m bench.hostile`.

Each case fills a queue of its own on a fresh server, with what any producer may push or somebody may
write there, and measures each call in processor time of the server. An entry larger than a megabyte is moved whole by
one call, so its cost grows with it: those calls are shown, and have no target.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import redis.asyncio as aioredis
import uvloop

from bench.ending import run
from bench.pool import folder
from bench.report import Target, finish, table
from bench.server import server
from bench.servertime import ServerTime, Took
from holdfast.core.acceptance import Submission
from holdfast.core.delivery import Settle, Settlement
from holdfast.core.envelope import build_run, encode_message
from holdfast.core.identity import sha1_hex
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.messages import text_part
from holdfast.core.worker_records import Admission, Introduction, ServedLane, ServedWork
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from holdfastd.steward.duties import schedule_duties

LATE = 20.0  # ms: no call that reads no entry larger than a megabyte is to take so long
MIB = 1 << 20
QUEUE = "hostile"
WORKER = "w"


class Stage:
    """`requests` are numbered as a worker numbers them; what it has claimed is in `claimed`."""

    def __init__(self, client: Any, store: RedisStore) -> None:
        self.client, self.store, self.time = client, store, ServerTime(client)
        self.request = 0
        self.claimed = list[Any]()

    def key(self, name: str) -> str:
        return f"{{{QUEUE}}}:{name}"

    async def fill(self, key: str, item: bytes, count: int) -> None:
        """RPUSH so many, a few megabytes at a time."""
        step = max(1, min(count, 8 * MIB // len(item)))
        for first in range(0, count, step):
            await self.client.rpush(key, *[item] * min(step, count - first))

    async def submit(self, task_id: str) -> None:
        built = build_run(task_id, encode_message([text_part("x")]))
        await self.store.submit([Submission(task_id, built.message_id, built.digest, built.operation, QUEUE)])

    async def pull(self, slots: int = 10, *settlements: Settlement) -> bool:
        """True if something was claimed, moved or is left."""
        self.request += 1
        pulled = await self.store.pull(WORKER, self.request, slots, [QUEUE], settlements)
        self.claimed += pulled.deliveries
        return bool(pulled.deliveries or pulled.inbox or pulled.backlog)


@asynccontextmanager
async def stage(url: str) -> AsyncGenerator[Stage]:
    clients: Any = aioredis.Redis  # the library types no option
    client, store = clients.from_url(url), RedisStore(RedisSettings(url=url, queue=QUEUE))
    try:
        await client.flushall()
        await store.register(Introduction(WORKER, "host", "boot", 1, 0))
        await store.ping()
        await store.connection.load()
        yield Stage(client, store)
    finally:
        await store.aclose()
        await client.aclose()


async def a_million_messages(stage: Stage) -> list[Took]:
    await stage.submit("t")
    await stage.fill(stage.key("pending:t"), b"m|o|" + b"x" * 300, 1_000_000)
    ended = await stage.time.of("a task with 1,000,000 messages: cancel", lambda: stage.store.cancel("t", "x"), 1)
    left = await stage.time.of("... a step of setting them aside", lambda: stage.store.promote(100), 200)
    return [ended, left]


async def a_thousand_large_messages(stage: Stage) -> list[Took]:
    await stage.submit("t")
    await stage.pull()
    await stage.fill(stage.key("pending:t"), b"m|o|" + b"x" * 32_000, 1000)
    failed = Settlement("t", stage.claimed[0].claim, Settle.FAILED, b'"x"')
    ended = await stage.time.of("a task with 1,000 messages of 32 KB: settle", lambda: stage.pull(0, failed), 1)
    left = await stage.time.of("... a step of setting them aside", lambda: stage.store.promote(100), 32)
    return [ended, left]


async def a_long_history(stage: Stage) -> list[Took]:
    await stage.submit("t")
    await stage.fill(stage.key("history:t"), b"x" * 30_000, 6000)
    await stage.client.hset(stage.key("task:t"), "turn", 3001)
    pulled = await stage.time.of("a history of 6,000 x 30 KB: pull", stage.pull, 1)
    before = stage.claimed[0].earlier
    read = await stage.time.of("... reading on", lambda: stage.store.earlier("t", before))
    shown = await stage.time.of("... tasks show", lambda: stage.store.get("t"))
    await stage.store.cancel("t", "x")
    again = stage.store.connection.run
    return [pulled, read, shown, await stage.time.of("... tasks retry, a step", lambda: again("retry", "t", "x"), 200)]


async def many_turns(stage: Stage) -> list[Took]:
    await stage.submit("t")
    await stage.fill(stage.key("history:t"), b"x", 200_000)
    await stage.client.hset(stage.key("task:t"), "turn", 100_001)
    pulled = await stage.time.of("100,000 turns: pull", stage.pull, 1)
    await stage.store.cancel("t", "x")
    return [pulled, await stage.time.steps("... forgetting it", lambda: stage.store.trim(-1000, 100))]


async def entries_of_a_megabyte(stage: Stage) -> list[Took]:
    await stage.submit("t")
    await stage.fill(QUEUE, b"x" * (MIB - 1), 64)
    audit = await stage.time.of("64 entries of 1 MB: audit", lambda: stage.store.audit(QUEUE, 500, ""))
    return [
        audit,
        await stage.time.of("... doctor's look", lambda: stage.store.connection.run("glance", QUEUE, "", "")),
        await stage.time.of("... pull", stage.pull, 20),
        await stage.time.steps("... queue clear, a step", lambda: stage.store.clear(QUEUE, 500)),
    ]


async def small_objects(stage: Stage) -> list[Took]:
    params = {"task_id": "t", "message": {"message_id": "m", "parts": [{} for _ in range(7500)]}}
    await stage.fill(QUEUE, json.dumps({"operation": "run", "params": params}).encode(), 200)
    return [await stage.time.steps("200 entries of 30 KB of small objects: pull", stage.pull)]


async def many_lanes(stage: Stage) -> list[Took]:
    """500 lanes whose entries start no task."""
    lanes = [f"{QUEUE}:{number}" for number in range(500)]
    for lane in lanes:
        await stage.fill(lane, b'{"_b":"gone:1","operation":"run"}', 100)

    async def pull() -> None:
        stage.request += 1
        await stage.store.pull(WORKER, stage.request, 10, lanes, (), [1] * len(lanes))

    return [await stage.time.of("500 lanes of entries without tasks: pull", pull)]


async def many_gates(stage: Stage) -> list[Took]:
    gates = [f"key:{number}" for number in range(100_000)]
    async with stage.client.pipeline(transaction=False) as pipe:
        pipe.sadd(stage.key("gated"), QUEUE)
        for gate in gates:
            pipe.zadd(stage.key(f"gates:{QUEUE}"), {gate: "inf"})
            pipe.zadd(stage.key(f"held:{len(QUEUE)}:{QUEUE}:{gate}"), {"t": 1})
        await pipe.execute()
    limits = iter(range(1, 1000))

    async def bound() -> None:
        await stage.store.bound([LaneLimit(LaneBound.LIMIT, QUEUE, str(next(limits)))])

    return [
        await stage.time.of("100,000 keys with tasks that wait: lanes list", lambda: stage.store.lanes([QUEUE])),
        await stage.time.of("... another limit of the lane", bound),
        await stage.time.of("... pull", stage.pull),
    ]


async def many_workers(stage: Stage) -> list[Took]:
    """And schedules of the code, of which they declare every other one."""
    ids = [f"schedule {number:04}" for number in range(5000)]
    service = ServedWork((ServedLane(QUEUE),), frozenset({"n"}), application="a", schedules=frozenset(ids[::2]))
    await stage.store.recover(WORKER, "x", False)
    for number in range(1000):
        await stage.store.register(Introduction(f"w{number}", "host", "boot", 1, number, service))
    async with stage.client.pipeline(transaction=False) as pipe:
        pipe.sadd(stage.key("declared"), *ids)
        for task_id in ids:
            pipe.hset(stage.key(f"schedule:{task_id}"), "owner", "a")
            pipe.zadd(stage.key("owner:a"), {task_id: 0})
            pipe.zadd(stage.key("schedules"), {task_id: "inf"})
        await pipe.execute()
    token = ""

    async def look() -> bool:
        nonlocal token
        step = await stage.store.retire_schedules(token, schedule_duties.UNDECLARED_AT_ONCE)
        token = step.token
        return step.more

    return [
        await stage.time.steps("1,000 workers, 5,000 schedules of the code: a step of retiring", look),
        await stage.time.of("... when nothing has changed", look),
        await stage.time.of("... names of handlers", lambda: stage.store.unserved(10_000, 200)),
    ]


async def larger_ones(stage: Stage) -> list[Took]:
    await stage.fill(QUEUE, b"x" * 60_000_000, 8)
    pulled = await stage.time.of("8 entries of 60 MB: pull, one each", stage.pull, 8)
    await stage.fill(QUEUE, b"x" * 16 * MIB, 3)
    moved = await stage.time.of("entries of 16 MB: pull, one", stage.pull, 1)
    head = await stage.store.inbox(WORKER)
    assert head is not None
    read = Admission(sha1_hex(head[1]), "unreadable", reason="x")
    admitted = await stage.time.of("... admit", lambda: stage.store.admit(WORKER, read), 1)
    await stage.pull()
    again = await stage.time.of("... recover the worker", lambda: stage.store.recover(WORKER, "x", True), 1)
    return [pulled, moved, admitted, again]


BOUNDED: tuple[Callable[[Stage], Awaitable[list[Took]]], ...] = (
    a_million_messages,
    a_thousand_large_messages,
    a_long_history,
    many_turns,
    entries_of_a_megabyte,
    small_objects,
    many_lanes,
    many_gates,
    many_workers,
)


def main() -> int:
    here = shutil.which("redis-server")
    targets, numbers = list[Target](), dict[str, object]()
    for program in (None, here) if here else (None,):
        name = "Redis" if program else "Valkey"
        bounded, larger = uvloop.run(_measured(program))
        columns = ("call", "calls", "median ms", "most ms")
        table(f"\nserver time of a call, {name}", columns, [took.row[:4] for took in [*bounded, *larger]])
        slowest = max(bounded, key=lambda took: took.most)
        targets.append(Target(f"ms of the longest call, {name} ({slowest.name})", slowest.most, LATE))
        numbers[name] = {took.name: took.most for took in [*bounded, *larger]}
    return finish(targets, numbers)


async def _measured(program: str | None) -> tuple[list[Took], list[Took]]:
    with folder() as place, server(place, program) as url:
        bounded = list[Took]()
        for case in BOUNDED:
            async with stage(url) as hostile:
                bounded += await case(hostile)
        async with stage(url) as hostile:
            return bounded, await larger_ones(hostile)


if __name__ == "__main__":
    run(main)
