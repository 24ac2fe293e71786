"""The worker's half of the protocol by which workers pull tasks, without I/O: its deliveries, the settlements that it
has to report, and its next request.

Requests are numbered, and a worker has one at a time. If an answer was lost, the worker sends the request again under
the same number: the store then answers with the same claims. The repetition may carry more settlements than before,
never fewer. The slots that a request asked for stay reserved until the store has answered.

A bell is a list in Redis; a push to the list wakes a worker that waits for tasks. A worker that holds nothing sends its
next request, for one task, together with its wait for a bell. The store runs this waiting request when the wait ends.
If the worker needs a task earlier, it sends another request under the same number. Then there are two cases. If the
waiting request has already claimed a task, the answer brings this task. If not, the waiting request claims nothing any
more.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace

import msgspec

from holdfast.core.delivery import Delivery, Holding, Pulled, Settle, Settlement, Standing

UNBOUNDED = sys.maxsize
GIVEN_BACK = frozenset({Settle.RELEASE, Settle.RETURNED})


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the store. `slots`: tasks to begin at once. `ahead`: further tasks to hold, which the store gives
    only if no limit or rate applies."""

    number: int
    slots: int
    settlements: tuple[Settlement, ...]
    ahead: int = 0


@dataclass(slots=True)
class Exchange:
    """The state of the protocol. `held`: task id → delivery, in the order of claiming. `unsettled`: settlements that no
    answer has confirmed. `waiting`: the request that the store runs after a wait for a bell; None once the store has
    answered, or once its number is used again."""

    capacity: int
    answered: int = 0
    held: dict[str, Delivery] = field(default_factory=dict[str, Delivery])
    unsettled: list[Settlement] = field(default_factory=list[Settlement])
    in_flight: Request | None = None
    waiting: Request | None = None

    @property
    def free(self) -> int:
        """The number of slots that are neither taken nor asked for."""
        asked = self.in_flight.slots + self.in_flight.ahead if self.in_flight else 0
        return max(0, self.capacity - len(self.held) - asked)

    def next_request(self, most: int = UNBOUNDED, ahead: int = 0) -> Request:
        """The request to send now. If a request is unanswered, this is the same request with newer settlements.
        Otherwise it is a new request, for at most `most` deliveries to begin and `ahead` more."""
        if self.in_flight:
            self.in_flight = replace(self.in_flight, settlements=self._ordered())
        else:
            self.in_flight = Request(self.answered + 1, min(self.free, most), self._ordered(), ahead)
        self.waiting = None
        return self.in_flight

    def request_behind_bell(self) -> Request:
        """The request that a worker without tasks sends together with its wait for a bell; the store runs it when the
        wait ends. It asks for one task only: if the worker or its host is lost, only this task waits until somebody
        notices."""
        self.waiting = Request(self.answered + 1, 1, ())
        return self.waiting

    def answer(self, request: Request, pulled: Pulled) -> list[Delivery]:
        """Take in the answer to a request; returns the deliveries to start.

        A turn that already runs goes on under its new claim. Another turn of a running task is started as well, because
        it has a result of its own. A store that has lost data may even give an earlier turn, or a new task with the
        same id.
        """
        if request.settlements:
            sent = {(s.task_id, s.claim) for s in request.settlements}
            self.unsettled = [s for s in self.unsettled if (s.task_id, s.claim) not in sent]
        self.in_flight = self.waiting = None
        self.answered = max(self.answered, request.number)
        if pulled.standing not in {Standing.OK, Standing.APART, Standing.REPLAY}:
            return []
        held = self.held
        fresh = [one for one in pulled.deliveries if one.task_id not in held or not self._runs(one)]
        self.held.update({delivery.task_id: delivery for delivery in pulled.deliveries})
        return fresh

    def finish(self, task_id: str, settlement: Settlement | None) -> Settlement | None:
        """Record that a handler has ended. Returns the settlement to report, under the task's present claim. None if
        the task is no longer held, or there is no settlement."""
        delivery = self.held.pop(task_id, None)
        if not (delivery and settlement):
            return None
        if settlement.claim != delivery.claim:  # the store gave the task again while it ran
            settlement = msgspec.structs.replace(settlement, claim=delivery.claim)
        self.unsettled.append(settlement)
        return settlement

    def claim_of(self, delivery: Delivery) -> str:
        """The present claim of a running delivery. If the store has given the task to this worker again, this is the
        new claim."""
        return self.held[delivery.task_id].claim if self._runs(delivery) else delivery.claim

    def holds(self, task_id: str, claim: str) -> bool:
        delivery = self.held.get(task_id)
        return delivery is not None and delivery.claim == claim

    def holdings(self, notes: dict[str, Holding]) -> list[Holding]:
        """All deliveries that this worker holds, for `renew`; `notes` add progress and checkpoints of running tasks."""
        running = [notes.get(d.task_id) or Holding(d.task_id, d.claim) for d in self.held.values()]
        return running + [Holding(s.task_id, s.claim) for s in self.unsettled]

    @property
    def settled(self) -> bool:
        """True if the worker holds no delivery, has no settlement to report, and has no open request, not even one
        behind a bell."""
        return not (self.held or self.unsettled or self.in_flight or self.waiting)

    def is_unheard(self, request: int) -> bool:
        """True if the worker has missed an answer of the store. `request`: the number of the last request that the
        store has run. An answer is missing if the worker still waits for the request behind a bell, and the store has
        run this request or a later one."""
        return self.waiting is not None and request >= self.waiting.number

    @property
    def is_idle(self) -> bool:
        """True if the worker holds no delivery and has no settlement to report. A request may still be under way."""
        return not (self.held or self.unsettled)

    def _runs(self, delivery: Delivery) -> bool:
        held = self.held.get(delivery.task_id)
        return held is not None and (held.turn, held.operation) == (delivery.turn, delivery.operation)

    def _ordered(self) -> tuple[Settlement, ...]:
        """The settlements in the order to report. Claims that are given back come last, the latest claim first. The
        store puts each of their tasks at the head of its lane, so the first claimed task ends up first. Claims that
        have begun are older than claims that have not."""
        outcomes = [s for s in self.unsettled if s.kind not in GIVEN_BACK]
        if len(outcomes) == len(self.unsettled):
            return tuple(outcomes)
        not_begun = [s for s in self.unsettled if s.kind is Settle.RETURNED]
        begun = [s for s in self.unsettled if s.kind is Settle.RELEASE]
        return (*outcomes, *reversed(not_begun), *reversed(begun))


