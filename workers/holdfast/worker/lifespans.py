"""Opens the lifespans of a handler (generators that yield objects for handlers, such as a pool), holds them open while
the worker runs, and closes them at its end.

All of this happens in one asyncio task, because a generator that yields inside a task group must be left in the asyncio
task that entered it. Plain generators run in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, cast

import anyio

from holdfast.errors import HandlerError
from holdfast.handler.failures import summary, user_traceback
from holdfast.handler.lifespan import Lifespan
from holdfast.handler.signature import with_values
from holdfast_config import library_log

CLEAN_UP = 0.3  # seconds for a lifespan that is cancelled

_NOTHING_MORE = object()

_log = library_log.get_logger("holdfast.worker")


@dataclass(slots=True)
class Lifespans:
    """The lifespans of one worker. `values`: the yielded values, by type. `failure`: the reason why a lifespan cannot
    be opened. `on_loss` is called if a lifespan ends before `close`."""

    lifespans: Sequence[Lifespan]
    on_loss: Callable[[], None]
    values: dict[Any, object] = field(default_factory=dict[Any, object])
    failure: HandlerError | None = None
    _entering: Lifespan | None = None
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _opened: anyio.Event = field(default_factory=anyio.Event)
    _closing: anyio.Event = field(default_factory=anyio.Event)
    _ended: anyio.Event = field(default_factory=anyio.Event)

    async def opened(self, seconds: float) -> None:
        """Wait until all lifespans are open, or one has failed. A lifespan that is not open in time has failed."""
        with anyio.move_on_after(seconds):
            await self._opened.wait()
        if not self._opened.is_set():
            self.give_up(f"did not yield within {seconds:g} s (see --boot-timeout)")

    def give_up(self, why: str) -> None:
        """Open no more lifespans, and cancel the one that is being opened."""
        what = self._entering.what if self._entering else "the lifespan"
        self.failure = HandlerError(f"{what} {why}")
        self._scope.cancel()
        self._opened.set()

    async def close(self, seconds: float) -> None:
        """Run the code of the lifespans after their yields, beginning with the last lifespan. After `seconds`, code
        that still runs is cancelled."""
        if not self.lifespans:
            return
        self._closing.set()
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        if not self._ended.is_set():
            _log.error("lifespans were not closed in time and are cancelled", seconds=seconds)
            self._scope.cancel()
            with anyio.move_on_after(CLEAN_UP):
                await self._ended.wait()

    async def serve(self) -> None:
        """Open the lifespans, wait for `close`, then close them."""
        try:
            with self._scope:
                await self._hold()
        except HandlerError as error:
            self.failure = error
        except asyncio.CancelledError:
            raise
        except BaseException:  # logged where the lifespan is known
            self.on_loss()
        else:
            if not self._closing.is_set() and self.failure is None:
                _log.error("a lifespan has ended before its worker")
                self.on_loss()
        finally:
            self._opened.set()
            self._ended.set()

    async def _hold(self) -> None:
        async with AsyncExitStack() as stack:
            for lifespan in self.lifespans:
                self._entering = lifespan
                self.values[lifespan.provides] = await stack.enter_async_context(_Opened(lifespan, self.values))
            self._opened.set()
            await self._closing.wait()


class _Opened:
    """One lifespan, open from its yield to its end. Errors after the yield are only logged."""

    def __init__(self, lifespan: Lifespan, values: dict[Any, object]) -> None:
        self._lifespan = lifespan
        function = with_values(lifespan.function, lifespan.wanted, values)
        self._steps: AsyncGenerator[object] = function() if lifespan.is_async else _in_threads(function)

    async def __aenter__(self) -> object:
        try:
            value = await anext(self._steps, _NOTHING_MORE)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # border to the user's code
            words = f"{self._lifespan.what} failed before its yield: {summary(error)}"
            raise HandlerError(words, user_traceback(error)) from error
        if value is _NOTHING_MORE:
            raise HandlerError(
                f"{self._lifespan.what} ended without a yield: a lifespan must yield once, when its value is open"
            )
        return value

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if error is not None and not isinstance(error, HandlerError):
            return await self._interrupted(error)
        try:
            if await anext(self._steps, _NOTHING_MORE) is not _NOTHING_MORE:
                _log.error("a lifespan yields more than once", lifespan=self._lifespan.what)
                await self._steps.aclose()
        except asyncio.CancelledError:
            raise
        except BaseException as failure:  # border to the user's code
            _log.error("a lifespan failed after its yield", lifespan=self._lifespan.what, exc_info=failure)
        return False

    async def _interrupted(self, error: BaseException) -> bool:
        """Raise the error at the yield, so that the lifespan cleans up. Returns True if the lifespan has handled the
        error."""
        try:
            await self._steps.athrow(error)
        except StopAsyncIteration:
            return True
        except BaseException as raised:
            if raised is error or isinstance(raised, asyncio.CancelledError):
                return False
            _log.error("a lifespan failed while the worker ran", lifespan=self._lifespan.what, exc_info=raised)
            raise
        return False


async def _in_threads(function: Callable[[], Generator[object, None, Any]]) -> AsyncGenerator[object]:
    """The steps of a plain generator, each in a thread. On a cancel, a thread that does not end is left behind."""
    steps = cast("Generator[object, None, Any]", await _thread(function))
    try:
        while (value := await _thread(partial(next, steps, _NOTHING_MORE))) is not _NOTHING_MORE:
            yield value
    except BaseException:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLEAN_UP), suppress(ValueError):
            await _thread(steps.close)
        raise


async def _thread(step: Callable[[], object]) -> object:
    return await anyio.to_thread.run_sync(step, abandon_on_cancel=True)
