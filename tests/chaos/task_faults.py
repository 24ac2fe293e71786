"""Faults by tasks, records and clocks: each is played, looked at until its end, and what it should have come to is
checked where it is played."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from redis.exceptions import RedisError

from holdfast.client.task_spec import TaskSpec
from holdfast.core.task_states import TERMINAL
from holdfast.errors import InvalidTaskError
from tests.faults import clock

if TYPE_CHECKING:
    from tests.chaos.host import Host
    from tests.chaos.nemesis import Nemesis

AGAIN = 0.1  # seconds
PATIENCE = 45.0  # seconds for what should come soon, beside one other fault
AHEAD = 60  # seconds by which the clock is set forward: longer than anybody waits for the recovery after that
HEARD = 2.5  # seconds, longer than workers are silent for
WIDE = tuple(f"chaos:wide:{number}" for number in range(200))
MOST_PENDING = 40  # messages that may wait for one task: the bound of the play
FLOOD = 60  # messages, beyond the bound
IMPOSSIBLE = ("http://h:x/", "http://[::1", "http://0177.0.0.1/")
FIRES = 2  # of a schedule, after the one beside it has lost its record


async def supervisor_killed(nemesis: Nemesis) -> None:
    """A task that ends every process of the host that runs it, as the kernel does where a whole service is out of
    memory. Whom it struck is written down by its handler."""
    await nemesis.workload.submit(nemesis.workload.new_id(), "end_host")


async def self_cancelled(nemesis: Nemesis) -> None:
    """Handlers that cancel their own asyncio task, or leave a cancel scope open."""
    since = anyio.current_time()
    ids = [nemesis.workload.new_id() for _ in range(2)]
    for task_id, verb in zip(ids, ("cancel_itself", "leave_scope"), strict=True):
        await nemesis.workload.submit(task_id, verb)
    if await _until(lambda: _ended(nemesis, ids)):
        nemesis.recovered("handler cancels itself", since)


async def webhook_impossible(nemesis: Nemesis) -> None:
    """Refused where it is submitted; one that came into a record otherwise stops no other webhook."""
    workload = nemesis.workload
    url = nemesis.dice.choice(IMPOSSIBLE)
    try:
        workload.manager.prepare(TaskSpec("nap 0", webhook=url))
        nemesis.watcher.broken.append(f"a task with the webhook {url} is accepted")
    except InvalidTaskError:
        pass
    async with nemesis.alone:
        since = anyio.current_time()
        bad, *good = [workload.new_id() for _ in range(4)]
        for task_id in (bad, *good):
            await workload.submit(task_id, "nap 1.0", webhook=nemesis.webhook)
            if task_id == bad:
                await nemesis.do("HSET", f"{{{nemesis.queue}}}:task:{bad}", "webhook", url)
        if await _until(lambda: _have_webhooks(nemesis, good)):
            nemesis.recovered("webhook impossible", since)


async def _have_webhooks(nemesis: Nemesis, ids: Sequence[str]) -> bool:
    return nemesis.heard() >= set(ids)


async def schedule_gone(nemesis: Nemesis) -> None:
    """The record of one schedule is deleted; the one beside it goes on, and the first can be set anew."""
    async with nemesis.alone:
        workload = nemesis.workload
        gone, sound = (f"{word}-{workload.new_id()}" for word in ("gone", "sound"))
        for schedule_id in (gone, sound):
            await workload.set_schedule(schedule_id)
        await nemesis.do("DEL", f"{{{nemesis.queue}}}:schedule:{gone}")
        since, before = anyio.current_time(), _fires(nemesis, sound)
        if await _until(lambda: _fired(nemesis, sound, before + FIRES)):
            nemesis.recovered("schedule gone", since)
        else:
            nemesis.watcher.broken.append(f"the schedule {sound} stopped when {gone} had lost its record")
        for schedule_id in (gone, sound):
            await workload.unset_schedule(schedule_id)


def _fires(nemesis: Nemesis, schedule_id: str) -> int:
    return sum(event["event"] == "schedule-fired" and event["id"] == schedule_id for event in nemesis.watcher.events)


async def _fired(nemesis: Nemesis, schedule_id: str, times: int) -> bool:
    return _fires(nemesis, schedule_id) >= times


async def many_lanes(nemesis: Nemesis) -> None:
    """A host that serves 200 lanes more, each with a task, own and foreign ones; then as many as before."""
    since = anyio.current_time()
    if not await _serve(nemesis, (*nemesis.hosts[0].lanes, *WIDE)):
        return
    ids = {lane: nemesis.workload.new_id() for lane in WIDE}
    async with nemesis.client() as foreign:
        for number, (lane, task_id) in enumerate(ids.items()):
            give = nemesis.workload.submit if number % 2 else _pushing(nemesis, foreign)
            await give(task_id, "nap 0.01", lane=lane)
    if await _until(lambda: _ended(nemesis, list(ids.values()))):
        nemesis.recovered("200 lanes", since)
        await _serve(nemesis, nemesis.hosts[0].lanes)


def _pushing(nemesis: Nemesis, foreign: Any) -> Callable[..., Awaitable[None]]:
    async def push(task_id: str, text: str, *, lane: str) -> None:
        await nemesis.workload.push(foreign, task_id, text, lane=lane)

    return push


async def _serve(nemesis: Nemesis, lanes: Sequence[str]) -> bool:
    """The first host is started again with these lanes: whether nobody else was at it."""
    with nemesis.whole_host(nemesis.hosts[0]) as host:
        if host is None or not await anyio.to_thread.run_sync(host.until_ready):
            return False
        host.send(signal.SIGTERM)
        await anyio.to_thread.run_sync(host.ended)
        host.start(lanes=",".join(lanes))
    return True


async def paused_beside_death(nemesis: Nemesis) -> None:
    """A worker is killed while what it runs is paused; some of that is resumed at once, some at the end of the play."""
    pid, running = await _busy(nemesis)
    async with anyio.create_task_group() as group:
        for task_id in running:
            group.start_soon(nemesis.workload.pause, task_id)
        await anyio.sleep(nemesis.dice.uniform(0.0, 0.02))
        nemesis.hit("pauses beside deaths", *([pid] if pid else []))
    for task_id in running:
        if nemesis.dice.random() < 0.5:
            await nemesis.workload.resume(task_id)


async def _busy(nemesis: Nemesis) -> tuple[int, list[str]]:
    """A worker of ours and what it runs; 0 and nothing where none is busy."""
    pids = {process.pid for host in nemesis.hosts for process in host.children("worker")}
    async with nemesis.client(decode_responses=True) as client:
        for incarnation in await client.zrange(f"{{{nemesis.queue}}}:workers", 0, -1):
            worker = f"{{{nemesis.queue}}}:worker:{incarnation}"
            pid = int(await client.hget(worker, "pid") or 0)
            if pid in pids and (running := await client.hkeys(f"{worker}:running")):
                return pid, running
    return 0, []


async def clock_set_forward(nemesis: Nemesis) -> None:
    """A host that dies while the store's clock is ahead is recovered by its lease once the clock is right again."""
    async with nemesis.alone:
        with nemesis.whole_host() as host:
            if host is None or not await anyio.to_thread.run_sync(host.until_ready):
                return
            pids = nemesis.everybody(host)
            if not await _until(lambda: _somebody_of(nemesis, pids)):
                return
            try:
                await nemesis.do("SET", clock.KEY, AHEAD * 1000)
                await anyio.sleep(HEARD)
                nemesis.hit("clock set forward", *pids)
            finally:
                await nemesis.do("DEL", clock.KEY)
            since = anyio.current_time()
            await _after_the_jump(nemesis, host, pids, since)


