"""Runs one worker of this library for each worker of the framework, in the framework's process.

It has an incarnation and a lease of its own, holds one delivery at a time, and claims the next one when the framework's
worker asks for it, so that waiting tasks go to idle workers. When the process dies its task is delivered again: once
the lease has lapsed, or within seconds if a supervisor of the same host and runtime folder watches its lock file.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio
import structlog

from holdfast.bindu.envelopes import operation_of
from holdfast.bindu.held_tasks import HeldTask, HeldTasks
from holdfast.core.messages import Message
from holdfast.core.outcomes import HandlerStopped, Outcome
from holdfast.handler.handler import Handler
from holdfast.handler.task import Task
from holdfast.os import locks
from holdfast.store.protocol import Store
from holdfast.worker.in_process import InProcessWorker, open_worker
from holdfast_config import Settings

PAUSE = 1.0  # seconds before a worker that the store has ended is followed by another one

_log = structlog.get_logger("holdfast.bindu")


class Consumer:
    """Implements `holdfast.handler.handler.Runner`. `serve` lives as long as its scheduler."""

    def __init__(self, store: Store, settings: Settings, held_tasks: HeldTasks, slot: int) -> None:
        single = {"concurrency": 1, "task_timeout": None, "max_tasks": None, "max_memory": None, "drain_timeout": 0.0}
        self._settings = settings.model_copy(update=single)
        self._store, self._held_tasks, self._slot = store, held_tasks, slot
        self._operation: dict[str, Any] | None = None
        self._given = anyio.Event()
        self._closing = anyio.Event()
        self._worker: InProcessWorker | None = None
        self._held: HeldTask | None = None
        self._ready = False

    async def serve(self) -> None:
        """Run one worker after the other, as the store may end one."""
        try:
            while not self._closing.is_set():
                await self._run_worker()
        finally:
            self._held_tasks.clear()
            self._given.set()

    async def next(self) -> dict[str, Any] | None:
        """The next operation; asking for it ends the one before. None once this is closed."""
        self._let_go(gone=False)
        self._set_ready(True)
        await self._given.wait()
        self._given = anyio.Event()
        operation, self._operation = self._operation, None
        return operation

    def close(self) -> None:
        """Claim nothing any more, and give back a task that is still held: the framework's worker is gone."""
        self._closing.set()
        self._set_ready(False)
        self._let_go(gone=True)

    async def run(self, task: Task, messages: list[Message]) -> Outcome:
        """Give a delivery to the framework's worker, and wait for its outcome. It cannot be interrupted: if the task
        is canceled, this waits for it all the same, and its outcome counts no more."""
        if self._closing.is_set():
            return HandlerStopped("drain")
        self._set_ready(False)
        held = self._held = HeldTask(task.id, self._settings.max_message_bytes)
        self._held_tasks.take(held)
        self._operation = operation_of(task)
        self._given.set()
        try:
            await held.over.wait()
        except anyio.get_cancelled_exc_class():
            held.stop()
            with anyio.CancelScope(shield=True):
                await held.back.wait()
            raise
        finally:
            self._held_tasks.drop(held)
        assert held.outcome is not None
        return held.outcome

    def _set_ready(self, ready: bool) -> None:
        self._ready = ready
        if self._worker is not None:
            self._worker.set_ready(ready)

    def _let_go(self, *, gone: bool) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.leave(gone=gone)

    async def _run_worker(self) -> None:
        handler = Handler("bindu", self)
        opening = open_worker(
            self._store,
            handler,
            self._settings,
            self._slot,
            ready=self._ready,
            on_verdict=self._held_tasks.take_verdict,
        )
        async with opening as worker:
            self._worker = worker
            worker.set_ready(self._ready)
            with _locked(worker.incarnation, self._settings):
                await _first(worker.over, self._closing)
                worker.hasten()
                await worker.over.wait()
        if not self._closing.is_set():
            _log.warning("the store ended this worker; another one begins", incarnation=worker.incarnation)
            with anyio.move_on_after(PAUSE):
                await self._closing.wait()
            return
        await self._store.recover(worker.incarnation, "left", charged=False, ordered=True)


async def _first(*events: anyio.Event) -> None:
    """Wait until one of these events is set."""
    async with anyio.create_task_group() as group:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        for event in events:
            group.start_soon(wait, event)


@contextmanager
def _locked(incarnation: str, settings: Settings) -> Generator[None]:
    """Hold the worker's lock file while the block runs, if a supervisor's steward watches lock files here."""
    folder = settings.runtime_folder.check() / "incarnations"
    if not os.access(folder, os.W_OK):
        yield
        return
    path = folder / f"{incarnation}.lock"
    descriptor = locks.hold(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        if descriptor is not None:
            os.close(descriptor)
