"""The supervisor on this host that serves the queue: finds it, and sends it orders that only a supervisor can carry
out (scale, stacks).
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from holdfast.os import stack_file
from holdfast.os.stack_file import Stacks
from holdfast_config import Settings, service_folders
from holdfast_config.trust import is_trusted
from holdfastd.control import socket_protocol as protocol
from holdfastd.control.client import ask, status_or_none
from holdfastd.control.socket_protocol import ControlError, ProcessStatus, SupervisorStatus
from holdfastd.core.slots import CLAIMING, ChildKind, ChildPhase

ANSWER_TIMEOUT = 1.0  # seconds
WRITTEN_WITHIN = 5.0  # seconds for a worker to write its stacks
QUIET = 0.1  # seconds: if no other line comes within this time, the stacks of threads are complete
TASKS_WITHIN = 1.0  # seconds for the stacks of tasks, which do not come while a worker hangs


@dataclass(frozen=True, slots=True)
class Found:
    """A supervisor that has answered. `folder`: its runtime folder; `status`: its answer."""

    folder: Path
    status: SupervisorStatus

    @property
    def workers(self) -> list[ProcessStatus]:
        """The workers that have booted, quarantine workers included."""
        return [each for each in self.status.processes if each.kind in CLAIMING and each.state != ChildPhase.BOOTING]

    def worker(self, word: str) -> ProcessStatus:
        """The worker that has this number or process id, or whose incarnation, or one of whose running tasks, has an id
        that begins with `word`. Raises ControlError if there is none, or if there are several."""
        found = [each for each in self.workers if word in _numbers(each)] or [
            each for each in self.workers if word and any(x.startswith(word) for x in (each.incarnation, *each.running))
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise ControlError(f"{word[:80]} fits {len(found)} workers of this host: give more of the id")
        raise ControlError(
            f"the supervisor of this host has no worker {word[:80]}, and runs no task with this id; "
            "see supervisor status"
        )


def _numbers(process: ProcessStatus) -> tuple[str, ...]:
    return (str(process.pid), *([str(process.slot)] if process.kind == ChildKind.WORKER else ()))


class WorkerStacks(msgspec.Struct, frozen=True):
    """The stacks that one worker has written. `error`: why it has written none; otherwise empty."""

    kind: str
    slot: int
    pid: int
    incarnation: str
    stacks: Stacks = Stacks("", None)
    error: str = ""


@dataclass(frozen=True, slots=True)
class LocalSupervisor:
    """The supervisor on this host. Each call looks for it again, because it may start or end at any time. `folder`:
    the runtime folder of the supervisor to ask, whatever queue it serves. None: the supervisor of this queue."""

    settings: Settings
    folder: Path | None = None

    async def find(self) -> Found | None:
        """The supervisor on this host that serves this queue in this store; None if none answers."""
        for folder in self._folders():
            status = await status_or_none(folder, ANSWER_TIMEOUT)
            if status is not None and self._serves_the_queue(status):
                return Found(folder, status)
        return None

    async def scale(self, workers: int) -> int:
        """Set the number of workers; returns the new number. Raises ControlError."""
        folder = self.folder or (await self._found()).folder
        return (await asyncio.to_thread(ask, folder, protocol.AskScale(workers))).target

    async def serves_another(self) -> bool:
        """True if the supervisor of `folder` answers that it serves another queue, or another store."""
        status = await status_or_none(self.folder, ANSWER_TIMEOUT) if self.folder else None
        return status is not None and not self._serves_the_queue(status)

    async def write_stacks(self, word: str) -> list[WorkerStacks]:
        """Have workers write their stacks, and return these. `word`: see `Found.worker`; empty: all workers. Raises
        ControlError."""
        found = await self._found()
        if word:
            return [await _written(found.folder, found.worker(word))]
        return [await _written_or_error(found.folder, each) for each in found.workers]

    async def stacks(self, incarnation: str) -> Stacks:
        """The stacks that a worker has written last; empty ones if it has written none. Raises ControlError."""
        return stack_file.read(_stack_file((await self._found()).worker(incarnation).pid))

    async def _found(self) -> Found:
        if self.folder is not None:
            return Found(self.folder, await asyncio.to_thread(ask, self.folder, protocol.AskStatus()))
        found = await self.find()
        if found is None:
            raise protocol.NotRunningError("no supervisor on this host answers for this queue")
        return found

    def _folders(self) -> list[Path]:
        settings = self.settings
        own = [settings.runtime_dir] if is_trusted(settings.runtime_folder) else []
        return [*own, *(pool.runtime_dir for pool in service_folders.pool_services())]

    def _serves_the_queue(self, status: SupervisorStatus) -> bool:
        return (status.store.queue, status.store.url) == (self.settings.queue_name, self.settings.redis.masked_url)


async def _written(folder: Path, worker: ProcessStatus) -> WorkerStacks:
    """Have one worker write its stacks, and wait until it has. Raises ControlError."""
    path = _stack_file(worker.pid)
    os.truncate(path, 0)
    await asyncio.to_thread(ask, folder, protocol.AskStacks(worker.incarnation))
    await _whole(path)
    return _stacks_of(worker, stacks=stack_file.read(path))


async def _written_or_error(folder: Path, worker: ProcessStatus) -> WorkerStacks:
    try:
        return await _written(folder, worker)
    except ControlError as error:
        return _stacks_of(worker, error=str(error))


def _stacks_of(worker: ProcessStatus, **found: Any) -> WorkerStacks:
    return WorkerStacks(worker.kind, worker.slot, worker.pid, worker.incarnation, **found)


def _stack_file(pid: int) -> Path:
    try:
        path = stack_file.of_process(pid)
    except OSError as error:
        raise ControlError(f"the stacks of process {pid} cannot be read: {error.strerror}") from None
    if path is None:
        raise ControlError(f"process {pid} is no worker, so it has no stacks to show")
    return path


async def _whole(path: Path) -> None:
    """Wait until the file contains the stacks of tasks. If these do not come, wait until the file has stacks of threads
    and no longer grows. Raises ControlError."""
    began, size = time.monotonic(), 0
    while (waited := time.monotonic() - began) < WRITTEN_WITHIN:
        await asyncio.sleep(QUIET)
        before, size = size, _size(path)
        if size and size == before and (waited > TASKS_WITHIN or stack_file.read(path).tasks is not None):
            return
    raise ControlError(
        f"the worker has not written its stacks within {WRITTEN_WITHIN:g} s: is the worker suspended (SIGSTOP)?"
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        raise ControlError("the worker ended before it had written its stacks") from None
