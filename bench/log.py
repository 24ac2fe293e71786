"""The supervisor's log as it grows: which process was ready when."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple


class Ready(NamedTuple):
    """`at`: Unix time at which the supervisor heard of it."""

    slot: str
    pid: int
    at: float


@dataclass(slots=True)
class Log:
    path: Path
    _read: int = 0
    _ready: list[Ready] = field(default_factory=list[Ready])

    def of_pid(self, pid: int) -> Ready:
        """When this process became ready."""
        return next(ready for ready in self._look() if ready.pid == pid)

    def after(self, before: Ready) -> Ready | None:
        """When the next process in this one's slot became ready."""
        return next((ready for ready in self._look() if ready.slot == before.slot and ready.at > before.at), None)

    def _look(self) -> list[Ready]:
        with self.path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                self._note(line)
        return self._ready

    def _note(self, line: bytes) -> None:
        if line.startswith(b"{") and (said := json.loads(line)).get("event") == "ready":
            at = datetime.fromisoformat(said["timestamp"]).timestamp()
            self._ready.append(Ready(said["slot"], said["pid"], at))
