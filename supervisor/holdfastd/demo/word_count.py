"""The demonstration's handler: it counts the words of a text, slowly enough to be killed in the middle."""

from __future__ import annotations

import time
from typing import Any

import anyio

PIECES = 4
PAUSE = 0.03  # seconds after each piece


async def handle(messages: list[dict[str, Any]]) -> dict[str, float]:
    """The number of words, and the start (Unix time) of this run."""
    began = time.time()
    text: str = messages[-1]["parts"][0]["text"]
    size = -(-len(text) // PIECES) or 1
    words = 0
    before = " "
    for start in range(0, len(text), size):
        piece = text[start : start + size]
        words += count(piece) - joined(before, piece)
        before = piece
        await anyio.sleep(PAUSE)
    return {"words": words, "began": began}


def count(text: str) -> int:
    """The number of words: runs of characters between white space."""
    return len(text.split())


def joined(before: str, after: str) -> bool:
    """True if a word was cut in two between these pieces."""
    return not before[-1:].isspace() and not after[:1].isspace()
