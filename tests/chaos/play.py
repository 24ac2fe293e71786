"""The play: a server, three hosts, clients and the nemesis for some seconds; then peace, an end, and the books."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import redis.asyncio

from holdfast.core.pull_protocol import AHEAD_WORK
from holdfast.core.task_states import State
from holdfast.errors import StoreError
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.chaos import checks, history_file, measure, mutants
from tests.chaos.checks import Evidence
from tests.chaos.footprint import footprint
from tests.chaos.host import Histories, Host
from tests.chaos.nemesis import FAULTS, Nemesis
from tests.chaos.servers import LentServer, OwnServer, address, through
from tests.chaos.task_faults import MOST_PENDING
from tests.chaos.watcher import Watcher
from tests.chaos.workload import SHORTEST, Workload
from tests.faults import clock
from tests.faults.proxy import Proxy
from tests.faults.webhooks import Receiver, receiver

QUEUE, SHORT = "chaos", "chaos:short"
LANES = (QUEUE, "chaos:high")
CONCURRENCY = 6
AT_ONCE = 3  # of a worker with one lane
AHEAD = int(AT_ONCE * AHEAD_WORK / SHORTEST)  # tasks that it may claim ahead at most
# The lanes of each host: those of one lane have the shortest tasks. With every other seed others serve it, too.
HOSTS = (((*LANES, SHORT), LANES, (SHORT,)), (LANES, LANES, (SHORT,)))
IN_PEACE = 150.0  # seconds for the rest to end: crashed tasks wait up to 25 s, and alone
POISON = (
    0.3  # share of the play in which tasks are submitted that always end their worker: they take a minute to give up
)
# Seconds for which ended tasks are kept: while clients may ask once more (what is asked when its task is forgotten is a
# new task), and then, where retention is looked at.
KEEP, KEEP_AT_LAST = 60, 1
ANSWER = 1.0  # seconds that an answer of the store may take
LOOK = 60.0  # seconds that a snapshot may take, beside other work on the machine
LAST_WEBHOOK = 90.0  # seconds: one whose steward died waits for its lease, which a clock that was ahead may lengthen
BASELINE = 100_000  # bytes in all keys but the capped ones, once every ended task is forgotten


@dataclass(frozen=True, slots=True)
class Plan:
    """`workers` on each host of several lanes, `ahead` on that of one lane. `faults`: names, else all.
    `rate`: tasks a second. `retention`: wait until the store is back to its baseline.
    `redis_url`: a server that is lent, else there is one of the play's own."""

    seconds: float = 60.0
    seed: int = 1
    workers: int = 4
    ahead: int = 2
    rate: float = 25.0
    pause: tuple[float, float] = (1.0, 3.0)
    faults: tuple[str, ...] = tuple(FAULTS)
    mutant: str = ""
    retention: bool = True
    redis_url: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    plan: Plan
    evidence: Evidence
    breaches: list[str]
    recoveries: dict[str, list[float]]
    seconds: float
    snapshots: int
    left: int
    bytes_left: int
    struck: Counter[str] = field(default_factory=Counter[str])


async def play_once(plan: Plan) -> Outcome:
    """Play it in a folder of its own."""
    with TemporaryDirectory(prefix="chaos-") as folder:
        return await play(plan, Path(folder))


async def play(plan: Plan, folder: Path) -> Outcome:
    """Everything that was seen, and what of it is broken."""
    began = time.monotonic()
    dice = random.Random(plan.seed)
    histories = Histories.within(folder)
    with ExitStack() as stack:
        stand = _stand(plan, folder, stack)
        names = ("0", "1", "2", "c")
        proxies = [stack.enter_context(Proxy(folder / f"{name}.sock", address(stand.url))) for name in names]
        ways = [through(stand.url, folder / f"{name}.sock") for name in names]
        hosts = [
            _host(folder / f"host{number}", lanes, plan, ways[number], proxies[number], histories, stack)
            for number, lanes in enumerate(HOSTS[plan.seed % len(HOSTS)])
        ]
        replaced = {"clock": clock.HOOK, **(mutants.MUTANTS[plan.mutant].replaced if plan.mutant else {})}
        heard = Heard(stack.enter_context(receiver()))
        async with (
            aclosing(RedisStore(RedisSettings(stand.url, 10, QUEUE, LOOK, LOOK), replaced)) as store,
            aclosing(RedisStore(RedisSettings(ways[-1], 10, QUEUE, ANSWER, ANSWER), replaced)) as theirs,
        ):
            watcher = Watcher(stand.url, QUEUE, AHEAD, store, 1.0, MOST_PENDING)
            workload = Workload(
                ways[-1], QUEUE, LANES, SHORT, theirs, histories.clients, random.Random(dice.random()), plan.rate
            )
            nemesis = Nemesis(
                hosts,
                stand,
                proxies[-1],
                watcher,
                QUEUE,
                (*LANES, SHORT),
                histories.faults,
                random.Random(dice.random()),
                workload,
                heard.url,
                heard.tasks,
            )
            async with _watched(watcher, nemesis):
                until = anyio.current_time() + plan.seconds
                early_until = until - plan.seconds * (1 - POISON)
                async with anyio.create_task_group() as group:
                    group.start_soon(workload.serve, until, early_until)
                    group.start_soon(nemesis.serve, until, plan.pause, plan.faults, early_until)
                unfinished = await _until_ended(workload, watcher, time.monotonic() + IN_PEACE)
                await _until_webhooks_posted(stand.url)
                await watcher.compare_states()
                aside = [entry.raw for entry in await store.unreadable(1000)]
                await watcher.look_once()
                gone = [
                    f"{each.name} is gone, its exit status {each.ended()}: {each.last_words()}"
                    for each in hosts
                    if not each.until_ready()
                ]
                codes = [host.stop() for host in hosts if host.runs]
                left = await _until_trimmed(store, hosts[0]) if plan.retention and not unfinished else 0
                kept = await anyio.to_thread.run_sync(footprint, stand.url, QUEUE)
        codes += [host.stop() for host in hosts if host.runs]
        of_nothing = kept if plan.retention and not unfinished else {}
        evidence = Evidence(
            watcher.events,
            history_file.read(histories.runs),
            history_file.read(histories.clients),
            history_file.read(histories.faults),
            repr(aside),
            [*watcher.history.breaches, *watcher.broken, *unfinished, *gone, *_endings(codes, left, of_nothing)],
            KEEP,
            heard.tasks(),
            len(aside),
            history_file.read(histories.begun),
            {host.name: AT_ONCE if len(host.lanes) == 1 else CONCURRENCY for host in hosts},
        )
    struck = Counter(line["fault"] for line in evidence.faults if line["what"] == "begins")
    return Outcome(
        plan,
        evidence,
        checks.breaches(evidence),
        measure.recoveries(evidence.runs, evidence.faults, evidence.clients),
        time.monotonic() - began,
        watcher.snapshots,
        left,
        sum(kept.values()),
        struck,
    )


