"""What a steward is started with."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast_config import Settings


@dataclass(frozen=True, slots=True)
class StewardSpec:
    """`first`: no steward of this parent was ready before, so the store must pass preflight or the service ends."""

    settings: Settings
    first: bool
