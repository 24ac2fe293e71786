"""Checks of the histories of clients, handlers and store. Pure: lines in, breaches out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.chaos import causes, claims

Line = dict[str, Any]

HEALS = 5.0  # seconds after a fault in which its consequences may still change the order
ENDED = {
    "completed": "completed",
    "failed": "failed",
    "rejected": "rejected",
    "exhausted": "failed",
    "unreadable": "rejected",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """`events` of the store in its order; lines of handlers (`runs`), clients and the nemesis (`faults`) in order of
    time; `aside`: the entries that were set aside; `broken`: what was found while it played; `keep`: seconds for which
    ended tasks were kept, at least; `heard`: tasks of which a webhook was told; `begun`: what workers began;
    `concurrency`: how many tasks a worker of each host runs at once."""

    events: list[dict[str, str]]
    runs: list[Line]
    clients: list[Line]
    faults: list[Line]
    aside: str = ""
    broken: list[str] = field(default_factory=list[str])
    keep: float = 60.0
    heard: set[str] = field(default_factory=set[str])
    set_aside: int = 0
    begun: list[Line] = field(default_factory=list[Line])
    concurrency: dict[str, int] = field(default_factory=dict[str, int])


def breaches(evidence: Evidence) -> list[str]:
    """Everything that is broken, one line each."""
    checks = (
        _all_end,
        _all_accepted_end,
        _all_messages,
        _all_heard,
        _results,
        _starts,
        _explained,
        _overlaps,
        _canceled,
        _fifo,
        _claims,
    )
    return [*evidence.broken, *(breach for check in checks for breach in check(evidence))]


def tasks_accepted(evidence: Evidence) -> dict[str, Line]:
    """Tasks that a client was told are accepted."""
    return {
        line["id"]: line
        for line in evidence.clients
        if line["what"] in {"submit", "push"} and line["message"] == f"m-{line['id']}"
    }


def ends(evidence: Evidence) -> dict[str, str]:
    """How each task ended, by its last event; empty while it has not."""
    last: dict[str, str] = {}
    for event in evidence.events:
        match event["event"]:
            case "settled":
                kind = event["detail"].split(" ", 1)[0]
                last[event["id"]] = ENDED.get(kind, "")
            case "canceled":
                last[event["id"]] = "canceled"
            case "dead-letter":
                last[event["id"]] = "failed"
            case "worker-registered" | "worker-died" | "retried":
                pass
            case name if name.startswith(("schedule-", "webhook-", "lane-", "host-")):
                pass
            case _:
                last[event["id"]] = ""
    return last


def _all_end(evidence: Evidence) -> Iterator[str]:
    ended = ends(evidence)
    for task_id, line in tasks_accepted(evidence).items():
        if not ended.get(task_id):
            yield f"lost: {task_id} was accepted ({line['what']}) and has not ended"


def _all_accepted_end(evidence: Evidence) -> Iterator[str]:
    """Tasks that the store took in by itself, too: those of schedules."""
    ended, asked = ends(evidence), tasks_accepted(evidence)
    for task_id in {event["id"] for event in evidence.events if event["event"] == "accepted"} - asked.keys():
        if not ended.get(task_id):
            yield f"lost: {task_id} was accepted by the store and has not ended"


def _all_heard(evidence: Evidence) -> Iterator[str]:
    """Of each task that has a webhook and has ended it was told; one whose record was spoilt is given up."""
    given_up = {event["id"] for event in evidence.events if event["event"] == "webhook-dropped"}
    ended = ends(evidence)
    for task_id, line in tasks_accepted(evidence).items():
        if line.get("webhook") and ended.get(task_id) and task_id not in evidence.heard | given_up:
            yield f"{task_id} is {ended[task_id]}, and its webhook was never told"


def _all_messages(evidence: Evidence) -> Iterator[str]:
    """Every message ran, in one turn, or was set aside with its reason, or its task was canceled before it could.

    A task that is resumed while it asks runs its message in one more turn.
    """
    ran = {line["message"] for line in evidence.runs if line["what"] == "start"} | causes.joined(evidence.runs)
    ended = ends(evidence)
    for line in evidence.clients:
        if line["what"] != "submit" or line["answer"] in {"ended", "conflict", "refused"} or line["message"] in ran:
            continue
        if line["message"] not in evidence.aside and ended.get(line["id"]) != "canceled":
            yield f"message {line['message']} of {line['id']} neither ran nor was it set aside"
    turns: dict[tuple[str, str], int] = {}
    asked_anew = _resumed_while_asking(evidence.events)
    for line in (line for line in evidence.runs if line["what"] == "start" and line["id"] not in asked_anew):
        if turns.setdefault((line["id"], line["message"]), line["turn"]) != line["turn"]:
            yield f"message {line['message']} of {line['id']} ran in more than one turn"
    yield from causes.unexplained_joins(evidence.events, evidence.runs)


def _resumed_while_asking(events: Iterable[dict[str, str]]) -> set[str]:
    """Ids of tasks that were resumed without a message, directly after a turn that ended with a question."""
    asking, found = set[str](), set[str]()
    for event in events:
        task_id = event["id"]
        if event["event"] == "resumed" and task_id in asking:
            found.add(task_id)
        asking.discard(task_id)
        if event["event"] == "settled" and event["detail"].startswith(("input-required ", "auth-required ")):
            asking.add(task_id)
    return found


def _results(evidence: Evidence) -> Iterator[str]:
    """A turn that is settled as completed was run to its end by some handler."""
    returned = {
        (line["id"], str(line["turn"])) for line in evidence.runs if line["what"] == "end" and line["how"] == "returned"
    }
    for event in evidence.events:
        if event["event"] == "settled" and event["detail"].startswith("completed "):
            turn = event["detail"].split(" ")[1]
            if (event["id"], turn) not in returned:
                yield f"{event['id']}: turn {turn} is settled as completed, and no handler returned"


def _starts(evidence: Evidence) -> Iterator[str]:
    """A handler is started at most once for each delivery, and never without one. An id that was forgotten, no sooner
    after its end than it may be, is another task's when it comes again, with deliveries of its own."""
    claimed = Counter(
        (event["id"], event["detail"].split(":", 1)[0]) for event in evidence.events if event["event"] == "claimed"
    )
    yield from causes.early_returns(evidence.events, evidence.keep)
    starts = Counter((line["id"], str(line["delivery"])) for line in evidence.runs if line["what"] == "start")
    for (task_id, delivery), times in starts.items():
        if not claimed[task_id, delivery]:
            yield f"{task_id}: delivery {delivery} was started and never claimed"
        elif times > claimed[task_id, delivery]:
            yield f"{task_id}: delivery {delivery} was started {times} times"


