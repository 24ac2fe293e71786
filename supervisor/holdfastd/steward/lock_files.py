"""The lock files of workers: each worker holds one, named after its incarnation, for as long as it lives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.os.locks import is_free, outlived

SUFFIX = ".lock"
_INCARNATION = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class LockFiles:
    folder: Path

    def incarnations(self) -> frozenset[str]:
        """The incarnations that have a lock file; files with other names are ignored."""
        names = (path.stem for path in self.folder.glob(f"*{SUFFIX}"))
        return frozenset(name for name in names if _INCARNATION.fullmatch(name))

    def is_free(self, incarnation: str) -> bool:
        """True if no process holds the lock. Never ask for a worker that may be about to lock: the check itself locks
        for a moment."""
        return is_free(self._path(incarnation))

    def is_dead(self, incarnation: str) -> bool:
        """True if the worker's process is gone, even if a child that it forked still holds the lock. The same caution
        applies."""
        path = self._path(incarnation)
        return is_free(path) or outlived(path)

    def remove(self, incarnation: str) -> None:
        self._path(incarnation).unlink(missing_ok=True)

    def _path(self, incarnation: str) -> Path:
        return self.folder / f"{incarnation}{SUFFIX}"
