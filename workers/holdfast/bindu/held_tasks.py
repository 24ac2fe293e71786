"""The tasks that the framework's workers in this process hold now.

A worker of the framework takes an operation from the scheduler, writes states to the storage, and asks the scheduler
for the next operation. For Holdfast this is one delivery. The state that ends the turn becomes the outcome of the
delivery.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio

from holdfast.bindu.task_view import result_document
from holdfast.core.delivery import Settlement, Verdict
from holdfast.core.outcomes import Completed, Failed, Failure, HandlerStopped, InputAsked, Outcome, Raised, Rejected

Documents = list[dict[str, Any]]


@dataclass(slots=True)
class HeldTask:
    """A task that a worker of the framework holds. `state`: the state that this worker wrote last, at first submitted.
    `stopped`: the outcome is ignored, because the task was canceled or another worker owns it. `over` is set together
    with `outcome`. `back` is set when the framework's worker has asked for its next task, or is gone. `settled` is set
    when the store has answered the report of the outcome."""

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

    def take_state(self, state: str, artifacts: Documents, messages: Documents) -> None:
        """Record a state that the worker wrote, with its artifacts and messages. A state that ends the turn makes the
        outcome. Raises InvalidTaskError if JSON cannot hold the artifacts or messages."""
        self.state = state
        self.artifacts += artifacts
        self.messages += messages
        if state in _OUTCOMES or state == "suspended":
            self._end(HandlerStopped("pause") if state == "suspended" else self._outcome(state))

    def stop(self) -> None:
        """Ignore the outcome of the task."""
        self.stopped = True
        self.settled.set()

    def leave(self, *, gone: bool) -> None:
        """Record that the worker has asked for the next task, or is gone."""
        if self.outcome is None:
            self._end(HandlerStopped("drain") if gone else self._outcome("completed"))
        self.back.set()

    def _end(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self.over.set()

    def _outcome(self, state: str) -> Outcome:
        answer = result_document(state, self.artifacts, self.messages)
        if len(answer.encoded) > self.max_bytes:
            problem = f"the worker answered with {len(answer.encoded)} bytes: at most {self.max_bytes} are kept"
            return Raised(Failure("ResultError", problem), final=True)
        match state:
            case "completed":
                return Completed(answer.encoded)
            case "failed":
                return Failed(answer.encoded, answer.reason)
            case "rejected":
                return Rejected(answer.encoded, answer.reason)
            case _:
                return InputAsked(state, answer.encoded)


_OUTCOMES = frozenset({"completed", "failed", "rejected", "input-required", "auth-required"})


class HeldTasks:
    """All tasks that workers in this process hold, by id."""

    def __init__(self) -> None:
        self._held: dict[str, HeldTask] = {}
        self._ending: dict[str, HeldTask] = {}

    def take(self, held: HeldTask) -> None:
        self._held[held.task_id] = held

    def of(self, task_id: str) -> HeldTask | None:
        """The held task with this id; None if no worker here holds the task, or if the task was stopped."""
        held = self._held.get(task_id)
        return held if held and not held.stopped else None

    def drop(self, held: HeldTask) -> None:
        """Remove a task that its worker no longer holds. If the task was not stopped, it is still remembered until the
        store has answered the report of its outcome."""
        self._held.pop(held.task_id, None)
        if not held.stopped:
            self._ending[held.task_id] = held

    def take_verdict(self, settlement: Settlement, verdict: Verdict) -> None:
        if held := self._ending.pop(settlement.task_id, None):
            held.settled.set()

    def clear(self) -> None:
        """Forget all tasks, and end every wait for a settlement."""
        for held in (*self._held.values(), *self._ending.values()):
            held.settled.set()
        self._held.clear()
        self._ending.clear()
