"""I15: whatever points at a task is pointed back at by it, and nothing points at one that has ended.

A task waits for others exactly as long as these know it as their child and it has not ended; a parent that has ended
and has children left is on the agenda, and so is every time at which something is to be done.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.lua.view import View

TERMINAL = frozenset({"completed", "failed", "rejected", "canceled"})


def ties_breaches(view: View) -> Iterator[str]:
    for task_id, task in view.tasks.items():
        ties = set(view.items(f"ties:{task_id}"))
        if task["state"] in TERMINAL:
            if ties:
                yield f"I15 {task_id} is {task['state']} and has ties {sorted(ties)}"
        else:
            yield from _family(view, task_id, task, ties)
            yield from _expiry(view, task_id, task, ties)
        yield from _in_time(view, task_id, task)
        yield from _parents(view, task_id, task, ties)
    yield from _children(view)
    yield from _keys(view, "unique")
    yield from _keys(view, "debounce")
    yield from _agenda(view)


def _family(view: View, task_id: str, task: dict[str, str], ties: set[str]) -> Iterator[str]:
    parents = {one.removeprefix("parent|") for one in ties if one.startswith("parent|")}
    batch = [one for one in ties if one.startswith("callback|")]
    if len(parents) + len(batch) != int(task.get("waits_for", 0)):
        yield f"I15 {task_id} waits for {task.get('waits_for')}, its ties are {sorted([*parents, *batch])}"
    if task["state"] == "waiting" and not parents and not batch:
        yield f"I15 {task_id} waits for nobody"
    if parents and task["state"] not in {"waiting", "suspended"}:
        yield f"I15 {task_id} is {task['state']} and waits for {sorted(parents)}"
    for parent in parents:
        if task_id not in view.index(f"children:{parent}"):
            yield f"I15 {task_id} waits for {parent}, which does not know it"


def _parents(view: View, task_id: str, task: dict[str, str], ties: set[str]) -> Iterator[str]:
    """A child has the end of each parent that it no longer waits for, with the result of one that completed."""
    for parent, noted in view.index(f"parents:{task_id}").items():
        ended = noted.partition(" ")[2]
        waits = f"parent|{parent}" in ties
        if waits and ended:
            yield f"I15 {task_id} waits for {parent}, and has its end"
        if not (waits or ended or task["state"] in TERMINAL or "retry_of" in task):
            yield f"I15 {task_id} no longer waits for {parent}, and does not have its end"
        if ended:
            yield from _outcome(view, task_id, parent, ended)


def _outcome(view: View, task_id: str, parent: str, ended: str) -> Iterator[str]:
    outcome = view.index(f"outcome:{parent}:{ended}")
    if f"child:{task_id}" not in outcome:
        yield f"I15 {task_id} has the end of {parent}, which does not know it"
        return
    there = view.tasks.get(parent, {})
    kept = f"given:{parent}:{ended}" in view.rest or (
        there.get("finished") == ended and f"result:{parent}:{outcome['turn']}" in view.rest
    )
    if outcome["state"] == "completed" and not kept:
        yield f"I15 {task_id} has the end of {parent} without its result"
    if there.get("finished") == ended and "given" not in there and f"given:{parent}:{ended}" not in view.rest:
        yield f"I15 {parent} does not know that others have its result"


def _expiry(view: View, task_id: str, task: dict[str, str], ties: set[str]) -> Iterator[str]:
    """On the agenda at its time until it is first claimed."""
    expires = task.get("expires")
    waits = expires is not None and task.get("delivery", "0") == "0"
    at = view.index("agenda").get(f"expire|{task_id}")
    if (
        waits != ("expires|" in ties)
        or waits != (at is not None)
        or (waits and int(float(at or 0)) != int(expires or 0))
    ):
        yield f"I15 {task_id} ({task['state']}) expires at {expires}, on the agenda at {at}, ties {sorted(ties)}"


def _in_time(view: View, task_id: str, task: dict[str, str]) -> Iterator[str]:
    """Tasks are claimed before they expire."""
    claimed = next((line for line in view.items(f"trail:{task_id}") if " claimed 1:" in line), None)
    if claimed and int(claimed.partition(" ")[0]) >= int(task.get("expires") or 2**63):
        yield f"I15 {task_id} expired at {task['expires']}: {claimed}"


def _children(view: View) -> Iterator[str]:
    for parent, children in view.named("children:").items():
        for child in children:
            if f"parent|{parent}" not in view.items(f"ties:{child}"):
                yield f"I15 {parent} knows the child {child}, which does not wait for it"
        ended = view.tasks.get(parent, {}).get("state") in TERMINAL
        if ended and f"settle|{parent}" not in view.index("agenda"):
            yield f"I15 {parent} has ended, nobody is to tell its children {sorted(children)}"


def _keys(view: View, kind: str) -> Iterator[str]:
    """A key is held by a task that knows it, or until a time on the agenda."""
    for key, held in view.index(kind).items():
        holder, _, till = held.partition("|")
        on_agenda = view.index("agenda").get(f"forget|{key}")
        if till and (on_agenda is None or int(float(on_agenda)) != int(float(till))):
            yield f"I15 the {kind} key of {holder} is held until {till}, on the agenda at {on_agenda}"
        if not till and f"{kind}|{key}" not in view.items(f"ties:{holder}"):
            yield f"I14 the {kind} key of {holder} is held for ever"
    for task_id, ties in view.named("ties:").items():
        for one in ties:
            if (
                one.startswith(f"{kind}|")
                and view.index(kind).get(one.partition("|")[2], "").partition("|")[0] != task_id
            ):
                yield f"I15 {task_id} holds {one}, which another has"


def _agenda(view: View) -> Iterator[str]:
    """No entry stays that nothing explains; of a key, its first time may."""
    for item in view.index("agenda"):
        what, _, name = item.partition("|")
        if what == "expire" and "expires|" not in view.items(f"ties:{name}"):
            yield f"I14 {item} on the agenda, {view.tasks.get(name, {}).get('state')}"
        if what == "settle" and not view.index(f"children:{name}"):
            yield f"I14 {item} on the agenda, it has no children"
