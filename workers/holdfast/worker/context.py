"""What the parts of one worker share: who it is, its store, its half of the protocol, what has befallen it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from holdfast.core.delivery import Settlement, Verdict
from holdfast.core.pull_protocol import Exchange
from holdfast.store.protocol import Store
from holdfast.worker.spec import WorkerSpec
from holdfast.worker.store_retries import StoreRetries


def nobody(settlement: Settlement, verdict: Verdict) -> None:
    """Nobody waits to hear what became of a settlement."""


@dataclass(slots=True)
class WorkerContext:
    """`draining`: claims nothing any more. `fenced`: the store says DEAD, somebody else owns its tasks by now.
    `unknown`: the store has lost this incarnation. `stuck`: a thread will not stop.
    `ready`: whether whoever runs tasks would begin one now; `heard` is told what the store made of each settlement."""

    spec: WorkerSpec
    store: Store
    exchange: Exchange
    insist: StoreRetries = field(default_factory=StoreRetries)
    draining: anyio.Event = field(default_factory=anyio.Event)
    fenced: anyio.Event = field(default_factory=anyio.Event)
    unknown: anyio.Event = field(default_factory=anyio.Event)
    stuck: anyio.Event = field(default_factory=anyio.Event)
    ready: Callable[[], bool] = lambda: True
    heard: Callable[[Settlement, Verdict], None] = nobody

    @property
    def incarnation(self) -> str:
        return self.spec.incarnation
