"""Checks of what workers claim and what they begin of it. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Line = dict[str, Any]
Event = dict[str, str]

NOT_BEGUN = ", before it had begun "
ENDS_CLAIM = frozenset({"settled", "canceled", "crashed", "recovered", "returned", "release", "retry", "suspended"})
REGISTERED = "worker-registered"
OF_A_LOST_HOST = "lease lapsed"  # nobody knows what a worker had begun that is recovered for this


def too_many_begun(runs: Sequence[Line], concurrency: Mapping[str, int]) -> Iterator[str]:
    """No worker runs more handlers at once than its host says."""
    running: defaultdict[int, set[tuple[str, int]]] = defaultdict(set)
    for line in runs:
        run = line["id"], line["delivery"]
        if line["what"] == "end":
            running[line["pid"]].discard(run)
            continue
        running[line["pid"]].add(run)
        if len(running[line["pid"]]) > concurrency.get(line["host"], len(running[line["pid"]])):
            yield f"{line['id']} was begun by a worker of {line['host']} that ran {len(running[line['pid']]) - 1}"


def charged_unbegun(events: Sequence[Event], begun: Sequence[Line], concurrency: Mapping[str, int]) -> Iterator[str]:
    """The death of a worker counts as a crash or a recovery of what it had begun alone. Where nobody knows, it counts
    for as many as the worker runs at once. A worker notes a task a moment before it calls the handler, whose record is
    the evidence here: its death in between counts for that one task. A task that is given back before it has begun is
    no release."""
    began = {(line["id"], str(line["delivery"])) for line in begun}
    of_lost: Counter[str] = Counter()
    without_record: set[str] = set()
    for event in events:
        name, detail = event["event"], event["detail"]
        if name == "release" and (event["id"], detail.split(":", 1)[0]) not in began:
            yield f"{event['id']} had not begun, and is counted as released: {detail}"
        if name not in {"crashed", "recovered"} or NOT_BEGUN in detail:
            continue
        delivery, incarnation, _ = detail.rsplit(" ", 1)[-1].split(":")
        if OF_A_LOST_HOST in detail:
            of_lost[incarnation] += 1
        elif (event["id"], delivery) not in began and incarnation not in without_record:
            without_record.add(incarnation)
        elif (event["id"], delivery) not in began:
            yield f"{event['id']} had not begun, and the death of its worker counts for it: {name} {detail}"
    at_once = _at_once(events, begun, concurrency)
    for incarnation, count in of_lost.items():
        if count > at_once.get(incarnation, count):
            yield f"the loss of {incarnation} counts for {count} tasks, and it ran {at_once[incarnation]} at once"


def claimed_ahead(events: Sequence[Event], begun: Sequence[Line], concurrency: Mapping[str, int]) -> int:
    """The number of claims beyond what their worker could begin at once, as the store saw it."""
    at_once = _at_once(events, begun, concurrency)
    held: defaultdict[str, set[str]] = defaultdict(set)
    owner: dict[str, str] = {}
    ahead = 0
    for event in events:
        task_id = event["id"]
        if task_id in owner and event["event"] in ENDS_CLAIM:
            held[owner.pop(task_id)].discard(task_id)
        elif event["event"] == "claimed":
            owner[task_id] = incarnation = event["detail"].split(":")[1]
            held[incarnation].add(task_id)
            ahead += len(held[incarnation]) > at_once.get(incarnation, math.inf)
    return ahead


def _at_once(events: Sequence[Event], begun: Sequence[Line], concurrency: Mapping[str, int]) -> dict[str, int]:
    """How many tasks each incarnation that has begun any runs at once."""
    host_of = {line["pid"]: line["host"] for line in begun}
    registered = {event["id"]: int(event["detail"].split(" ")[-1]) for event in events if event["event"] == REGISTERED}
    return {each: concurrency[host_of[pid]] for each, pid in registered.items() if host_of.get(pid) in concurrency}
