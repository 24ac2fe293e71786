"""The worker process, from the fork to its exit status."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial

import anyio

from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.choose import handler_of
from holdfast.handler.failures import summary, user_traceback
from holdfast.handler.handler import Handler
from holdfast.handler.registry import settled
from holdfast.ipc.channel import BootFailed, encode
from holdfast.ipc.child_end import ParentLink
from holdfast.os import stack_file
from holdfast.os.forked_copy import leave_worker_at_fork
from holdfast.os.handlers_loop import run_handlers_loop
from holdfast.os.kill_points import Point, reached
from holdfast.os.main_thread import MainThread
from holdfast.store import Store
from holdfast.store.current_store import belong_to_process, make_store
from holdfast.telemetry.logs import SentLogs, sent_logs
from holdfast.telemetry.port import GRPC, open_in_worker
from holdfast.worker import output_capture
from holdfast.worker.context import WorkerContext, WorkerSpec
from holdfast.worker.exit_work import do_exit_work
from holdfast.worker.lock_file import hold_lock, open_page
from holdfast.worker.worker import QueueWorker
from holdfast_config import Settings, library_log

# The handler and the store of a process that forks workers. They are made before the fork, so that workers share their
# memory. The store has no connection before the fork, because connections are made at first use.

_prepared: tuple[Settings, Handler, Store] | None = None


def prepare(settings: Settings, handler: Handler) -> None:
    """Make the store of the workers that this process will fork with these settings, and keep it with the handler."""
    global _prepared
    _prepared = settings, handler, make_store(settings.redis)


def of_worker(settings: Settings) -> tuple[Handler, Store]:
    """The handler and the store of a worker. If the process that forked this one has prepared them, these are used;
    otherwise they are made now. The caller must close the store with `aclose`. Raises HandlerError."""
    if _prepared is not None and _prepared[0] is settings:
        return _prepared[1:]
    return handler_of(settings), make_store(settings.redis)


LAST_MESSAGES_TIMEOUT = 1.0  # seconds for the last messages to reach the parent

_log = library_log.get_logger("holdfast.worker")


def run(spec: WorkerSpec, channel: socket.socket) -> int:
    """Run one worker in this process; returns the exit status."""
    stack_file.register()
    leave_worker_at_fork()
    reached(Point.FORK)
    if spec.settings.capture_output:
        output_capture.install()
    settings = spec.settings
    with sent_logs(settings.otlp_endpoint, "holdfast-worker", grpc=settings.otlp_protocol == GRPC) as logs:
        return _run(spec, channel, logs)


def _run(spec: WorkerSpec, channel: socket.socket, logs: SentLogs) -> int:
    try:
        hold_lock(spec)
        begun = open_page(spec)
        belong_to_process(spec.settings)
        handler, store = of_worker(spec.settings)  # no loop runs yet: an import may run a loop of its own
        settings = settled(handler, spec.settings, may_choose=False)
        context = partial(WorkerContext, replace(spec, settings=settings), store, begun=begun)

        def run_loop() -> tuple[int, float]:
            serve = partial(_serve, spec.settings, context, handler, channel, logs)
            return run_handlers_loop(serve, **settings.loop_options)

        has_loop = handler.first_in_main_thread is None
        code, ends_at = run_loop() if has_loop else MainThread().serve(run_loop, _tell_leftover)
        do_exit_work(code, ends_at - time.monotonic())
        return code
    except HandlerError as error:
        _tell_failed(channel, str(error), error.traceback)
        return ChildExit.BOOT_FAILED
    except BaseException as error:  # outermost frame of the worker: the parent is told why it ends
        _log.exception("the worker failed")
        _tell_failed(channel, summary(error), user_traceback(error))
        return ChildExit.BUG
    finally:
        output_capture.finish()


def _tell_leftover(error: BaseException) -> None:
    _log.error("a signal handler that a task has installed raised an error", exc_info=error)


def _tell_failed(channel: socket.socket, error: str, traceback: str) -> None:
    """Report to the parent that the boot has failed. If this worker had already reported that it was ready, the parent
    treats the failure as a crash."""
    message = BootFailed(ChildExit.BOOT_FAILED, error, traceback)
    with suppress(OSError):
        channel.settimeout(LAST_MESSAGES_TIMEOUT)
        channel.sendall(encode(message))


async def _serve(
    settings: Settings,
    make_context: Callable[[], WorkerContext],
    handler: Handler,
    channel: socket.socket,
    logs: SentLogs,
) -> tuple[int, float]:
    """Run the worker on this event loop. Returns the exit status, and the deadline for exit functions."""
    link = ParentLink(channel)
    context = make_context()
    telemetry = open_in_worker(settings, context.store.address)
    code, ends_at = ChildExit.BUG, 0.0
    async with aclosing(context.store), anyio.create_task_group() as group:
        worker = QueueWorker(context, handler, link, telemetry, group)
        code = await worker.run()
        ends_at = time.monotonic() + worker.exit_seconds()
        await link.flush(LAST_MESSAGES_TIMEOUT)
        group.cancel_scope.cancel()
    logs.flush_beside(telemetry.shutdown)
    return code, ends_at
