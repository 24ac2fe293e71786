"""Why handlers were started more than once, and why tasks were given up on, from the histories. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Line = dict[str, Any]
Event = dict[str, str]

# Events that take a task from its worker, and those that begin another turn of it.
FREED = frozenset(
    {"crashed", "recovered", "returned", "release", "retry", "suspended", "resumed", "message", "turn", "accepted"}
)
LET_GO = FREED | {"settled", "canceled"}
RETRIES = 2  # of three attempts
MOST_HOSTS = 10  # that a task may end: six, and some whose end an order had begun
CRASHES, ALONE = 4, 2  # deaths until it is given up on, and how many of them it has had alone


def extra_starts(events: Sequence[Event]) -> Counter[str]:
    """How often a task was claimed once more, by what had freed it; `nothing` where nothing had."""
    why: dict[str, str] = {}
    causes: Counter[str] = Counter()
    for event in events:
        task_id, name = event["id"], event["event"]
        if name == "claimed":
            if task_id in why and why[task_id] != "accepted":
                causes[why[task_id]] += 1
            why[task_id] = "nothing"
        elif name in FREED:
            why[task_id] = name
    return causes


def causeless_crashes(events: Sequence[Event], runs: Sequence[Line], faults: Sequence[Line]) -> Iterator[str]:
    """A task is charged for a crash only where its worker was struck, or a task of that worker's had ended it; of a
    suspect it counts, too, that its host was cut off."""
    struck = {pid for line in faults if line["what"] in {"hits", "cut off"} for pid in line["pids"]}
    poisoned = {line["pid"] for line in runs if line["what"] == "start" and line["verb"] == "abort"}
    pids = {event["id"]: int(event["detail"].rsplit(" ", 1)[-1]) for event in events if _is(event, "worker-registered")}
    for event in events:
        if _is(event, "crashed"):
            incarnation = event["detail"].rsplit(" ", 1)[-1].split(":")[1]
            if pids.get(incarnation) not in struck | poisoned:
                yield f"{event['id']} is charged for a crash that nobody has caused: {event['detail']}"


def joined(runs: Sequence[Line]) -> set[str]:
    """Messages that ran together with a later one, in a turn that had been interrupted by a pause."""
    return {message for line in runs if line["what"] == "start" for message in line.get("joined", ())}


def unexplained_joins(events: Sequence[Event], runs: Sequence[Line]) -> Iterator[str]:
    """A turn has several messages only where the store has let the last one join it; what ran with a later one has no
    turn of its own afterwards."""
    let = {(event["id"], event["detail"].split(" ", 1)[-1]) for event in events if _is(event, "joined")}
    together: dict[tuple[str, str], int] = {}
    for line in (line for line in runs if line["what"] == "start"):
        if line.get("joined") and (line["id"], line["message"]) not in let:
            yield f"{line['id']}: turn {line['turn']} ran {line['joined']}, which {line['message']} never joined"
        if together.get((line["id"], line["message"]), line["turn"]) < line["turn"]:
            yield f"message {line['message']} of {line['id']} joined a turn, and had another one for itself"
        for message in line.get("joined", ()):
            together.setdefault((line["id"], message), line["turn"])


def early_returns(events: Sequence[Event], keep: float) -> Iterator[str]:
    """A task that has ended is known for `keep` seconds: until then nothing makes another one of its id."""
    last: dict[str, int] = {}
    for event in events:
        before, last[event["id"]] = last.get(event["id"]), int(event["at"])
        if _is(event, "accepted") and before is not None and last[event["id"]] - before < keep * 1000:
            yield f"{event['id']} was accepted anew {(last[event['id']] - before) / 1000:.1f} s after its last event"


def forgotten(events: Sequence[Event], runs: Sequence[Line]) -> Iterator[str]:
    """A living worker gives a task back only where its handler never began or was cancelled, never with an outcome."""
    ended = [line for line in runs if line["what"] == "end" and line["how"] in {"returned", "raised"}]
    outcomes = {(line["id"], str(line["delivery"])) for line in ended}
    for event in events:
        if _is(event, "returned") and (event["id"], event["detail"].split(":")[0]) in outcomes:
            yield f"{event['id']} was given back although its handler had ended: {event['detail']}"


def given_up(events: Sequence[Event]) -> Iterator[str]:
    """Only who has ended its workers alone, again and again, or has failed in every attempt, is a dead letter."""
    company = _Company()
    crashes: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    retries: Counter[str] = Counter()
    for event in events:
        task_id, name = event["id"], event["event"]
        crashes[task_id] += name == "crashed"
        alone[task_id] += name == "crashed" and not company.had(task_id)
        retries[task_id] += name == "retry"
        if name == "suspected":  # for recoveries: that counts as its first crash where it has had none
            crashes[task_id] = max(1, crashes[task_id])
        if name == "dead-letter" and (alone[task_id] < ALONE or crashes[task_id] < CRASHES):
            yield f"{task_id} is a dead letter after {crashes[task_id]} crashes, {alone[task_id]} of them alone"
        if name == "settled" and event["detail"].startswith("exhausted ") and retries[task_id] < RETRIES:
            yield f"{task_id} is given up on after {retries[task_id]} retries"
        company.tell(event)


def given_up_late(runs: Sequence[Line]) -> Iterator[str]:
    """A task that ends its whole host each time it starts becomes a dead letter."""
    starts = Counter(line["id"] for line in runs if line["what"] == "start" and line["verb"] == "end_host")
    for task_id, times in starts.items():
        if times > MOST_HOSTS:
            yield f"{task_id} has ended its host {times} times"


@dataclass(slots=True)
class _Company:
    """The tasks that run side by side, from the claims; `mixed`: tasks that had company in their present run."""

    running: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    at: dict[str, str] = field(default_factory=dict[str, str])
    mixed: set[str] = field(default_factory=set[str])

    def had(self, task_id: str) -> bool:
        return task_id in self.mixed

    def tell(self, event: Event) -> None:
        task_id, name = event["id"], event["event"]
        if name == "claimed":
            worker = event["detail"].split(":")[1]
            self.at[task_id] = worker
            self.running[worker].add(task_id)
            self.mixed.discard(task_id)
            if len(self.running[worker]) > 1:
                self.mixed |= self.running[worker]
        elif name in LET_GO and task_id in self.at:
            self.running[self.at.pop(task_id)].discard(task_id)


def _is(event: Event, name: str) -> bool:
    return event["event"] == name
