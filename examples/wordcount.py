"""Counts lines and words: of the file that the message names, or of the message itself.

`supervisor start examples.wordcount:handle`, then `supervisor submit /usr/share/common-licenses/GPL-3`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from holdfast import Reject, Task

COMMONEST = 10
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


def handle(messages: list[dict[str, Any]], task: Task) -> dict[str, Any] | None:
    """How many lines and words, and the commonest words with their counts."""
    text = _text(messages)
    path = _file(text)
    if path is None:
        return _count(text.splitlines(), task)
    try:
        # Any bytes are text enough to count; what is no UTF-8 becomes a replacement character.
        with path.open(encoding="utf-8", errors="replace") as file:
            return _count(file, task)
    except PermissionError as error:
        raise Reject(f"cannot read {path}: {error.strerror}") from error


def _text(messages: list[dict[str, Any]]) -> str:
    parts: list[dict[str, Any]] = messages[-1]["parts"] if messages else []
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    if not texts:
        raise Reject("send a path or a text")
    return "\n".join(texts)


def _file(text: str) -> Path | None:
    """The regular file of this name, if there is one; a text may well be no possible name."""
    try:
        return Path(text) if Path(text).is_file() else None
    except (OSError, ValueError):
        return None


def _count(lines: Iterable[str], task: Task) -> dict[str, Any] | None:
    words: Counter[str] = Counter()
    number = 0
    for number, line in enumerate(lines, start=1):
        words.update(word.lower() for word in _WORD.findall(line))
        if number % 1000 == 0:
            task.progress(number)
            if task.cancelled:
                return None
    return {"lines": number, "words": words.total(), "common": _commonest(words)}


def _commonest(words: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first, equal ones by the alphabet, so that every run gives the same."""
    return sorted(words.items(), key=lambda item: (-item[1], item[0]))[:COMMONEST]
