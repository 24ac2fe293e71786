"""A worker process as the store sees it: the product's half of the protocol, and a life that may end at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.core.pull_protocol import Exchange, Request
from holdfast.core.worker_records import WorkerKind
from tests.lua.messages import message_of

CAPACITY = 4  # slots: tasks at once
AHEAD = 4  # tasks besides that a worker of a pool may have claimed


@dataclass(slots=True)
class Process:
    """`names` of its handlers; None: it runs tasks of any name."""

    incarnation: str
    lanes: Sequence[str]
    weights: Sequence[int] = ()
    kind: WorkerKind = WorkerKind.WORKER
    exchange: Exchange = field(default_factory=lambda: Exchange(CAPACITY))
    names: frozenset[str] | None = None
    draining: bool = False
    inbox: bool = False
    runs: dict[str, int] = field(default_factory=dict[str, int])  # by claim: the number of the run
    emitted: Counter[str] = field(default_factory=Counter[str])  # by claim: the number of the last part
    waited: int = 0  # tasks that an earlier send of the present request may have claimed, behind a wait for a bell
    handlers: dict[str, bytes] = field(default_factory=dict[str, bytes])  # by task: the operation that was begun

    @property
    def begun(self) -> list[str]:
        """The tasks that it runs: the first that it has claimed."""
        return list(self.exchange.held)[:CAPACITY]

    @property
    def waiting(self) -> list[str]:
        """The tasks that it has claimed and not begun."""
        return list(self.exchange.held)[CAPACITY:]

    @property
    def room(self) -> int:
        """The most that it may claim ahead now."""
        if self.draining or self.kind is not WorkerKind.WORKER:
            return 0
        return max(0, CAPACITY + AHEAD - len(self.exchange.held) - self.exchange.free)

    @property
    def may_wait(self) -> bool:
        """True if its next pull may wait for a bell."""
        return self.kind is WorkerKind.WORKER and not self.draining and self.exchange.settled

    def next_request(self, most: int, ahead: int) -> Request:
        if not self.exchange.in_flight:
            self.waited = self.exchange.waiting.slots if self.exchange.waiting else 0
        return self.exchange.next_request(most, ahead)

    def outcome(self, task_id: str) -> bytes:
        """The result of the handler: the message that it was begun with."""
        return message_of(self.handlers[task_id].decode(errors="surrogateescape")).encode()
