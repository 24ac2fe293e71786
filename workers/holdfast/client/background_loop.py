"""An event loop in its own thread, and an object opened in it, for callers that have no loop."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Generic, TypeVar

import anyio
from anyio import RunFinishedError
from anyio.from_thread import BlockingPortal

from holdfast.errors import ClosedError

T = TypeVar("T")
R = TypeVar("R")

CLOSED = "it has been closed; make another TaskManager"


class BackgroundLoop(Generic[T]):
    """`served` is the object that `opening` opened in the thread's loop; it is closed there. Plain asyncio, not
    uvloop, whose handles would disturb the parent's loop from a forked child."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        ready: Future[tuple[BlockingPortal, T]] = Future()
        self._thread = threading.Thread(target=_run, args=(opening, ready), name="holdfast-sync", daemon=True)
        self._thread.start()
        self._portal, self.served = ready.result()

    def call(self, function: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """The result or the error of a coroutine function. ClosedError if the loop ends before that."""
        try:
            answer: Future[R] = self._portal.start_task_soon(partial(function, *args, **kwargs))
        except (RuntimeError, RunFinishedError) as error:
            raise ClosedError(CLOSED) from error
        try:
            return answer.result()
        except CancelledError as error:
            raise ClosedError(CLOSED) from error
        except BaseException:
            answer.cancel()  # Ctrl-C ends the call in the loop as well
            raise

    def stop(self) -> None:
        """Ask the loop to end; calls under way end with ClosedError. It may be called again."""
        try:
            self._portal.start_task_soon(self._portal.stop, True)
        except (RuntimeError, RunFinishedError):
            return

    def close(self) -> None:
        """Stop the loop, and wait until everything is closed."""
        self.stop()
        self._thread.join()


def _run(opening: Callable[[], AbstractAsyncContextManager[T]], ready: Future[tuple[BlockingPortal, T]]) -> None:
    try:
        anyio.run(_serve, opening, ready)
    except BaseException as error:  # the border of the thread: the caller that waits for its start gets the error
        if ready.done():
            raise
        ready.set_exception(error)


async def _serve(
    opening: Callable[[], AbstractAsyncContextManager[T]], ready: Future[tuple[BlockingPortal, T]]
) -> None:
    async with opening() as served, BlockingPortal() as portal:
        ready.set_result((portal, served))
        await portal.sleep_until_stopped()
