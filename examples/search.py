"""Asks back: the message names a file, the answer to its question a word to look for; it asks again if there is none.

`supervisor start examples.search:handle`, then `supervisor submit --wait --task-id s1 /usr/share/common-licenses/GPL-3`
and, once it has asked, `supervisor submit --wait --task-id s1 warranty`
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from holdfast import Reject

MOST = 20  # lines in a result


def handle(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Each answer is a turn of the same task: the handler is called anew, with all messages so far."""
    path, *words = [_text(message) for message in messages if message["role"] == "user"]
    lines = _lines(Path(path))
    if not words:
        return _ask(f"{path} has {len(lines)} lines; which word shall be looked for?")
    word = words[-1]
    found = {number: line.strip() for number, line in enumerate(lines, start=1) if word in line}
    if not found:
        return _ask(f"no line has {word!r}; which other word?")
    return {"word": word, "found": dict(islice(found.items(), MOST))}


def _ask(question: str) -> dict[str, Any]:
    return {"state": "input-required", "prompt": question}


def _text(message: dict[str, Any]) -> str:
    try:
        return str(message["parts"][0]["text"])
    except (LookupError, TypeError):
        raise Reject("send a text") from None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except (OSError, ValueError) as error:
        raise Reject(f"cannot read {path}: {error}") from error