def _explained(evidence: Evidence) -> Iterator[str]:
    """Every start after the first, every charge and every dead letter has its reason."""
    unexplained = causes.extra_starts(evidence.events)["nothing"]
    if unexplained:
        yield f"{unexplained} starts are unexplained: nothing had freed the task"
    yield from causes.causeless_crashes(evidence.events, evidence.runs, evidence.faults)
    yield from causes.forgotten(evidence.events, evidence.runs)
    yield from causes.given_up(evidence.events)
    yield from causes.given_up_late(evidence.runs)


def _overlaps(evidence: Evidence) -> Iterator[str]:
    """Two handlers of one task at the same time: only where the first one's worker was declared dead meanwhile."""
    running: dict[str, dict[int, Line]] = defaultdict(dict)
    lost = {
        (event["id"], event["detail"].rsplit(" ", 1)[-1].split(":", 1)[0])
        for event in evidence.events
        if event["event"] in {"crashed", "recovered", "returned"}
    }
    ended = {(line["id"], line["delivery"]) for line in evidence.runs if line["what"] == "end"}
    for line in evidence.runs:
        if line["what"] == "end":
            running[line["id"]].pop(line["delivery"], None)
            continue
        for delivery in running[line["id"]]:
            if (line["id"], delivery) in ended and (line["id"], str(delivery)) not in lost:
                yield f"{line['id']}: delivery {line['delivery']} began while {delivery} still ran"
        running[line["id"]][line["delivery"]] = line


def _claims(evidence: Evidence) -> Iterator[str]:
    yield from claims.too_many_begun(evidence.runs, evidence.concurrency)
    yield from claims.charged_unbegun(evidence.events, evidence.begun, evidence.concurrency)


def _canceled(evidence: Evidence) -> Iterator[str]:
    ended = ends(evidence)
    for line in evidence.clients:
        if line["what"] == "cancel" and line["answer"] == "canceled" and ended.get(line["id"]) != "canceled":
            yield f"{line['id']}: a client was told that it is canceled, it is {ended.get(line['id']) or 'going on'}"


def _fifo(evidence: Evidence) -> Iterator[str]:
    """In peace, tasks of our own producers are first claimed in the order in which their lane took them in. Whose entry
    was stolen comes when the audit has found it, however late; an id that comes again may come in another lane."""
    accepted = Counter(event["id"] for event in evidence.events if event["event"] == "accepted")
    stolen = {event["id"] for event in evidence.events if event["event"] == "put-back"}
    own = {
        line["id"]: line["lane"]
        for line in tasks_accepted(evidence).values()
        if line["own"] and not line["delayed"] and line["id"] not in stolen and accepted[line["id"]] == 1
    }
    for began, ended in peace(evidence):
        waiting: dict[str, list[str]] = defaultdict(list)
        for event in evidence.events:
            lane = own.get(event["id"])
            if lane is not None and began <= int(event["at"]) / 1000 <= ended:
                yield from _in_order(waiting[lane], event, lane)


def _in_order(waiting: list[str], event: dict[str, str], lane: str) -> Iterator[str]:
    task_id = event["id"]
    if event["event"] == "accepted":
        waiting.append(task_id)
    elif task_id in waiting:
        if event["event"] == "claimed" and waiting[0] != task_id:
            yield f"{task_id} was claimed before {waiting[0]}, which waited longer in {lane}"
        waiting.remove(task_id)


def peace(evidence: Evidence) -> list[tuple[float, float]]:
    """Stretches (Unix time) in which no fault went on or had just healed."""
    if not evidence.events:
        return []
    stretches: list[tuple[float, float]] = []
    began, open_faults = 0.0, 0
    for line in evidence.faults:
        if line["what"] == "begins":
            if open_faults == 0 and line["wall"] > began:
                stretches.append((began, line["wall"]))
            open_faults += 1
        elif line["what"] == "over":
            open_faults -= 1
            began = max(began, line["wall"] + HEALS)
    return [*stretches, (began, float("inf"))] if open_faults == 0 else stretches
