"""I7 to I10 from the event stream, the table of transitions, and that no pause is forgotten, in the order of the store.

    history = History(); history.tell(events); history.breaches      # events: dicts with event, id, detail

Each event of a task is held against `TRANSITIONS`; `states_breaches` compares where they lead with the records. The
stream is capped: a task whose beginning is no longer in it is followed from the first event that tells its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.core.task_states import TERMINAL, TRANSITIONS, IllegalTransitionError, State, TaskEvent, next_state
from holdfast.core.trail import TOLD_TOGETHER

Row = tuple[State, TaskEvent]


def _leads() -> dict[TaskEvent, set[State]]:
    """The states to which an event leads, from any."""
    leads: dict[TaskEvent, set[State]] = {}
    for row in TRANSITIONS.values():
        for event, state in row.items():
            leads.setdefault(event, set()).add(state)
    return leads


PAUSES = {"pause-asked": True, "pause-withdrawn": False, "suspended": False, "resumed": False, "message": False}
OTHERS = (
    "worker-",
    "host-",
    "lane-",
    "schedule-",
    "webhook-",
    "batch-",
    "requested",
    "asked",
)  # not of the state of a task
BEHIND: dict[Row, set[str]] = {  # these come only behind such an event, in the same script
    (State.SUBMITTED, TaskEvent.DELAYED): {"accepted", "crashed", "ready", "restored"},
    (State.SUBMITTED, TaskEvent.DEAD_LETTER): {"crashed"},
    (State.DELAYED, TaskEvent.DELAYED): {"retry", "defer", "sleep"},
}
IN_PLACE = {State.WORKING, State.DELAYED, State.WAITING}  # of a restored task the events that follow say it
TURNS = ("settled completed ", "settled input-required ", "settled auth-required ")
STATE_AFTER = {event: leads.pop() for event, leads in _leads().items() if len(leads) == 1}


def apart(entries: Iterable[Mapping[str, str]]) -> Iterator[Mapping[str, str]]:
    """The events of entries of the stream: one for each task that an entry names."""
    for entry in entries:
        several = entry["event"] in TOLD_TOGETHER
        yield from ({**entry, "id": each} for each in entry["id"].split(" ")) if several else [entry]


@dataclass(slots=True)
class Life:
    """One task so far; `last` is the event before, `before` the state that it found. None: not known."""

    state: State | None = None
    before: State | None = None
    delivery: int = -1  # unknown
    claim: str = ""
    last: str = ""
    committed: set[str] = field(default_factory=set[str])
    pausing: bool = False  # a pause was accepted while it ran, and it was neither parked nor resumed since
    going_on: bool = False  # a resume or a message came after a pause of this run
    unjoined: bool = False  # it was suspended, though a message had come after the pause: that joins at once


@dataclass(slots=True)
class History:
    """`rows`: the transitions that were seen."""

    lives: dict[str, Life] = field(default_factory=dict[str, Life])
    breaches: list[str] = field(default_factory=list[str])
    rows: set[Row] = field(default_factory=set[Row])

    def tell(self, entries: Iterable[Mapping[str, str]]) -> None:
        for event in apart(entries):
            if not event["event"].startswith(OTHERS):
                self._one(event["event"], event["id"], event["detail"])

    def states_breaches(self, tasks: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
        """Tasks whose record says another state than the table led to."""
        for task_id, life in self.lives.items():
            if life.state and task_id in tasks and tasks[task_id].get("state") != life.state:
                told = tasks[task_id].get("state")
                yield f"transition {task_id}: {told} after {life.last}, which leads to {life.state}"

    def _one(self, event: str, task_id: str, detail: str) -> None:
        if event == "accepted":
            self.lives[task_id] = Life(State.SUBMITTED, delivery=0, last=event)
            return
        if event == "restored":
            state = State(detail.split(" ")[0])
            self.lives[task_id] = Life(State.SUBMITTED if state in IN_PLACE else state, last=event)
            return
        if event == "removed":
            self.lives.pop(task_id, None)
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
        self._follow(life, TaskEvent(detail.split(" ")[0] if event == "settled" else event), task_id)
        life.last = f"{event} {detail}"

    def _paused(self, life: Life, event: str, task_id: str) -> None:
        life.unjoined = event == "suspended" and life.going_on and life.state is State.WORKING
        life.pausing, life.going_on = PAUSES[event], event == "pause-withdrawn"

    def _claimed(self, life: Life, task_id: str, claim: str) -> None:
        delivery = int(claim.split(":", 1)[0])
        if life.delivery >= 0 and delivery != life.delivery + 1:
            self.breaches.append(f"I10 {task_id}: delivery {delivery} after {life.delivery}")
        if life.pausing:
            self.breaches.append(f"{task_id}: claimed after {life.last}, though it was to pause")
        life.delivery, life.claim, life.going_on = delivery, claim, False

    def _settled(self, life: Life, task_id: str, detail: str) -> None:
        _, turn, claim = detail.split(" ")[:3]
        if life.claim and claim != life.claim:
            self.breaches.append(f"I8 {task_id}: settled by {claim}, last claimed by {life.claim}")
        if turn in life.committed:
            self.breaches.append(f"I7 {task_id}: turn {turn} settled twice")
        life.committed.add(turn)

    def _follow(self, life: Life, event: TaskEvent, task_id: str) -> None:
        """A turn begins only in the same script as the settlement before it, in place of where that leads."""
        if event is TaskEvent.TURN and life.last:
            if not life.last.startswith(TURNS):
                self.breaches.append(f"I9 {task_id}: a turn began after {life.last}")
            life.state = life.before
        life.before = life.state
        if life.state is None:
            life.state = STATE_AFTER.get(event)
            return
        if life.last.split(" ")[0] not in BEHIND.get((life.state, event), {life.last.split(" ")[0]}):
            self.breaches.append(f"transition {task_id}: {event} after {life.last}")
        try:
            life.state = next_state(life.state, event)
            self.rows.add((life.before, event))
        except IllegalTransitionError as error:
            rule = "I9" if life.before in TERMINAL else "transition"
            self.breaches.append(f"{rule} {task_id} after {life.last}: {error}")
            life.state = None
