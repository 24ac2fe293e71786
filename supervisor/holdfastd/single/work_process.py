"""`supervisor work`: a worker without a supervisor, in the foreground. Any number of such workers may run side by side.

The worker holds a lock file like every worker, so that a steward of this host soon detects its death.
"""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack, suppress
from functools import partial

import anyio

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.quiet_hosts import HaltScope
from holdfast.errors import StoreError
from holdfast.handler.handler import Handler
from holdfast.store import Store, open_store
from holdfast.store.current_store import belong_to_process
from holdfast.worker.context import WorkerSpec
from holdfast.worker.in_process import open_worker
from holdfast.worker.lock_file import drop_lock, hold_lock
from holdfast.worker.worker import NO_HURRY
from holdfast_config import Settings
from holdfastd.core.commands import Announce
from holdfastd.single.signals import ended_at_once, heeded, run_with_handler, serve_until_drained, status
from holdfastd.steward.duties.host_duties import halt_watch, say_host_marks
from holdfastd.steward.duties.schedule_duties import schedule_fires
from holdfastd.steward.duty import Health, run_duty

LAST_CALL = 1.0  # seconds that the store has to answer the last call, when all tasks are returned


def run(settings: Settings, announce: Announce) -> int:
    """Run the worker until it is told to stop; returns the exit status."""
    belong_to_process(settings)
    with ended_at_once():
        return run_with_handler(_one_by_one(settings), announce, partial(_boot, announce))


async def _boot(announce: Announce, settings: Settings, handler: Handler) -> int:
    with anyio.open_signal_receiver(*heeded()) as signals:
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(open_store(settings.redis))
            halts = await _halts(store)
            await SubmitRetries().call(say_host_marks, store, halts, announce)
            # The worker itself fires CONTINUE schedules when their run has ended, so they fire without a steward, too.
            fires = schedule_fires(
                store, settings.queue_name, settings.max_message_bytes, settings.scan_interval, halts
            )
            beside = [partial(run_duty, fires, Health())]
            worker = await stack.enter_async_context(
                open_worker(store, handler, settings, beside=beside, halt=halts.seen)
            )
            spec = WorkerSpec(worker.incarnation, 0, settings)
            hold_lock(spec)

            def end_at_halt(words: str) -> None:
                announce(words)
                worker.drain(NO_HURRY)

            lanes = ", ".join(map(str, settings.lanes))
            ready = f"1 worker ready, queue {settings.queue_name}, lanes {lanes}"
            async with anyio.create_task_group() as group:
                group.start_soon(run_duty, halt_watch(store, halts, end_at_halt), Health())
                await serve_until_drained(
                    worker, signals, settings.drain_timeout, announce, ready=ready, state="1 worker"
                )
                group.cancel_scope.cancel()
            await _leave(store, worker.incarnation)
    drop_lock(spec)
    return status(worker)


async def _leave(store: Store, incarnation: str) -> None:
    """Remove the worker's record from the store. Otherwise the store lists it as draining until its lease expires."""
    with anyio.move_on_after(LAST_CALL), suppress(StoreError):
        await store.recover(incarnation, "left", charged=False, ordered=True)


async def _halts(store: Store) -> HaltScope:
    """The halts on which this worker stops: those that an operator orders after its start."""
    host = socket.gethostname()
    return HaltScope(host, await SubmitRetries().call(store.last_halt, host), ends=True)


def _one_by_one(settings: Settings) -> Settings:
    """The settings, with a concurrency of 1 unless they set one. With `supervisor work` a handler expects one call at a
    time."""
    if "concurrency" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"concurrency": 1})
