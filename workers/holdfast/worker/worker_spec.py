"""The identity and the order that a worker process gets at its fork."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.core.worker_records import WorkerKind

if TYPE_CHECKING:
    from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """`incarnation`: 32 hex characters, new for each fork and never used again. `kind`: which tasks it claims. `halt`:
    for a process that ends at halts, the number of the last halt before its start."""

    incarnation: str
    slot: int
    settings: Settings
    kind: WorkerKind = WorkerKind.SINGLE
    halt: int | None = None

    @property
    def quarantine(self) -> bool:
        """True if it claims suspects only, one at a time."""
        return self.kind is WorkerKind.QUARANTINE

    @property
    def capacity(self) -> int:
        """The number of tasks that it runs at a time."""
        return 1 if self.quarantine else self.settings.concurrency
