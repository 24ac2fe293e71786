"""I19: a batch counts each of its tasks once, in the band of the state that its record says; when it is sealed and none
is open it has ended, and its callback no longer waits for it.

A record says the batch of its task, so the counts are held against the records. A task whose record was deleted stays
counted; one that was retried stands apart, with the retry at its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.lua.view import View

BAND = 2**40
ENDS = ("open", "completed", "failed", "rejected", "canceled", "retried", "gone")


def batches_breaches(view: View) -> Iterator[str]:
    batches = set(view.index("batches"))
    open_ones, ended = set(view.index("batch_looks")), set(view.index("batches_ended"))
    if open_ones & ended or open_ones | ended != batches:
        yield f"I19 of {sorted(batches)}, {sorted(open_ones)} have not ended, {sorted(ended)} have"
    for batch in sorted(batches):
        yield from _batch(view, batch, ended=batch in ended)
    for task_id, task in view.tasks.items():
        yield from _task(view, task_id, task)


def _batch(view: View, batch: str, *, ended: bool) -> Iterator[str]:
    facts, tasks = view.index(f"batch:{batch}"), _ends(view, batch)
    first = [end for end in tasks.values() if end != "retried"]
    if int(facts["submitted"]) != len(first):
        yield f"I19 batch {batch} has {facts['submitted']} tasks, {len(first)} stand there"
    if not facts.get("sealed") and int(facts["submitted"]) >= int(facts["expected"]):
        yield f"I19 batch {batch} has all its {facts['expected']} tasks and is not sealed"
    if ended != ("ended" in facts):
        yield f"I19 batch {batch} has ended: {ended}, its record says {facts.get('ended')}"
    if not ended and facts.get("sealed") and "open" not in first:
        yield f"I19 batch {batch} is sealed, no task is open, and it has not ended"
    callback = facts.get("callback", "")
    if ended and f"callback|{batch}" in view.items(f"ties:{callback}"):
        yield f"I19 batch {batch} has ended, and {callback} waits for it"


def _ends(view: View, batch: str) -> dict[str, str]:
    return {task_id: ENDS[int(float(score)) // BAND] for task_id, score in view.index(f"batch_tasks:{batch}").items()}


def _task(view: View, task_id: str, task: Mapping[str, str]) -> Iterator[str]:
    place, _, rest = task.get("batch", "").partition(" ")
    batch = rest.rpartition(" ")[2]
    if not batch or batch not in view.index("batches"):
        return
    if place == "0":
        return
    told = _ends(view, batch).get(task_id)
    state = task["state"] if task["state"] in ENDS else "open"
    right = {"retried"} if "retried_as" in task else {state}
    if told not in right:
        yield f"I19 {task_id} is {task['state']}, its batch {batch} has it as {told}"
    if (f"batch|{batch}" in view.items(f"ties:{task_id}")) != (state == "open"):
        yield f"I19 {task_id} is {task['state']}, its ties are {sorted(view.items(f'ties:{task_id}'))}"
