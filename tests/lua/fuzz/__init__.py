"""A random play against the real scripts on a virtual clock: producers, workers, a steward, and everything that goes
wrong between them. `python -m tests.lua.fuzz SEED STEPS [rollback]` plays one seed; `play` is the library."""

from __future__ import annotations

from tests.lua.fuzz.play import play
from tests.lua.fuzz.world import BreachError

__all__ = ["BreachError", "play"]
