"""What a worker process is given at its fork."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """`incarnation` is this life of the slot: 32 hex characters, never used again. `quarantine`: it claims suspects
    alone, one at a time."""

    incarnation: str
    slot: int
    settings: Settings
    quarantine: bool = False
