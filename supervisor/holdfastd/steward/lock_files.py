"""The lock files of workers: each worker holds one, named after its incarnation, for as long as it lives. Beside each
lies the page on which its worker notes what it has begun."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.core import begun_page
from holdfast.os import locks, processes
from holdfast.os.locks import is_free, marked_process, outlived
from holdfast.os.processes import boot_id

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

    def dead_process(self, incarnation: str) -> int | None:
        """The number of the worker's process, if it had locked and is gone. It may be asked for any worker."""
        path = self._path(incarnation)
        pid = marked_process(path)
        is_dead = pid is not None and not processes.runs(pid) and (is_free(path) or outlived(path))
        return pid if is_dead else None

    def begun(self, incarnation: str) -> dict[str, str] | None:
        """The tasks that a worker had begun and not reported, each with the claim under which it has ended, '' while it
        runs; None if its page does not tell."""
        return begun_page.read(locks.read_mapped(self._page(incarnation)), boot_id())

    def revoke(self, incarnation: str, request: int) -> bool:
        """Have this worker begin no claim of this request or an earlier one any more; False where it has no page. A
        task of these that it has begun all the same is on the page when a worker that runs has had a moment."""
        return locks.write_mapped(self._page(incarnation), begun_page.REVOKED, begun_page.revoked(request))

    def remove(self, incarnation: str) -> None:
        self._page(incarnation).unlink(missing_ok=True)
        self._path(incarnation).unlink(missing_ok=True)

    def _page(self, incarnation: str) -> Path:
        return self._path(incarnation).with_suffix(begun_page.SUFFIX)

    def _path(self, incarnation: str) -> Path:
        return self.folder / f"{incarnation}{SUFFIX}"
