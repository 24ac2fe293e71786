"""The faults, by name: each strikes something and heals itself. What struck whom and when is written down."""

from __future__ import annotations

import random
import signal
import socket
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import redis.asyncio
from redis.exceptions import RedisError

from holdfast.errors import StoreError
from holdfast.exits import Exit
from tests.chaos import history_file, task_faults
from tests.chaos.host import Host, strike
from tests.chaos.random_faults import cut_off, random_faults
from tests.chaos.servers import LentServer, OwnServer
from tests.chaos.watcher import Watcher
from tests.chaos.workload import Workload
from tests.faults.proxy import Action, Proxy

FROZEN = (7.0, 11.0)  # seconds; the leases of the hosts and their grace are 8
STEALING = 1.0  # seconds
PAUSED = (0.1, 2.0)  # seconds
HOLDER_WITHIN = 5.0  # seconds
SHORT, LONG = (0.3, 3.0), (0.5, 11.0)  # seconds of random faults; clients, who ask again at once, have the short one
TORN = (Action.CUT, Action.TRUNCATE, Action.HALF_CLOSE_DOWN, Action.HALF_CLOSE_UP)
OWN = b'{"_b":"'
STARTED_AGAIN = (Exit.UNAVAILABLE, -signal.SIGKILL)
# A task that ends its host takes a minute to give up, and what is put off while the clock is ahead comes late.
EARLY = frozenset({"supervisor killed by a task", "clock set forward"})


