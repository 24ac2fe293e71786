"""The same random commands to several stores, answers compared.

`python -m tests.conformance.fuzz --seeds 1-50 --steps 2000` plays many; it names the seed and the first difference.
"""

from __future__ import annotations

from tests.conformance.fuzz.play import DifferenceError, play

__all__ = ["DifferenceError", "play"]
