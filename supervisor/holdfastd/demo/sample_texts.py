"""Sample texts that every machine with Python has: passages of the standard library's sources."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

LINES = 40  # of a passage


def passages(number: int, seed: int) -> list[str]:
    """`number` passages in an order that depends on the seed; none is repeated while there are enough."""
    files = sorted(path for path in Path(os.__file__).parent.glob("*.py") if path.is_file())
    random.Random(seed).shuffle(files)
    texts = [passage for path in files for passage in _passages(path)]
    random.Random(seed).shuffle(texts)
    return [texts[index % len(texts)] for index in range(number)]


def _passages(path: Path) -> Iterator[str]:
    lines = path.read_text("utf-8", "replace").splitlines()
    for start in range(0, len(lines), LINES):
        text = "\n".join(lines[start : start + LINES])
        if text.strip():
            yield text
