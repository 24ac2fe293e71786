"""The invariants of the protocol (design, section 6), from one atomic snapshot: I1 to I6, I11, I12, I14 to I19, tally.

    breaches(await store.snapshot(), queue, concurrency=10)     # a list of texts, empty when all is well

I7 to I10 are about what happened: `history.py` reads the events stream. I13 (FIFO) needs a play without faults.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from holdfast.core.pull_protocol import MOST
from tests.lua.batches import batches_breaches
from tests.lua.emitted import emitted_breaches
from tests.lua.errors import errors_breaches
from tests.lua.gates import gates_breaches
from tests.lua.messages import joins_breaches, messages_breaches
from tests.lua.orphans import orphans
from tests.lua.ties import ties_breaches
from tests.lua.view import OWN, View

TERMINAL = frozenset({"completed", "failed", "rejected", "canceled"})
PARKED = frozenset({"input-required", "auth-required", "suspended"})
FEW = 16  # lanes: a worker of more claims nothing ahead (see fast_pull.lua)


def breaches(
    snapshot: dict[str, Any],
    queue: str,
    *,
    concurrency: int | None = None,
    ahead: int | None = None,
    bells: int = 1,
    stolen: bool = False,
) -> list[str]:
    """The broken invariants, one line each. `concurrency`: the most that any worker may hold, claims ahead included.
    `ahead`: what a worker of a pool with one lane may hold beyond what it runs at once; one of a few lanes may hold as
    much beyond as any worker, others nothing.
    `stolen`: somebody else takes entries, so only audit promises I4."""
    view = View.of(snapshot, queue)
    checks = (
        _ownership(view),
        _owners(view),
        _indexes(view),
        () if stolen else _entries(view),
        () if stolen else _stale(view),
        _ended(view),
        _conserved(view),
        _lasting(view),
        _bounded(view, concurrency, ahead, bells),
        _solo_alone(view),
        _tally(view),
        _retries(view),
        _quiet(view),
        messages_breaches(view),
        joins_breaches(view),
        gates_breaches(view),
        orphans(view),
        ties_breaches(view),
        batches_breaches(view),
        emitted_breaches(view),
        errors_breaches(view),
    )
    return [breach for check in checks for breach in check]


def _ownership(view: View) -> Iterator[str]:
    owners: dict[str, tuple[str, str]] = {}
    for incarnation, task_id, claim in view.owned():
        if task_id in owners:
            yield f"I1 {task_id} runs at {owners[task_id][0]} and at {incarnation}"
        owners[task_id] = (incarnation, claim)
        if task_id not in view.tasks:
            yield f"I1 {incarnation} runs {task_id}, which has no record"
    for task_id, task in view.tasks.items():
        said = (task.get("owner", ""), task.get("claim", "")) if task["state"] == "working" else None
        if said != owners.get(task_id):
            yield f"I1 {task_id} is {task['state']} of {said}, running has {owners.get(task_id)}"


def _owners(view: View) -> Iterator[str]:
    owners = {incarnation for incarnation, _, _ in view.owned()}
    owners |= {owner for task in view.tasks.values() if (owner := task.get("owner", ""))}
    for owner in owners:
        state = view.workers.get(owner, {}).get("state", "unknown")
        if state not in {"live", "draining"}:
            yield f"I2 the owner {owner} is {state}"


def _indexes(view: View) -> Iterator[str]:
    indexed = {
        "delayed": set(view.index("due")),
        "waiting": set(view.index("waiting")),
        "parked": set(view.index("parked")),
        "terminal": set(view.index("finished")),
        "submitted": {task_id for held in view.named("submitted:").values() for task_id in held},
    }
    for task_id, task in view.tasks.items():
        state = task["state"]
        kind = "terminal" if state in TERMINAL else "parked" if state in PARKED else state
        for name, ids in indexed.items():
            if (name == kind) != (task_id in ids):
                yield f"I3 {task_id} is {state}, index {name}: {task_id in ids}"
        if state == "submitted":
            yield from _number(view, task_id, task)
        is_suspect = state == "submitted" and task.get("solo") == "1"
        listed = task_id in view.index(f"suspects:{task['lane']}")
        if is_suspect != listed and not (is_suspect and task.get("held")):  # at an open gate it stands in both
            yield f"I3 {task_id} is {state}, solo {task.get('solo')!r}, held {task.get('held')!r}, a suspect: {listed}"
        if task_id in view.index("dead") and state != "failed":
            yield f"I3 {task_id} is {state} and a dead letter"
    suspects = {task_id for listed in view.named("suspects:").values() for task_id in listed}
    for name, ids in {**indexed, "dead": set(view.index("dead")), "suspects": suspects}.items():
        for task_id in ids - view.tasks.keys():
            yield f"I3 {name} holds {task_id}, which has no record"


def _number(view: View, task_id: str, task: dict[str, str]) -> Iterator[str]:
    score = view.index(f"submitted:{task['lane']}").get(task_id)
    if score is None or int(float(score)) != int(task["seq"]):
        yield f"I3 {task_id} has seq {task['seq']}, score {score} in its lane {task['lane']}"


def _entries(view: View) -> Iterator[str]:
    waiting = {
        lane.removeprefix("submitted:"): view.entries_of(lane.removeprefix("submitted:"))
        for lane in view.rest
        if lane.startswith("submitted:")
    }
    for task_id, task in view.tasks.items():
        beside = task.get("solo") == "1" or task.get("held")
        if task["state"] == "submitted" and not beside and task_id not in waiting.get(task["lane"], ()):
            yield f"I4 {task_id} is submitted and has no entry in {task['lane']}"


def _stale(view: View) -> Iterator[str]:
    """No more entries are said to be stale than there are of which no task that waits there is the first owner."""
    for lane, count in view.index("stale").items():
        entries = [found[1] for raw in view.lane(lane) if (found := OWN.match(raw))]
        tasks = {
            task_id for task_id, task in view.tasks.items() if task["state"] == "submitted" and task["lane"] == lane
        }
        beside = {
            task_id for task_id in tasks if view.tasks[task_id].get("solo") == "1" or view.tasks[task_id].get("held")
        }
        needed = len((tasks - beside) & set(entries))
        if not 0 < int(count) <= len(entries) - needed:
            yield f"I4 {count} of {len(entries)} entries of {lane} are said to be stale, {needed} are needed"


def _ended(view: View) -> Iterator[str]:
    for task_id, task in view.tasks.items():
        if task["state"] in TERMINAL:
            if task.get("claim") or task.get("owner"):
                yield f"I5 {task_id} is {task['state']} with claim {task.get('claim')!r}, owner {task.get('owner')!r}"
            if view.items(f"pending:{task_id}"):
                yield f"I5 {task_id} is {task['state']} and messages wait for it"


def _conserved(view: View) -> Iterator[str]:
    counters = view.index("counters")
    accepted, trimmed = int(counters.get("accepted", 0)), int(counters.get("trimmed", 0))
    if accepted != len(view.tasks) + trimmed:
        yield f"I6 {accepted} accepted, {len(view.tasks)} records and {trimmed} trimmed"


def _lasting(view: View) -> Iterator[str]:
    for key, ttl in view.ttl.items():
        tombstone = view.workers.get(key.removeprefix("worker:"), {}).get("state") == "dead"
        rollup = key.startswith(("rollup:", "rollups:"))
        if ttl >= 0 and not tombstone and not rollup and not key.startswith(("control:", "reporter")):
            yield f"I11 {key} expires"
        if ttl < 0 and (rollup or key == "reporter"):
            yield f"I11 {key} stays for ever"
        if ttl < 0 and tombstone:
            yield f"I14 the tombstone {key} stays for ever"


def _bounded(view: View, concurrency: int | None, ahead: int | None, bells: int) -> Iterator[str]:
    for bell, rings in view.named("bell:").items():
        if len(rings) > bells:
            yield f"I12 bell {bell} rings {len(rings)} times"
    running = Counter(incarnation for incarnation, _, _ in view.owned())
    for incarnation, count in running.items():
        if concurrency is not None and count > concurrency:
            yield f"I12 {incarnation} runs {count}"
        if ahead is not None and count > (most := most_held(view.workers.get(incarnation, {}), ahead)):
            yield f"I12 {incarnation} holds {count}, and may hold {most}"


def most_held(worker: dict[str, str], ahead: int) -> float:
    """The most claims of a worker: those that it runs at once, and those ahead. Without a bound if it names none."""
    if "concurrency" not in worker:
        return math.inf
    lanes = len(json.loads(worker.get("lanes", "[]")))
    may_claim_ahead = worker["kind"] == "worker" and lanes <= FEW
    return int(worker["concurrency"]) + ((ahead if lanes == 1 else MOST) if may_claim_ahead else 0)


def _solo_alone(view: View) -> Iterator[str]:
    running = Counter(incarnation for incarnation, _, _ in view.owned())
    for incarnation, task_id, _ in view.owned():
        if view.tasks.get(task_id, {}).get("solo") == "1" and running[incarnation] > 1:
            yield f"rule 8: {task_id} is solo, {incarnation} runs {running[incarnation]}"


def _retries(view: View) -> Iterator[str]:
    """A task that was retried has ended, is no dead letter any more, and its next run knows it."""
    for task_id, task in view.tasks.items():
        after = task.get("retried_as")
        if after and (task["state"] not in TERMINAL or task_id in view.index("dead")):
            yield f"{task_id} was retried as {after}, is {task['state']}, dead: {task_id in view.index('dead')}"
        run = view.tasks.get(after or "", {})
        if run.get("origin") == "retry" and run["retry_of"] != task_id:  # an id that begins anew is another task
            yield f"{task_id} was retried as {after}, which is a retry of {run['retry_of']}"


def _quiet(view: View) -> Iterator[str]:
    told = view.index("quiet")
    for incarnation, worker in view.workers.items():
        host, seen = worker.get("host"), int(worker.get("halt", 0))
        halts = (told[mark] for mark in ("halt *", f"halt {host}") if mark in told)
        wanted = "*" in told or host in told or any(int(halt.split("\n")[0]) > seen for halt in halts)
        if worker["state"] != "dead" and wanted != (worker.get("quiet") == "1"):
            yield f"I18 {incarnation} of {worker.get('host')} is quiet: {worker.get('quiet')}, told: {sorted(told)}"


def _tally(view: View) -> Iterator[str]:
    states = Counter(task["state"] for task in view.tasks.values())
    told = view.index("tally")
    for state in sorted(TERMINAL | PARKED):
        if states[state] != int(told.get(state, 0)):
            yield f"tally: {states[state]} tasks are {state}, told {told.get(state, 0)}"
