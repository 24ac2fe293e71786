"""The checks after every case, from one atomic look: nothing is lost, nothing committed twice (I1 to I14)."""

from __future__ import annotations

from typing import Any

from holdfast.core.pull_protocol import MOST
from tests.lua.history import History
from tests.lua.invariants import breaches
from tests.lua.view import View

Snapshot = dict[str, Any]


def check(snapshot: Snapshot, queue: str, concurrency: int) -> None:
    history = History()
    history.tell(content(snapshot, f"{{{queue}}}:events", []))
    broken = breaches(snapshot, queue, concurrency=concurrency + MOST) + history.breaches
    broken += history.states_breaches(View.of(snapshot, queue).tasks)
    assert not broken, "\n".join(broken)


def of_kind(snapshot: Snapshot, prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value["content"] for key, value in snapshot.items() if key.startswith(prefix)}


def content(snapshot: Snapshot, key: str, missing: Any = None) -> Any:
    found = snapshot.get(key)
    return found["content"] if found else missing
