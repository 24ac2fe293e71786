"""WorkerRoster keeps the parent's reports about its workers: which ones live, which living ones are silent, and which
have died while the store has not recorded their death yet.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import anyio

from holdfast.core import begun_page
from holdfast.ipc.channel import Born, Died, Silent
from holdfast.os import locks, processes
from holdfast.os.locks import is_free, marked_process, outlived
from holdfast.os.processes import boot_id


class WorkerRoster:
    """The workers of this parent. It keeps deaths in the order of their reports, and ignores repeated reports."""

    def __init__(self) -> None:
        self._living: dict[str, None] = {}
        self._silent: dict[str, None] = {}
        self._dead: OrderedDict[str, Died] = OrderedDict()
        self._changed = anyio.Event()

    @property
    def living(self) -> tuple[str, ...]:
        return tuple(self._living)

    def knows(self, incarnation: str) -> bool:
        """True if the parent has reported this worker, and it lives or its death is not recorded yet."""
        return incarnation in self._living or incarnation in self._dead

    def worker_started(self, message: Born) -> None:
        self._living[message.incarnation] = None
        self._announce()

    def worker_silent(self, message: Silent) -> None:
        if message.incarnation in self._living:
            self._silent[message.incarnation] = None
            self._announce()

    def take_silent(self) -> tuple[str, ...]:
        """The living workers that the parent has reported as silent since the last call."""
        silent, self._silent = tuple(name for name in self._silent if name in self._living), {}
        return silent

    def worker_died(self, death: Died) -> None:
        self._living.pop(death.incarnation, None)
        self._dead.setdefault(death.incarnation, death)
        self._announce()

    def worker_lost(self, incarnation: str) -> None:
        """Remove a worker that was recovered although the parent has not reported its death. From then on its lease is
        not renewed."""
        self._living.pop(incarnation, None)
        self._announce()

    def first_dead(self) -> Died | None:
        return next(iter(self._dead.values()), None)

    def remove(self, incarnation: str) -> None:
        """Forget a worker's death, because the store has recorded it."""
        del self._dead[incarnation]
        self._announce()

    def defer(self, incarnation: str) -> None:
        """Move this death to the end of the list, so that the other deaths are recorded first."""
        self._dead.move_to_end(incarnation)

    async def wait_for_change(self, within: float) -> None:
        """Wait at most `within` seconds until one of the reports about workers changes this list."""
        with anyio.move_on_after(within):
            await self._changed.wait()

    async def all_recorded(self) -> None:
        """Wait until no death is left to be recorded."""
        while self._dead:
            await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


# The lock files of workers. A worker holds a lock on its file, named after its incarnation, as long as it lives. Beside
# the file is a page on which the worker notes the tasks that it has begun.

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
        """True if no process holds the lock. Do not call this for a worker that may be about to take its lock: the
        check itself holds the lock for a moment."""
        return is_free(self._path(incarnation))

    def is_dead(self, incarnation: str) -> bool:
        """True if the worker's process is gone, even if a child that it forked still holds the lock. Like `is_free`,
        this may lock the file for a moment."""
        path = self._path(incarnation)
        return is_free(path) or outlived(path)

    def dead_process(self, incarnation: str) -> int | None:
        """The pid of a worker that held its lock and is gone; None for others. This is safe for any worker."""
        path = self._path(incarnation)
        pid = marked_process(path)
        is_dead = pid is not None and not processes.runs(pid) and (is_free(path) or outlived(path))
        return pid if is_dead else None

    def begun(self, incarnation: str) -> dict[str, str] | None:
        """The tasks that a worker has begun and not yet settled, by id. The value is the claim under which the task has
        ended, or '' if it still runs. None if the page (the part of a file on which the worker notes these tasks)
        cannot be used."""
        return begun_page.read(locks.read_mapped(self._page(incarnation)), boot_id())

    def revoke(self, incarnation: str, request: int) -> bool:
        """Forbid this worker to begin tasks that it has claimed with this request or an earlier one. Returns False if
        the worker has no page (the part of a file on which it notes the tasks that it begins). A task that the worker
        begins at the same moment is on the page after SEEN_WITHIN."""
        return locks.write_mapped(self._page(incarnation), begun_page.REVOKED, begun_page.revoked(request))

    def remove(self, incarnation: str) -> None:
        self._page(incarnation).unlink(missing_ok=True)
        self._path(incarnation).unlink(missing_ok=True)

    def _page(self, incarnation: str) -> Path:
        return self._path(incarnation).with_suffix(begun_page.SUFFIX)

    def _path(self, incarnation: str) -> Path:
        return self.folder / f"{incarnation}{SUFFIX}"
