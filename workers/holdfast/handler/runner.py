"""A runner runs a delivery by itself and returns its outcome: a command, or a worker of another framework."""

from __future__ import annotations

from typing import Protocol

from holdfast.core.messages import Message
from holdfast.core.outcomes import Outcome
from holdfast.handler.task import Task


class Runner(Protocol):
    async def run(self, task: Task, messages: list[Message]) -> Outcome:
        """One delivery. When this returns, or is cancelled, nothing of it runs any more."""
        ...
