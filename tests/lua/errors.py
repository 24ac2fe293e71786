"""Kinds of errors: a task stands in the index of the kind that its record names, and nowhere else (I3, I14)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.lua.view import View

KINDS = 200  # of one handler, and the kind `other`
BAND = 4398046511104


def errors_breaches(view: View) -> Iterator[str]:
    named = {task_id: task["error"].partition(" ")[0] for task_id, task in view.tasks.items() if task.get("error")}
    listed = {(task_id, kind) for kind, held in view.named("error_tasks:").items() for task_id in held}
    for task_id, kind in listed ^ set(named.items()):
        yield f"I3 {task_id} failed with {named.get(task_id)}, index of {kind}: {(task_id, kind) in listed}"
    kinds, of_handlers = set(named.values()), view.named("errors_of:")
    for name, found in {
        "errors": set(view.index("errors")),
        "error": set(view.named("error:")),
        "errors_of": {kind for held in of_handlers.values() for kind in held},
    }.items():
        if found != kinds:
            yield f"I14 {name} has {found}, tasks have {kinds}"
    for handler, held in of_handlers.items():
        if len(held) > KINDS + 1:
            yield f"handler {handler} has {len(held)} kinds of errors"
    for kind, held in view.named("error_tasks:").items():
        for task_id, score in held.items():
            yield from _band(view, task_id, kind, int(float(score)) // BAND)


def _band(view: View, task_id: str, kind: str, band: int) -> Iterator[str]:
    task = view.tasks.get(task_id, {})
    waits = task.get("state") in {"failed", "rejected"} and not task.get("retried_as")
    wanted = 0 if not waits else 2 if task_id in view.index("dead") else 1
    if task and band != wanted:
        yield f"I3 {task_id} is {task.get('state')}, and in band {band} of kind {kind}, not {wanted}"
