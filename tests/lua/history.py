"""I7 to I10 from the events stream, and that no pause is forgotten: what happened, in Redis's order.

    history = History(); history.tell(events); history.breaches      # events: dicts with event, id, detail

The stream is capped: a task whose beginning is no longer in it is followed from its first event on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

WAITING, HELD, RUNNING, PARKED, ENDED = "waiting", "held", "running", "parked", "ended"
STATES = (WAITING, HELD, RUNNING, PARKED)

# event → phases it may find, phase it leaves ('' for the same).
EVENTS: dict[str, tuple[tuple[str, ...], str]] = {
    "claimed": ((WAITING,), RUNNING),
    "retry": ((RUNNING,), WAITING),
    "release": ((RUNNING,), WAITING),
    "defer": ((RUNNING,), WAITING),
    "crashed": ((RUNNING,), WAITING),
    "recovered": ((RUNNING,), WAITING),
    "returned": ((RUNNING,), WAITING),
    "suspended": ((RUNNING, WAITING, HELD), PARKED),
    "pause-asked": ((RUNNING,), ""),
    "pause-withdrawn": ((RUNNING,), ""),
    "promoted": ((WAITING,), ""),
    "put-back": ((WAITING,), ""),
    "message-waits": ((WAITING, HELD, RUNNING), ""),
    "joined": ((PARKED,), ""),
    "message": ((PARKED,), WAITING),
    "resumed": ((PARKED,), WAITING),
    "canceled": (STATES, ENDED),
    "dead-letter": ((WAITING,), ENDED),
    "suspected": ((WAITING,), ""),
    "cleared": (STATES, ""),
    "delayed": ((WAITING,), ""),
    "waits": ((WAITING,), HELD),
    "ready": ((HELD,), WAITING),
    "parent-failed": ((WAITING, HELD, PARKED), ENDED),
    "expired": ((WAITING, HELD, PARKED), ENDED),
    "retry-of": ((WAITING,), ""),
    "unknown-handler": ((WAITING,), ""),
    "unserved": ((WAITING,), ENDED),
    "retried": ((ENDED,), ""),
}
PAUSES = {"pause-asked": True, "pause-withdrawn": False, "suspended": False, "resumed": False, "message": False}
SETTLED = {"input-required": PARKED, "auth-required": PARKED}
OTHERS = frozenset(
    {"worker-registered", "worker-died", "host-quiet", "host-resumed", "host-halted", "host-halt-ended", "requested"}
)  # not of tasks


@dataclass(slots=True)
class Life:
    """One task so far; `last` is the event before."""

    phase: str = ""
    delivery: int = -1  # unknown
    claim: str = ""
    last: str = ""
    committed: set[str] = field(default_factory=set[str])
    pausing: bool = False  # a pause was accepted while it ran, and it was neither parked nor resumed since
    going_on: bool = False  # a resume or a message came after a pause of this run
    unjoined: bool = False  # it was suspended, though a message had come after the pause: that joins at once


@dataclass(slots=True)
class History:
    lives: dict[str, Life] = field(default_factory=dict[str, Life])
    breaches: list[str] = field(default_factory=list[str])

    def tell(self, events: Iterable[dict[str, str]]) -> None:
        for event in events:
            if event["event"] not in OTHERS and not event["event"].startswith(("schedule-", "webhook-", "lane-")):
                self._one(event["event"], event["id"], event["detail"])

    def _one(self, event: str, task_id: str, detail: str) -> None:
        if event == "accepted":
            self.lives[task_id] = Life(WAITING, 0)
            return
        if event == "restored":
            self.lives[task_id] = Life()
            return
        if event == "asked":
            return
        life = self.lives.setdefault(task_id, Life())
        if life.unjoined and event != "joined":
            self.breaches.append(f"{task_id}: suspended, though it was told to go on after its pause")
        life.unjoined = False
        if event in PAUSES:
            self._paused(life, event, task_id)
        if event == "message-waits" and life.pausing:
            life.going_on = True
        if event == "claimed":
            self._claimed(life, task_id, detail)
        if event == "settled":
            self._settled(life, task_id, detail)
        elif event == "turn":
            self._turn(life, task_id)
        else:
            self._follow(life, event, task_id)
        life.last = f"{event} {detail}"

    def _paused(self, life: Life, event: str, task_id: str) -> None:
        life.unjoined = event == "suspended" and life.going_on and life.phase == RUNNING
        life.pausing, life.going_on = PAUSES[event], event == "pause-withdrawn"

    def _claimed(self, life: Life, task_id: str, claim: str) -> None:
        delivery = int(claim.split(":", 1)[0])
        if life.delivery >= 0 and delivery != life.delivery + 1:
            self.breaches.append(f"I10 {task_id}: delivery {delivery} after {life.delivery}")
        if life.pausing:
            self.breaches.append(f"{task_id}: claimed after {life.last}, though it was to pause")
        life.delivery, life.claim, life.going_on = delivery, claim, False

    def _settled(self, life: Life, task_id: str, detail: str) -> None:
        kind, turn, claim = detail.split(" ")[:3]
        if life.phase not in {WAITING, RUNNING, ""}:
            self.breaches.append(f"I9 {task_id}: settled {detail} after {life.last}")
        if life.claim and claim != life.claim:
            self.breaches.append(f"I8 {task_id}: settled by {claim}, last claimed by {life.claim}")
        if turn in life.committed:
            self.breaches.append(f"I7 {task_id}: turn {turn} settled twice")
        life.committed.add(turn)
        life.phase = SETTLED.get(kind, ENDED)

    def _turn(self, life: Life, task_id: str) -> None:
        """A message that waited begins the next turn: only in the same script as the settlement before it."""
        begun = ("settled completed ", "settled input-required ", "settled auth-required ")
        if life.last and not life.last.startswith(begun):
            self.breaches.append(f"I9 {task_id}: a turn began after {life.last}")
        life.phase = WAITING

    def _follow(self, life: Life, event: str, task_id: str) -> None:
        found, left = EVENTS[event]
        if life.phase and life.phase not in found:
            rule = "I9" if life.phase == ENDED else "transition"
            self.breaches.append(f"{rule} {task_id}: {event} after {life.last} ({life.phase})")
        life.phase = left or life.phase
