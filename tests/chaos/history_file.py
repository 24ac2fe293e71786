"""Append-only histories: one JSON document a line, written whole, by any number of processes into one file."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def write(path: Path | str, **fields: object) -> None:
    """One line with the time of now (`at`: CLOCK_MONOTONIC, the same for all processes), written at once."""
    line = json.dumps({"at": time.monotonic(), "wall": time.time(), **fields}).encode() + b"\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def read(path: Path) -> list[Line]:
    """The lines so far, in the order in which they were written."""
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
