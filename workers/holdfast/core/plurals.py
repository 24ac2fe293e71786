"""Counted nouns for texts that people read."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 task`, `2 tasks`; `plural` if the plural is not the noun and an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
