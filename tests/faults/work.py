"""Work for a pool under test: submissions of our own producers, entries of foreign ones, a pipe to end a handler."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from holdfast.core.acceptance import Submission
from holdfast.core.messages import text_part
from tests.envelopes import build_run

QUEUE = "faults"


def submission(task_id: str, text: str, lane: str = QUEUE, **options: Any) -> Submission:
    built = build_run(task_id, [text_part(text)])
    return Submission(task_id, built.message_id, built.digest, built.operation, lane, **options)


def entry(task_id: str, text: str) -> bytes:
    """The entries of a foreign producer."""
    part = {"kind": "text", "text": text}
    message: dict[str, Any] = {
        "message_id": f"m-{task_id}",
        "kind": "message",
        "role": "user",
        "parts": [part],
        "metadata": {},
    }
    params: dict[str, Any] = {"task_id": task_id, "context_id": task_id, "message": message, "history_length": 5}
    return json.dumps({"operation": "run", "params": params, "trace_id": None, "span_id": None}).encode()


def named_pipe(folder: Path) -> Path:
    """For the verb `pipe`: opening it to write waits for the handler, closing it ends the handler."""
    path = folder / "pipe"
    os.mkfifo(path)
    return path
