"""The parents of a task in words and as JSON values. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from holdfast.core.parent_results import ParentResult
from holdfast.core.plurals import counted
from holdfast.core.task_states import State

SHOWN = 5


class ParentDocument(TypedDict):
    """A task that another waits for. `state`: that of a task, or gone if it is kept no more; `bytes`: of its result."""

    task_id: str
    state: str
    has_ended: bool
    reason: str
    bytes: int


def parent_words(parents: Sequence[ParentResult]) -> str:
    """One line: each parent with its state; those that did not complete first, as they explain most."""
    ordered = sorted(parents, key=lambda parent: parent.state is State.COMPLETED)
    words = [_one(parent) for parent in ordered[:SHOWN]]
    if len(parents) > SHOWN:
        words.append(f"and {counted(len(parents) - SHOWN, 'other')}")
    return "; ".join(words)


def parent_documents(parents: Sequence[ParentResult]) -> list[ParentDocument]:
    """Each parent in the order of `after`, without its result; `bytes`: of that."""
    return [
        {
            "task_id": parent.task_id,
            "state": str(parent.state) if parent.state else "gone",
            "has_ended": parent.has_ended,
            "reason": parent.reason,
            "bytes": parent.size,
        }
        for parent in parents
    ]


def _one(parent: ParentResult) -> str:
    state = parent.state or "gone"
    if not parent.has_ended:
        return f"{parent.task_id} has not ended ({state})"
    why = f": {parent.reason}" if parent.reason and parent.state is not State.COMPLETED else ""
    return f"{parent.task_id} {state}{why}"