async def _after_the_jump(nemesis: Nemesis, host: Host, pids: Sequence[int], since: float) -> None:
    if await _until(lambda: _nobody_of(nemesis, pids)):
        nemesis.recovered("clock set forward", since)
    elif any(other.runs for other in nemesis.hosts if other is not host):
        nemesis.watcher.broken.append(f"{host.name} died while the clock was ahead, and is not recovered")
    await nemesis.start_again(host)


async def _somebody_of(nemesis: Nemesis, pids: Sequence[int]) -> bool:
    return not await _nobody_of(nemesis, pids)


async def _nobody_of(nemesis: Nemesis, pids: Sequence[int]) -> bool:
    """True if no worker that counts as live is one of these processes."""
    async with nemesis.client(decode_responses=True) as client:
        live = await client.zrange(f"{{{nemesis.queue}}}:workers", 0, -1)
        held = [int(await client.hget(f"{{{nemesis.queue}}}:worker:{each}", "pid") or 0) for each in live]
    return not set(held) & set(pids)


async def messages_flooded(nemesis: Nemesis) -> None:
    """More messages for one task than may wait for it, own and foreign ones: each runs, is set aside, or is refused."""
    if not await _until(lambda: _is_bounded(nemesis)):
        return
    since, task_id = anyio.current_time(), nemesis.workload.new_id()
    await nemesis.workload.submit(task_id, "nap 3.0")
    async with nemesis.client() as foreign:
        for number in range(FLOOD):
            message = f"f{number}-{task_id}"
            if number % 4:
                await nemesis.workload.submit(task_id, "nap 0.001", message)
            else:
                await nemesis.workload.push(foreign, task_id, "nap 0.001", message)
    if await _until(lambda: _ended(nemesis, [task_id])):
        nemesis.recovered("messages flooded", since)


async def _is_bounded(nemesis: Nemesis) -> bool:
    """A supervisor has said how many may wait."""
    async with nemesis.client() as client:
        return int(await client.hget(f"{{{nemesis.queue}}}:meta", "most_pending") or 0) == MOST_PENDING


async def _ended(nemesis: Nemesis, ids: Sequence[str]) -> bool:
    """None of these goes on; what waits for somebody has ended as far as others are concerned."""
    async with nemesis.client(decode_responses=True) as client, client.pipeline(transaction=False) as pipe:
        for task_id in ids:
            pipe.hget(f"{{{nemesis.queue}}}:task:{task_id}", "state")
        states = await pipe.execute()
    return all(state in TERMINAL for state in states)


async def _until(condition: Callable[[], Awaitable[bool]]) -> bool:
    """True if it came to be so in time."""
    deadline = anyio.current_time() + PATIENCE
    while True:
        if await _holds(condition):
            return True
        if anyio.current_time() > deadline:
            return False
        await anyio.sleep(AGAIN)


async def _holds(condition: Callable[[], Awaitable[bool]]) -> bool:
    """A server that is away for a while says nothing."""
    try:
        return await condition()
    except (RedisError, OSError):
        return False