@dataclass(slots=True)
class Nemesis:
    """`stand` is the store's server; `clients`: by which clients reach it; `webhook`: where the play is told of tasks,
    and `heard` of which it was; `taken`: hosts that are being killed, frozen, cut off or started again; `alone`: held
    while clocks move, and by what depends on them; `striking`: faults that have not ended."""

    hosts: Sequence[Host]
    stand: OwnServer | LentServer
    clients: Proxy
    watcher: Watcher
    queue: str
    lanes: tuple[str, ...]
    history: Path
    dice: random.Random
    workload: Workload
    webhook: str
    heard: Callable[[], set[str]]
    taken: set[str] = field(default_factory=set[str])
    alone: anyio.Lock = field(default_factory=anyio.Lock)
    striking: set[str] = field(default_factory=set[str])

    async def serve(self, until: float, pause: tuple[float, float], names: Sequence[str], early_until: float) -> None:
        """One or two faults every so often, some only early, none that still goes on; ten seconds of
        peace in each minute."""
        began = anyio.current_time()
        async with anyio.create_task_group() as long:
            while anyio.current_time() < until:
                await anyio.sleep(self.dice.uniform(*pause))
                if (anyio.current_time() - began) % 60.0 > 50.0 or anyio.current_time() >= until:
                    continue
                early = anyio.current_time() < early_until
                now = [name for name in names if (early or name not in EARLY) and name not in self.striking]
                async with anyio.create_task_group() as short:
                    for name in self.dice.sample(now, min(len(now), self.dice.choice([1, 1, 2]))):
                        (long if name in LONG_FAULTS else short).start_soon(self.strike, name)

    async def keep_up(self) -> None:
        """A service manager, for ever: it starts a supervisor again that could not reach the store at its start, or
        that a task has killed."""
        while True:
            await anyio.sleep(0.5)
            for host in self.hosts:
                if host.name not in self.taken and host.process and host.process.poll() in STARTED_AGAIN:
                    host.start()

    async def strike(self, name: str) -> None:
        """Returns when it has healed."""
        self.striking.add(name)
        self.write(name, "begins")
        with suppress(RedisError, OSError):
            await FAULTS[name](self)
            if name in SERVER or name in QUEUE:
                self.healed(name, *self.hosts)
        self.write(name, "over")
        self.striking.discard(name)

    def healed(self, name: str, *hosts: Host) -> None:
        """From now on there is no reason why these hosts should do nothing."""
        self.write(name, "healed", hosts=[host.name for host in hosts])

    def recovered(self, name: str, since: float) -> None:
        """The tasks that the fault had held up went on or ended, so long after that."""
        self.write(name, "recovered", seconds=anyio.current_time() - since)

    def write(self, name: str, what: str, **fields: object) -> None:
        history_file.write(self.history, fault=name, what=what, **fields)

    def hit(self, name: str, *pids: int, number: int = signal.SIGKILL) -> None:
        self.write(name, "hits", pids=list(pids))
        for pid in pids:
            strike(pid, number)

    def host(self) -> Host:
        return self.dice.choice(self.hosts)

    def _some(self, host: Host, kind: str, most: int = 1) -> list[int]:
        pids = [process.pid for process in host.children(kind)]
        return self.dice.sample(pids, min(len(pids), self.dice.randint(1, most)))

    async def worker_killed(self) -> None:
        self.hit("worker killed", *self._some(self.host(), "worker", 2))

    async def worker_crashed(self) -> None:
        number = self.dice.choice([signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
        self.hit("worker crashed", *self._some(self.host(), "worker"), number=number)

    async def worker_stopped(self) -> None:
        """Its parent continues it as soon as the kernel tells."""
        self.hit("worker stopped", *self._some(self.host(), "worker"), number=signal.SIGSTOP)

    async def worker_terminated(self) -> None:
        self.hit("worker terminated", *self._some(self.host(), "worker"), number=signal.SIGTERM)

    async def holder_killed(self) -> None:
        """A worker that has claimed more than it runs at once, if there is one soon."""
        pids = {process.pid for host in self.hosts for process in host.children("worker")}
        until = anyio.current_time() + HOLDER_WITHIN
        async with self.client(decode_responses=True) as client:
            while anyio.current_time() < until:
                if found := pids & await self._holders(client):
                    self.hit("worker with claims ahead killed", *found)
                    return
                await anyio.sleep(0.01)

    async def _holders(self, client: Any) -> set[int]:
        """Process ids of these workers."""
        found = set[int]()
        for incarnation in await client.hkeys(f"{{{self.queue}}}:ahead"):
            worker = f"{{{self.queue}}}:worker:{incarnation}"
            pid, most = await client.hmget(worker, "pid", "concurrency")
            if pid and await client.hlen(f"{worker}:running") > int(most):
                found.add(int(pid))
        return found

    async def steward_killed(self) -> None:
        self.hit("steward killed", *self._some(self.host(), "steward"))

    async def parent_killed(self) -> None:
        """Its children drain and leave by themselves; somebody starts it again."""
        with self.whole_host() as host:
            if host is not None and host.process is not None:
                self.hit("parent killed", host.process.pid)
                await self.start_again(host)

    async def host_killed(self) -> None:
        """Everything of a host at once."""
        with self.whole_host() as host:
            pids = _everybody(host)
            if host is not None and pids:
                self.hit("host killed", *pids)
                await self.start_again(host)

    async def host_frozen(self) -> None:
        """For longer than its lease: the other host takes its tasks over, and then it wakes up."""
        with self.whole_host() as host:
            pids = _everybody(host)
            self.hit("host frozen", *pids, number=signal.SIGSTOP)
            await anyio.sleep(self.dice.uniform(*FROZEN) if pids else 0.0)
            for pid in pids:
                strike(pid, signal.SIGCONT)

    async def parent_stopped(self) -> None:
        host = self.host()
        host.send(signal.SIGSTOP)
        await anyio.sleep(self.dice.uniform(0.5, 3.0))
        host.send(signal.SIGCONT)

    async def restarted(self) -> None:
        """As an operator does it."""
        with self.whole_host() as host:
            if host is not None:
                host.send(signal.SIGTERM)
                await self.start_again(host)

    @contextmanager
    def whole_host(self, *wanted: Host) -> Generator[Host | None]:
        """One, of those wanted or all, of which nothing else is being done as a whole, or None."""
        free = [host for host in wanted or self.hosts if host.name not in self.taken]
        host = self.dice.choice(free) if free else None
        if host is not None:
            self.taken.add(host.name)
        try:
            yield host
        finally:
            if host is not None:
                self.taken.discard(host.name)

    async def start_again(self, host: Host) -> None:
        await anyio.to_thread.run_sync(host.ended)
        await anyio.sleep(self.dice.uniform(0.0, 1.0))
        host.start()

    async def scaled(self) -> None:
        host = self.host()
        host.scale(self.dice.randint(1, host.workers + 2))
        await anyio.sleep(1.0)
        host.scale(host.workers)

    async def reloaded(self) -> None:
        self.host().reload()

    async def server_stopped(self) -> None:
        assert isinstance(self.stand, OwnServer)
        pid = self.stand.pid
        strike(pid, signal.SIGSTOP)
        await anyio.sleep(self.dice.uniform(0.2, 4.0))
        strike(pid, signal.SIGCONT)

    async def server_killed(self) -> None:
        """Its append-only file has all that it ever acknowledged."""
        assert isinstance(self.stand, OwnServer)
        await anyio.to_thread.run_sync(self.stand.kill)
        await anyio.sleep(self.dice.uniform(0.0, 1.0))
        await anyio.to_thread.run_sync(self.stand.start)

    async def connections_killed(self) -> None:
        for _ in range(3):
            await self._command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            await anyio.sleep(0.3)

    async def clients_paused(self) -> None:
        paused = self.dice.randrange(200, 3000)
        await self._command("CLIENT", "PAUSE", str(paused), self.dice.choice(["WRITE", "ALL"]))
        await anyio.sleep(paused / 1000)

    async def server_asleep(self) -> None:
        await self._command("DEBUG", "SLEEP", f"{self.dice.uniform(0.2, 2.0):.1f}")

    async def scripts_flushed(self) -> None:
        await self._command("SCRIPT", "FLUSH")

    async def bells_deleted(self) -> None:
        async with self.client() as client:
            async for key in client.scan_iter(match=f"{{{self.queue}}}:bell:*"):
                await client.delete(key)
            async for key in client.scan_iter(match=f"{{{self.queue}}}:control:*"):
                await client.delete(key)

    async def entries_stolen(self) -> None:
        """Somebody else is faster for a while, with entries of our own producers: others' are out of the promise."""
        self.watcher.stolen = True
        until = anyio.current_time() + STEALING
        async with self.client() as client:
            while anyio.current_time() < until:
                for lane in self.lanes:
                    for entry in await client.lrange(lane, 0, 20):
                        if entry.startswith(OWN):
                            await client.lrem(lane, 1, entry)

    async def lane_paused(self) -> None:
        """Nothing of it is begun, and what was claimed ahead comes back."""
        lane, store = self.dice.choice(self.lanes), self.watcher.store
        await self.ask(lambda: store.pause_lane(lane, "chaos"))
        await anyio.sleep(self.dice.uniform(*PAUSED))
        await self.ask(lambda: store.resume_lane(lane))

    async def hosts_quiet(self) -> None:
        """All of them: they share a name."""
        name, store = socket.gethostname(), self.watcher.store
        await self.ask(lambda: store.quiet_host(name, "chaos", "chaos"))
        await anyio.sleep(self.dice.uniform(*PAUSED))
        await self.ask(lambda: store.resume_host(name, "chaos"))

    async def memory_exhausted(self) -> None:
        await self._command("CONFIG", "SET", "maxmemory", "1mb")
        await anyio.sleep(self.dice.uniform(0.5, 2.0))
        await self.do("CONFIG", "SET", "maxmemory", "0")

    async def requests_dropped(self) -> None:
        """They never arrive, and whoever waits for an answer waits in vain."""
        await self._weather("requests dropped", Action.DROP, 0.15)

    async def answers_cut(self) -> None:
        """The request is carried out, and its answer comes torn or not at all."""
        await self._weather("answers cut", self.dice.choice(TORN), 0.15)

    async def requests_doubled(self) -> None:
        await self._weather("requests doubled", Action.DUPLICATE, 0.4)

    async def requests_delayed(self) -> None:
        """Past their repetition, some also past the recovery of who sent them. Only of hosts: a client's push that
        comes when its task is forgotten is a new task."""
        host = self.host()
        async with random_faults(host.proxy, Action.HOLD, 0.1, self.dice) as found:
            await anyio.sleep(self.dice.uniform(*LONG))
        self.write("requests delayed", "met", times=found.accidents)
        self.healed("requests delayed", host)

    async def connections_swallowed(self) -> None:
        await self._weather("connections swallowed", Action.BLACK_HOLE, 0.03)

    async def host_cut_off(self) -> None:
        """For less than its lease, or for longer: then the other host takes its tasks over."""
        with self.whole_host() as host:
            if host is not None and await anyio.to_thread.run_sync(host.until_ready):
                self.write("host cut off", "cut off", pids=_everybody(host))
                async with cut_off(host.proxy):
                    await anyio.sleep(self.dice.uniform(*LONG))
                self.healed("host cut off", host)

    async def _weather(self, name: str, action: Action, chance: float) -> None:
        """Between one host, or all clients, and the store."""
        host = self.dice.choice([*self.hosts, None])
        async with random_faults(host.proxy if host else self.clients, action, chance, self.dice) as found:
            await anyio.sleep(self.dice.uniform(*SHORT))
        self.write(name, "met", times=found.accidents)
        self.healed(name, *([host] if host else self.hosts))

    def client(self, **options: Any) -> Any:
        return redis.asyncio.Redis.from_url(self.stand.url, socket_timeout=10.0, **options)

    async def do(self, *words: str | int) -> None:
        """The same command until it is answered: what it undoes must not stay."""
        while True:
            with suppress(RedisError, OSError):
                return await self._command(*words)
            await anyio.sleep(0.1)

    async def ask(self, call: Callable[[], Awaitable[object]]) -> None:
        """The store, until it answers."""
        while True:
            with suppress(StoreError):
                await call()
                return
            await anyio.sleep(0.1)

    async def _command(self, *words: str | int) -> None:
        async with self.client() as client:
            await client.execute_command(*words)

    def everybody(self, host: Host) -> list[int]:
        return _everybody(host)


def _everybody(host: Host | None) -> list[int]:
    """A supervisor and its children; nobody where it does not answer."""
    status = host.status() if host is not None else None
    return [] if status is None else [status.pid, *(process.pid for process in status.processes)]


Fault = Callable[[Nemesis], Awaitable[None]]

PROCESSES: dict[str, Fault] = {
    "worker killed": Nemesis.worker_killed,
    "worker crashed": Nemesis.worker_crashed,
    "worker stopped": Nemesis.worker_stopped,
    "worker terminated": Nemesis.worker_terminated,
    "worker with claims ahead killed": Nemesis.holder_killed,
    "steward killed": Nemesis.steward_killed,
    "parent killed": Nemesis.parent_killed,
    "parent stopped": Nemesis.parent_stopped,
    "host killed": Nemesis.host_killed,
    "host frozen": Nemesis.host_frozen,
    "restarted": Nemesis.restarted,
    "scaled": Nemesis.scaled,
    "reloaded": Nemesis.reloaded,
}
NETWORK: dict[str, Fault] = {
    "requests dropped": Nemesis.requests_dropped,
    "answers cut": Nemesis.answers_cut,
    "requests doubled": Nemesis.requests_doubled,
    "requests delayed": Nemesis.requests_delayed,
    "connections swallowed": Nemesis.connections_swallowed,
    "host cut off": Nemesis.host_cut_off,
}
SERVER: dict[str, Fault] = {  # a server that is lent is not struck: others may use it
    "server stopped": Nemesis.server_stopped,
    "server killed": Nemesis.server_killed,
    "server asleep": Nemesis.server_asleep,
    "connections killed": Nemesis.connections_killed,
    "clients paused": Nemesis.clients_paused,
    "scripts flushed": Nemesis.scripts_flushed,
    "memory exhausted": Nemesis.memory_exhausted,
}
QUEUE: dict[str, Fault] = {
    "bells deleted": Nemesis.bells_deleted,
    "entries stolen": Nemesis.entries_stolen,
    "lane paused": Nemesis.lane_paused,
    "hosts quiet": Nemesis.hosts_quiet,
}
MISUSE: dict[str, Fault] = {
    "supervisor killed by a task": task_faults.supervisor_killed,
    "handler cancels itself": task_faults.self_cancelled,
    "webhook impossible": task_faults.webhook_impossible,
    "schedule gone": task_faults.schedule_gone,
    "200 lanes": task_faults.many_lanes,
    "pauses beside deaths": task_faults.paused_beside_death,
    "clock set forward": task_faults.clock_set_forward,
    "messages flooded": task_faults.messages_flooded,
}
LONG_FAULTS = MISUSE.keys() - {"clock set forward"}  # nobody waits for their end before the next fault
FAULTS: dict[str, Fault] = {**PROCESSES, **NETWORK, **SERVER, **QUEUE, **MISUSE}
