"""The puller: one request at a time, carrying what has ended and bringing what is next."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import anyio
import structlog

from holdfast.core.delivery import Delivery, Pulled, Standing, Verdict
from holdfast.core.pull_protocol import Request
from holdfast.os.kill_points import Point, reached
from holdfast.worker.context import WorkerContext
from holdfast.worker.continued_schedules import ContinuedSchedules

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class Puller:
    """`appetite`: how many deliveries may be claimed now, none while draining and past the end of the lease; `start`
    begins one; `answered` is told after each answer, when slots may have been freed or taken."""

    post: WorkerContext
    appetite: Callable[[], int]
    start: Callable[[Delivery], None]
    answered: Callable[[], None]
    inbox: anyio.Event = field(default_factory=anyio.Event)
    fires: ContinuedSchedules = field(init=False)
    _quiet: bool = False
    _noted: bool = False
    _apart: bool = False
    _due: anyio.Event = field(default_factory=anyio.Event)
    _asked: int = 0
    _done: int = 0
    _round: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self.fires = ContinuedSchedules(self.post)

    @property
    def hungry(self) -> bool:
        """Whether a bell would be of use now: not to a worker that is about to ask anyway."""
        heeds_bells = not (self._quiet or self._apart or self._due.is_set())
        return heeds_bells and self.appetite() > 0 and self.post.exchange.free > 0

    @property
    def quiet(self) -> bool:
        """Whether the store has said that this host is to claim nothing: no bell is for it."""
        return self._quiet

    @property
    def apart(self) -> bool:
        """Whether the store has said that a suspect runs here alone, or is to be the next: that may have changed."""
        return self._apart

    def poke(self) -> None:
        """Something ended or may be claimed: ask soon. What ends in the same turn of the loop goes along."""
        self._asked += 1
        self._due.set()

    async def ask_now(self) -> None:
        """Poke, and wait until a request that began after this has been answered."""
        self.poke()
        ticket = self._asked
        while self._done < ticket:
            await self._round.wait()

    async def serve(self) -> None:
        while True:
            await self._due.wait()
            self._due = anyio.Event()
            ticket = self._asked
            request, pulled = await self.post.insist.call("pull", self._send)
            self._take(request, pulled)
            await self._note_quiet()
            if pulled.fires:
                await self.fires.make(pulled.fires)
                self.poke()
            self._done = ticket
            self._round.set()
            self._round = anyio.Event()

    async def _send(self) -> tuple[Request, Pulled]:
        post = self.post
        request = post.exchange.next_request(self.appetite())
        if post.draining.is_set():
            reached(Point.DRAIN)
        if request.settlements:
            reached(Point.BEFORE_SETTLE)
        lanes, weights = post.spec.settings.lane_names, post.spec.settings.weights
        pulled = await post.store.pull(
            post.incarnation, request.number, request.slots, lanes, request.settlements, weights
        )
        return request, pulled

    def _take(self, request: Request, pulled: Pulled) -> None:
        _tell_losses(request, pulled)
        for settlement, verdict in zip(request.settlements, pulled.verdicts, strict=True):
            self.post.heard(settlement, verdict)
        started = self.post.exchange.answer(request, pulled)
        if request.settlements:
            reached(Point.SETTLED)
        for delivery in started:
            reached(Point.PULLED)
            self.start(delivery)
        if pulled.standing in {Standing.OK, Standing.QUIET, Standing.APART, Standing.FIRES}:
            self._quiet = pulled.standing is Standing.QUIET
            self._apart = pulled.standing is Standing.APART
        if pulled.inbox:
            self.inbox.set()
        if pulled.standing is Standing.DEAD:
            self.post.fenced.set()
        elif pulled.standing is Standing.UNKNOWN:
            self.post.unknown.set()
        self.answered()

    async def _note_quiet(self) -> None:
        if self._quiet == self._noted or (self._quiet and await self._is_ending()):
            return
        self._noted = self._quiet
        _log.warning("this host is quiet or halted: nothing is claimed" if self._quiet else "this host claims again")

    async def _is_ending(self) -> bool:
        """Whether this process ends at a halt that lasts: it says so itself."""
        seen = self.post.spec.halt
        if seen is None:
            return False
        last_halt = partial(self.post.store.last_halt, socket.gethostname())
        return await self.post.insist.call("halts", last_halt) > seen


def _tell_losses(request: Request, pulled: Pulled) -> None:
    for settlement, verdict in zip(request.settlements, pulled.verdicts, strict=True):
        if verdict in {Verdict.LOST, Verdict.GONE}:
            _log.warning("an outcome came too late", task=settlement.task_id, verdict=str(verdict))