# Decides how many tasks a worker claims beyond those that it can begin at once, so that it has work while it asks.
#
# There is one estimate for the whole worker. A task that was claimed ahead may wait for any task in the worker's slots.
# So the slowest tasks count, whatever their handler or lane. The estimate follows a slower task at once, and quicker
# tasks slowly.

LONG = 0.05  # seconds; nothing is claimed ahead of tasks that take longer
AHEAD_WORK = 0.1  # seconds of work that may wait
MOST = 100  # tasks that may wait, however short they are
ENDED = 10  # tasks that must have ended before anything is claimed ahead
SLOWLY = 1 / 16  # the weight of a quicker task


@dataclass(slots=True)
class TaskDurations:
    """Estimates how long a task takes. `ended`: number of tasks seen. `seconds`: the estimate. `slowest`: the duration
    of the longest task since the last estimate."""

    ended: int = 0
    seconds: float = 0.0
    slowest: float = 0.0

    def note(self, seconds: float) -> None:
        """Record a task that has ended, and its duration."""
        if seconds > self.slowest:
            self.slowest = seconds

    def estimate(self, ended: int) -> None:
        """Renew the estimate; `ended` tasks have ended until now."""
        more, self.ended = ended - self.ended, ended
        if more > 0:
            quicker = self.slowest + (self.seconds - self.slowest) * (1 - SLOWLY) ** more
            self.seconds = max(self.slowest, quicker)
            self.slowest = 0.0

    def claims_ahead(self, concurrency: int) -> int:
        """The number of tasks that a worker may claim ahead if it runs `concurrency` tasks at once."""
        if self.ended < ENDED or self.seconds > LONG:
            return 0
        work = concurrency * AHEAD_WORK
        return MOST if work >= MOST * self.seconds else int(work / self.seconds)


# A worker's view of whether its lease is still valid. The length of the lease is the setting `lease`.


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's lease, in seconds on a clock that goes on while the host sleeps. `renewed_at`: the time at which the
    last renewal was *sent*. The store counts the lease from this moment or a later one."""

    seconds: float
    renewed_at: float

    def holds(self, now: float) -> bool:
        """True until the lease ends. After its end the worker claims no task until the store has answered a renewal,
        because the host may have been suspended."""
        return now - self.renewed_at < self.seconds

    def seconds_left(self, now: float) -> float:
        return max(0.0, self.renewed_at + self.seconds - now)

    @property
    def interval(self) -> float:
        """Seconds between renewals: the lease holds even if two renewals in a row are lost."""
        return self.seconds / 3
