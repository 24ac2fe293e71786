"""A worker process as the store sees it: the product's half of the protocol, and a life that may end at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.core.exchange import Exchange
from holdfast.core.records import WorkerKind

CAPACITY = 4  # slots: tasks at once


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
