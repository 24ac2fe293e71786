"""Everything a play is about: the namespace, the processes, commands that are late, the ledger, the dice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.core.delivery import Delivery, Pulled, Standing
from holdfast.core.pull_protocol import Request
from holdfast.core.worker_records import Introduction, ServedLane, ServedWork, WorkerKind
from holdfast.handler.turn import joined
from tests.lua.fuzz.ledger import Ledger
from tests.lua.fuzz.process import AHEAD, CAPACITY, Process
from tests.lua.history import History
from tests.lua.invariants import breaches
from tests.lua.messages import message_of, outcomes_breaches
from tests.lua.namespace import Namespace
from tests.lua.operations import introduction
from tests.lua.view import View

WORKERS = 4
KINDS = (WorkerKind.WORKER, WorkerKind.WORKER, WorkerKind.QUARANTINE, WorkerKind.SINGLE)
HANDLERS = (None, frozenset({"", "rare"}), frozenset({""}), frozenset({"rare"}))  # that a worker has
SHARES = ((), (1, 1, 1), (6, 3, 1))  # strict order, and weights

Late = Callable[[], Awaitable[None]]


class BreachError(AssertionError):
    """A promise was broken; the message says which."""


@dataclass(frozen=True, slots=True)
class Save:
    """The store as it was: what a failover or a restart from an old dump brings back."""

    keys: dict[bytes, tuple[bytes, int]]
    ledger: Ledger
    history: History


@dataclass(slots=True)
class World:
    space: Namespace
    dice: random.Random
    rollback: bool
    plain: int = 0  # so many lanes, that nothing bounds, and workers of pools: most calls are usual ones
    processes: list[Process] = field(default_factory=list[Process])
    zombies: list[Process] = field(default_factory=list[Process])
    late: list[Late] = field(default_factory=list[Late])
    ledger: Ledger = field(default_factory=Ledger)
    history: History = field(default_factory=History)
    ran: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    started: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    seen: Counter[str] = field(default_factory=Counter[str])
    save: Save | None = None
    handlers_dice: random.Random = field(default_factory=lambda: random.Random(1))
    steps_dice: random.Random = field(default_factory=lambda: random.Random(2))
    tending_dice: random.Random = field(default_factory=lambda: random.Random(3))
    ids: int = 0

    @staticmethod
    def new(url: str, seed: int, replaced: Mapping[str, str] | None, *, rollback: bool, plain: int = 0) -> World:
        return World(Namespace(url, replaced), random.Random(f"{seed} {rollback}"), rollback, plain)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The plain queue, one of the namespace's own, one named outside it, like a gate of the plain queue."""
        lanes = (self.space.queue, "slow", f"{self.space.queue}:key:a")
        return lanes[: self.plain or len(lanes)]

    @property
    def kinds(self) -> Sequence[WorkerKind]:
        return (WorkerKind.WORKER,) if self.plain else KINDS

    def list_of(self, lane: str) -> str:
        return self.space.keys.lane(lane)

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def name(self, kind: str) -> str:
        self.ids += 1
        return f"{kind}{self.ids}"

    def require(self, fact: object, broken: str) -> None:
        if not fact:
            raise BreachError(broken)

    async def begin(self) -> None:
        """As many workers as there should be."""
        while len(self.processes) < WORKERS:
            lanes, shares, kind = (
                self.dice.sample(self.lanes, len(self.lanes)),
                self.dice.choice(SHARES),
                self.dice.choice(self.kinds),
            )
            process = Process(self.name("w"), lanes, shares, kind)
            await self.space.store.register(self._introduction(process))
            self.processes.append(process)

    async def _has_handler(self, process: Process, delivery: Delivery) -> bool:
        if process.names is None:
            return True
        return (await self.space.task(delivery.task_id)).name in process.names

    def _introduction(self, process: Process) -> Introduction:
        """Some say nothing of what they serve; of the others some lack a handler."""
        who = introduction(process.incarnation, kind=process.kind)
        if self.chance(0.2):
            return who
        process.names = self.dice.choice(HANDLERS)
        return replace(who, service=ServedWork(tuple(map(ServedLane, process.lanes)), process.names))

    async def pull(self, process: Process, request: Request) -> Pulled:
        """The next request of this worker."""
        pulled = await self.space.store.pull(
            process.incarnation,
            request.number,
            request.slots,
            process.lanes,
            request.settlements,
            process.weights,
            request.ahead,
        )
        known = [await self._has_handler(process, one) for one in pulled.deliveries]
        self.require(all(known), f"{process.incarnation} has {process.names}, was given {pulled.deliveries}")
        is_quiet = pulled.standing is Standing.QUIET
        self.require(not is_quiet or not pulled.deliveries, f"{process.incarnation} is quiet and was given something")
        self.seen["quiet pulls"] += is_quiet
        return pulled

    def deliver(self, process: Process, deliveries: Sequence[Delivery]) -> None:
        """A worker starts what it was given."""
        for delivery in deliveries:
            key = (delivery.task_id, delivery.claim)
            self.require(self.rollback or key not in self.started, f"{key} was started twice")
            self.require(delivery.operation, f"{key} came without its operation")
            self.started.add(key)
            process.handlers[delivery.task_id] = delivery.operation
            process.runs[delivery.claim] = delivery.run
            self.seen["joined"] += len(joined(delivery))
            for raw in (*joined(delivery), delivery.operation):
                self.ran.add((delivery.task_id, message_of(raw.decode(errors="surrogateescape"))))

    async def check(self) -> View:
        """All invariants now, all events since the last check."""
        snapshot: dict[str, Any] = await self.space.store.snapshot()
        # After the store has forgotten, a worker owns again what it had settled, until its next renewal.
        bound = None if self.seen["rollback"] else CAPACITY + AHEAD
        found = breaches(snapshot, self.space.queue, concurrency=bound, stolen=self.ledger.stolen)
        self.history.tell(snapshot.get(self.space.key("events"), {"content": []})["content"])
        await self.space.do("XTRIM", self.space.key("events"), "MAXLEN", 0)
        found += self.history.breaches
        view = View.of(snapshot, self.space.queue)
        found += [*self.history.states_breaches(view.tasks), *outcomes_breaches(view)]
        self.require(not found, "; ".join(found[:5]))
        self.ledger.look(view)
        return view

    async def keep(self) -> None:
        """Save the store as it is now."""
        await self.check()
        keys: dict[bytes, tuple[bytes, int]] = {}
        for key in await self.all_keys():
            keys[key] = (await self.space.do("DUMP", key), max(0, await self.space.do("PTTL", key)))
        self.save = Save(keys, deepcopy(self.ledger), deepcopy(self.history))

    async def restore(self, save: Save) -> None:
        """The store forgets everything since `save`; the processes do not."""
        await self.space.do("DEL", *await self.all_keys(), "nothing")
        for key, (content, ttl) in save.keys.items():
            await self.space.do("RESTORE", key, ttl, content)
        save.history.rows |= self.history.rows
        self.ledger, self.history = save.ledger, save.history

    async def all_keys(self) -> list[bytes]:
        found: list[bytes] = await self.space.do("KEYS", f"{{{self.space.queue}}}:*")
        return found + [lane.encode() for lane in self.lanes if await self.space.do("EXISTS", lane)]
