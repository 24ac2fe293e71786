"""Runs a worker inside this process, on an event loop that other code uses, too."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import anyio

from holdfast.core.delivery import Settlement, Verdict
from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.handler import Handler
from holdfast.ipc.channel import BootFailed, Drain, Drained, InProcessLink, Ready
from holdfast.store import Store
from holdfast.store.current_store import belong_to_context
from holdfast.telemetry.port import open_inside
from holdfast.worker.context import WorkerContext, WorkerSpec, ignore_verdict
from holdfast.worker.worker import CANCEL_SHARE, QueueWorker
from holdfast_config import Settings

GIVE_BACK = 1.0  # seconds for cancelled handlers to save a checkpoint


@dataclass(slots=True)
class InProcessWorker:
    """A worker in this process. `drained` is set when the worker has drained: it claims and settles no more.
    `released`: the number of unfinished tasks that it has given back. `over` is set when the worker has ended, with its
    threads; `code` is its exit status."""

    context: WorkerContext
    link: InProcessLink = field(default_factory=InProcessLink)
    drained: anyio.Event = field(default_factory=anyio.Event)
    released: int = 0
    over: anyio.Event = field(default_factory=anyio.Event)
    code: ChildExit = ChildExit.BUG

    @property
    def incarnation(self) -> str:
        return self.context.incarnation

    def set_ready(self, ready: bool) -> None:
        """Tell the worker if tasks can begin now. While they cannot, the worker claims none."""
        self.context.state.is_ready = ready
        if ready:
            self.context.seek()

    def drain(self, seconds: float) -> None:
        """Have the worker finish within this many seconds. A later call can only shorten the time."""
        now = time.monotonic()
        self.link.tell(Drain(now + seconds * (1 - CANCEL_SHARE), now + seconds))

    def hasten(self) -> None:
        """Cancel running tasks now, and give them back."""
        now = time.monotonic()
        self.link.tell(Drain(now, now + GIVE_BACK))

    async def ready(self) -> None:
        """Wait until the worker serves. Raises HandlerError if it cannot."""
        while not isinstance(message := await self.link.hear(), Ready):
            if isinstance(message, BootFailed):
                raise HandlerError(message.error, message.traceback)

    async def attend(self) -> None:
        """Read the worker's messages, and note when it has drained. Other messages are ignored: they are for a parent
        that could replace the worker."""
        while True:
            if isinstance(message := await self.link.hear(), Drained):
                self.released = message.released + message.held
                self.drained.set()


@asynccontextmanager
async def open_worker(
    store: Store,
    handler: Handler,
    settings: Settings,
    slot: int = 0,
    beside: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
    ready: bool = True,
    on_verdict: Callable[[Settlement, Verdict], None] = ignore_verdict,
    halt: int | None = None,
) -> AsyncGenerator[InProcessWorker]:
    """A worker that serves while the block runs, or until it is drained. At the end of the block it drains for
    `drain_timeout` of the settings.

    `beside`: coroutine functions that run as long as the worker runs. `ready`: True if the worker claims tasks from the
    beginning; False if it waits for `set_ready`. `on_verdict` is called with the store's answer to each settlement.
    `halt`: see WorkerSpec. If the block raises, the worker ends at once and gives back its tasks. The end waits for a
    thread that does not stop.
    """
    spec = WorkerSpec(uuid4().hex, slot, settings, halt=halt)
    worker = InProcessWorker(WorkerContext(spec, store, on_verdict))
    worker.context.state.is_ready = ready
    telemetry = open_inside(settings, store.address)

    async def run() -> None:
        belong_to_context(settings, store)
        try:
            async with anyio.create_task_group() as parts:
                running = QueueWorker(worker.context, handler, worker.link, telemetry, parts, own_process=False)
                worker.code = await running.run()
                parts.cancel_scope.cancel()
        finally:
            worker.over.set()  # also after an error of a part; otherwise the block would wait without end

    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(run)
        try:
            await worker.ready()
            for each in (worker.attend, *beside):
                group.start_soon(each)
            yield worker
        except Exception as error:
            failure = error  # raised outside of the group, which would wrap it
            worker.hasten()
        except BaseException:
            worker.hasten()
            raise
        else:
            worker.drain(settings.drain_timeout)
        finally:
            with anyio.CancelScope(shield=True):
                await worker.over.wait()
            group.cancel_scope.cancel()
    worker.link.close()
    telemetry.shutdown()
    if failure is not None:
        raise failure
