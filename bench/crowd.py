"""One measurement of many tasks: what they weigh as they wait and when they have ended, how long each call takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import redis.asyncio

from bench import sizes, work
from bench.hand import Hand
from bench.looks import looks
from bench.producing import QUEUE
from bench.servertime import ServerTime, Took
from bench.sizes import Kinds, Memory
from holdfast import TaskManager, open_store
from holdfast.client.queue_control import CLEARED
from holdfast.client.task_spec import TaskSpec
from holdfast.core.task_states import TERMINAL
from holdfast.core.tasks import Wanted
from holdfast_config import RedisSettings
from holdfastd.steward.duties import lane_duties, upkeep

if TYPE_CHECKING:
    from holdfast.store import Store

AT_ONCE = 1000  # tasks given to a producer
SLOTS = 50  # of a pull, where many are finished
STOLEN = 500
DUE = 1500
FINISHED = 10  # one in so many is finished
SAMPLE = 100  # tasks whose keys are weighed

Fill = Callable[["Site", range], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Site:
    client: Any
    store: Store
    manager: TaskManager
    hand: Hand
    clock: ServerTime


@dataclass(slots=True)
class Measured:
    """`waiting`: bytes a task, of all that is used but for the stream of events; `kinds`: bytes by kind of key."""

    server: str
    full: Memory
    waiting: float
    kinds_waiting: Kinds
    kinds_ended: Kinds = field(default_factory=Kinds)
    times: list[Took] = field(default_factory=list[Took])

    @property
    def weights(self) -> tuple[int, int]:
        return round(self.waiting), round(sum(size for size, _ in self.kinds_ended.values()))

    @property
    def numbers(self) -> dict[str, object]:
        times = {took.name: (round(took.median, 3), round(took.most, 3)) for took in self.times}
        return {"used": self.full.used, "resident": self.full.resident, "bytes": self.weights, "ms": times}


async def submitted(url: str, tasks: int) -> Measured:
    """Through TaskManager."""
    async with _site(url) as site:
        measured = await _filled(site, tasks, _submit)
        await _stolen(site, measured)
        await _worked(site, measured, tasks)
        return measured


async def foreign(url: str, tasks: int) -> Measured:
    """Entries that somebody pushes."""
    async with _site(url) as site:
        measured = await _filled(site, tasks, _push)
        await _worked(site, measured, tasks)
        return measured


@asynccontextmanager
async def _site(url: str) -> AsyncGenerator[Site]:
    client: Any = redis.asyncio.from_url(url)
    async with client, open_store(RedisSettings(url, 60, QUEUE)) as store:
        yield Site(client, store, TaskManager(store, queue=QUEUE), Hand(store), ServerTime(client))


async def _server(client: Any) -> str:
    info = await client.info("server")
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"


async def _submit(site: Site, numbers: range) -> None:
    await site.manager.run_tasks([work.spec(number) for number in numbers])


async def _push(site: Site, numbers: range) -> None:
    await site.client.rpush(QUEUE, *(work.envelope(number) for number in numbers))


async def _filled(site: Site, tasks: int, fill: Fill) -> Measured:
    """Weigh the waiting tasks and look at them."""
    empty = await sizes.memory(site.client)
    for start in range(0, tasks, AT_ONCE):
        await fill(site, range(start, min(start + AT_ONCE, tasks)))
    full = await sizes.memory(site.client)
    kinds = await sizes.by_kind(site.client, [work.task_id(n) for n in range(SAMPLE)], tasks)
    measured = Measured(await _server(site.client), full, (full.tasks - empty.tasks) / tasks, kinds)
    await site.hand.register()
    for name, look in looks(site.store, site.hand):
        measured.times.append(await site.clock.of(name, look))
    return measured


async def _stolen(site: Site, measured: Measured) -> None:
    """Somebody takes entries; the first look finds suspects, the next ones put back."""

    async def step() -> int:
        return (await site.store.audit(QUEUE, lane_duties.AUDIT_WINDOW, ""))[0]

    await site.client.lpop(QUEUE, STOLEN)
    await step()
    measured.times.append(await site.clock.steps(f"steward: audit, a step of {STOLEN} stolen", step))


async def _worked(site: Site, measured: Measured, tasks: int) -> None:
    """Some are finished and deleted, the rest is cleared."""
    clock, hand, store, times = site.clock, site.hand, site.store, measured.times
    times.append(await clock.of("a pull of 1", lambda: hand.pull(1)))
    times.append(await clock.of("a pull of 10", lambda: hand.pull(10)))
    full, pulls = f"a pull that settles {SLOTS} and claims {SLOTS}", tasks // FINISHED // SLOTS
    times.append(await clock.of(full, lambda: hand.pull(SLOTS, SLOTS), pulls))
    await hand.pull(0, len(hand.held))
    await _ended(site, measured)
    await _due(site, measured)
    times.append(await clock.steps("steward: trim, a step", lambda: store.trim(0, upkeep.REMOVED_AT_ONCE)))
    times.append(await clock.steps("queue clear, a step", lambda: store.clear(QUEUE, CLEARED)))


async def _ended(site: Site, measured: Measured) -> None:
    wanted = Wanted(states=tuple(TERMINAL))
    measured.times.append(
        await site.clock.of("tasks list, of those that ended", lambda: site.store.tasks(wanted, SAMPLE))
    )
    ids = [task.task_id for task in (await site.store.tasks(wanted, SAMPLE)).tasks]
    kinds = await sizes.by_kind(site.client, ids, await site.manager.count_tasks(*TERMINAL))
    measured.kinds_ended = {kind: size for kind, size in kinds.items() if kind not in sizes.OF_WAITING}


async def _due(site: Site, measured: Measured) -> None:
    soon = [TaskSpec(text="later", delay=0.001) for _ in range(DUE)]
    await site.manager.run_tasks(soon)

    async def step() -> int:
        return (await site.store.promote(upkeep.PROMOTED_AT_ONCE))[0]

    measured.times.append(await site.clock.steps(f"steward: promote, a step of {DUE} due", step))
