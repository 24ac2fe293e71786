"""I14: every key of the namespace belongs to something that is there."""

from __future__ import annotations

from collections.abc import Iterator

from tests.lua.view import View

OF_TASKS = (
    "op",
    "history",
    "checkpoint",
    "pending",
    "left",
    "messages",
    "trail",
    "ties",
    "children",
    "retrying",
    "steps",
    "parents",
    "parts",
)
OF_WORKERS = ("running", "last", "inbox")
SINGLE = frozenset(
    [
        "workers",
        "seq",
        "heads",
        "turned",
        "wrong_end",
        "due",
        "waiting",
        "agenda",
        "leftover",
        "joining",
        "unique",
        "debounce",
        "quarantine",
        "apart",
        "ahead",
        "deaths",
        "cancels",
        "parked",
        "finished",
        "dead",
        "unreadable",
        "activity",
        "depths",
        "web_sessions",
        "bulk_changes",
        "events",
        "counters",
        "tally",
        "meta",
        "turns",
        "rules",
        "rates",
        "closed",
        "quiet",
        "gated",
        "stale",
        "tended",
        "alarms",
        "control:steward",
        "control:schedules",
        "schedules",
        "webhooks",
        "given_up",
        "receivers",
        "receivers_prompt",
        "receivers_turn",
        "prompt",
        "control:webhooks",
        "batches",
        "batch_looks",
        "batches_ended",
        "abouts",
        "noted",
        "conversations",
        "pushes",
        "handlers",
        "published",
        "catalog_digests",
        "declared",
        "unserved",
        "clocks",
        "asked",
        "answers",
        "reporter",
        "errors",
    ]
)
OF_ABOUTS = ("about", "added", "feedback")
OF_LANES = ("submitted", "suspects", "bell", "audit", "lane", "gates", "active", "unknown")
CHECKED = ("held", "keyed", "rollup", "rollups")  # by the gates; rollups belong to nothing, and expire


def orphans(view: View) -> Iterator[str]:
    for key in view.rest:
        kind, _, name = key.partition(":")
        if key not in SINGLE and not _belongs(view, kind, name):
            yield f"I14 {key} belongs to nothing"


def ends_of_parents(view: View, child: str) -> set[str]:
    """The outcomes that a task has of its parents."""
    noted = (f"{parent} {held}".split(" ") for parent, held in view.index(f"parents:{child}").items())
    return {f"{parent}:{ended[0]}" for parent, _, *ended in noted if ended}


def _belongs(view: View, kind: str, name: str) -> bool:
    if kind == "task" or kind in OF_TASKS:
        return name in view.tasks
    if kind == "result":
        task_id, _, turn = name.rpartition(":")
        return int(turn) <= int(view.tasks.get(task_id, {}).get("turn", 0))
    if kind == "outcome":
        return any(name in ends_of_parents(view, child) for child in view.tasks)
    if kind == "given":
        return f"outcome:{name}" in view.rest
    if kind == "worker":
        incarnation, _, part = name.partition(":")
        return incarnation in view.workers and part in {"", *OF_WORKERS}
    if kind in OF_ABOUTS:
        return name in view.index("abouts")
    if kind == "conversation":
        return name.removesuffix(":tasks") in view.index("conversations")
    if kind == "death":
        return name in view.index("deaths")
    if kind == "webhook":
        return name in view.index("webhooks")
    if kind == "receiver":
        return view.index(f"receiver:{name}").keys() <= view.index("webhooks").keys()
    if kind in {"error", "error_tasks", "errors_of"}:
        return True  # see errors_breaches
    if kind in {"batch", "batch_tasks"}:
        return name in view.index("batches")
    if kind in {"schedule", "fires"}:
        return name in view.index("schedules")
    if kind == "names":
        return name in view.items("handlers")
    if kind == "catalog":
        return name in view.items("catalog_digests")
    if kind == "owner":
        return set(view.index(f"owner:{name}")) <= set(view.index("schedules"))
    if kind == "control":
        return name in view.workers or view.ttl[f"control:{name}"] >= 0
    return kind.partition("@")[0] in (*OF_LANES, *CHECKED, "owned")