def _stand(plan: Plan, folder: Path, stack: ExitStack) -> OwnServer | LentServer:
    """Of its own or lent, and empty."""
    stand = LentServer(plan.redis_url, QUEUE) if plan.redis_url else OwnServer(folder / "server", stack)
    stand.start()
    if isinstance(stand, LentServer):
        stack.callback(stand.clear)
    return stand


def _host(
    folder: Path, lanes: tuple[str, ...], plan: Plan, url: str, proxy: Proxy, histories: Histories, stack: ExitStack
) -> Host:
    host = Host(
        folder,
        histories,
        proxy,
        lanes,
        plan.workers if len(lanes) > 1 else plan.ahead,
        redis_url=url,
        redis_answer_timeout=ANSWER,
        queue_name=QUEUE,
        concurrency=CONCURRENCY if len(lanes) > 1 else AT_ONCE,
        keep=KEEP,
        lease=6,
        lease_grace=2,
        drain_timeout=1.5,
        retry_base=0.05,
        max_pending_messages=MOST_PENDING,
        webhook_allow_private=True,
        webhook_timeout=2.0,
        mutant=plan.mutant,
    )
    stack.callback(host.close)
    host.start()
    return host


@asynccontextmanager
async def _watched(watcher: Watcher, nemesis: Nemesis) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(watcher.follow)
        group.start_soon(watcher.look)
        group.start_soon(nemesis.keep_up)
        yield
        group.cancel_scope.cancel()


async def _until_ended(workload: Workload, watcher: Watcher, deadline: float) -> list[str]:
    """Peace: whoever waits for somebody is answered, until every task has ended; what has not by then. A play that is
    broken already ends at once."""
    while not watcher.broken and not watcher.history.breaches:
        await workload.wake_the_parked()
        try:
            counts = await workload.store.counts()
            left = {str(state): number for state, number in counts.states.items() if number and state not in ENDED}
            waiting = sum(counts.lanes.values())
        except StoreError:
            left, waiting = {"unknown": 1}, 0
        if not left and not waiting:
            return []
        if time.monotonic() > deadline:
            return [f"in peace not everything ends: {left}, {waiting} entries wait"]
        await anyio.sleep(0.2)
    return ["broken before its end, so the rest was not awaited: what was still going on counts as lost"]


ENDED = frozenset({State.COMPLETED, State.FAILED, State.REJECTED, State.CANCELED})


async def _until_trimmed(store: RedisStore, host: Host) -> int:
    """A host that forgets what has ended a second ago: how many tasks are there after two rounds of its steward."""
    host.start(keep=KEEP_AT_LAST)
    await anyio.to_thread.run_sync(host.until_ready)
    deadline = time.monotonic() + 70.0
    left = 1
    while left and time.monotonic() < deadline:
        await anyio.sleep(0.5)
        with suppress(StoreError):  # it may only be slow
            left = sum((await store.counts()).states.values())
    return left


async def _until_webhooks_posted(url: str) -> None:
    """Peace: until no webhook waits to be told."""
    async with redis.asyncio.Redis.from_url(url) as client:
        deadline, waiting = time.monotonic() + LAST_WEBHOOK, True
        while waiting and time.monotonic() < deadline:
            await anyio.sleep(0.2)
            waiting = await client.zcard(f"{{{QUEUE}}}:webhooks") > 0


class Heard:
    """Of which tasks the receiver was told so far."""

    def __init__(self, receiver: Receiver) -> None:
        self.url = receiver.url
        self._receiver = receiver
        self._tasks: set[str] = set()

    def tasks(self) -> set[str]:
        while not self._receiver.requests.empty():
            _, notice = self._receiver.next()
            self._tasks.add(str(notice["task_id"]))
        return self._tasks


def _endings(codes: Sequence[int], left: int, kept: Mapping[str, int]) -> list[str]:
    found = [f"a supervisor ended with {code} in peace" for code in codes if code]
    found += [f"{left} ended tasks were never trimmed"] if left else []
    bytes_kept, largest = sum(kept.values()), dict(islice(kept.items(), 10))
    return [*found, f"{bytes_kept} bytes are kept of nothing: {largest}"] if bytes_kept > BASELINE else found
