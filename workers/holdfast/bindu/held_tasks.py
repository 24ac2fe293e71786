"""What the framework's workers in this process hold: they tell the storage, the scheduler waits for them.

A worker of the framework takes an operation from the scheduler, tells the storage of its states, and asks for the next
one. Here the two are one delivery: the state that ends a turn settles it, under its claim, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio

from holdfast.bindu.artifacts import document
from holdfast.core.delivery import Settlement, Verdict
from holdfast.core.outcomes import Completed, Failed, Failure, HandlerStopped, InputAsked, Outcome, Raised, Rejected

Documents = list[dict[str, Any]]


@dataclass(slots=True)
class HeldTask:
    """`state` is as its worker has it, which begins with a task that is submitted. `stopped`: it was canceled or is
    somebody else's by now, what its worker says counts no more. `over` once there is an `outcome`; `back` once its
    worker has come back or is gone; `settled` once the store has answered."""

    task_id: str
    max_bytes: int
    state: str = "submitted"
    stopped: bool = False
    artifacts: Documents = field(default_factory=Documents)
    messages: Documents = field(default_factory=Documents)
    outcome: Outcome | None = None
    over: anyio.Event = field(default_factory=anyio.Event)
    back: anyio.Event = field(default_factory=anyio.Event)
    settled: anyio.Event = field(default_factory=anyio.Event)

    def say(self, state: str, artifacts: Documents, messages: Documents) -> None:
        """Raises InvalidTaskError for what JSON does not have."""
        self.state = state
        self.artifacts += artifacts
        self.messages += messages
        if state in _OUTCOMES or state == "suspended":
            self._end(HandlerStopped("pause") if state == "suspended" else self._outcome(state))

    def stop(self) -> None:
        """Nothing of it will be settled."""
        self.stopped = True
        self.settled.set()

    def leave(self, *, gone: bool) -> None:
        """Its worker has come back without another word, or is gone."""
        if self.outcome is None:
            self._end(HandlerStopped("drain") if gone else self._outcome("completed"))
        self.back.set()

    def _end(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self.over.set()

    def _outcome(self, state: str) -> Outcome:
        kept = document(state, self.artifacts, self.messages)
        if len(kept.encoded) > self.max_bytes:
            told = f"the worker answered with {len(kept.encoded)} bytes: at most {self.max_bytes} are kept"
            return Raised(Failure("ResultError", told), final=True)
        match state:
            case "completed":
                return Completed(kept.encoded)
            case "failed":
                return Failed(kept.encoded, kept.reason)
            case "rejected":
                return Rejected(kept.encoded, kept.reason)
            case _:
                return InputAsked(state, kept.encoded)


_OUTCOMES = frozenset({"completed", "failed", "rejected", "input-required", "auth-required"})


class HeldTasks:
    """All that is held in this process, by task."""

    def __init__(self) -> None:
        self._held: dict[str, HeldTask] = {}
        self._ending: dict[str, HeldTask] = {}

    def take(self, held: HeldTask) -> None:
        self._held[held.task_id] = held

    def of(self, task_id: str) -> HeldTask | None:
        """Held and to be listened to."""
        held = self._held.get(task_id)
        return held if held and not held.stopped else None

    def drop(self, held: HeldTask) -> None:
        """It is nobody's here any more; its settlement is on its way, unless it was stopped."""
        self._held.pop(held.task_id, None)
        if not held.stopped:
            self._ending[held.task_id] = held

    def heard(self, settlement: Settlement, verdict: Verdict) -> None:
        if held := self._ending.pop(settlement.task_id, None):
            held.settled.set()

    def clear(self) -> None:
        """Nothing will be heard any more."""
        for held in (*self._held.values(), *self._ending.values()):
            held.settled.set()
        self._held.clear()
        self._ending.clear()
