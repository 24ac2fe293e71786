"""Threads that an event loop has begun for sync code, and all others."""

from __future__ import annotations

import asyncio
import threading

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from holdfast.os.loop_threads import is_thread_of_loop

pytestmark = pytest.mark.anyio


async def test_a_thread_of_anyio_can_call_its_loop_back() -> None:
    assert await anyio.to_thread.run_sync(is_thread_of_loop)
    assert await anyio.to_thread.run_sync(lambda: anyio.from_thread.run(anyio.sleep, 0)) is None


async def test_a_coroutine_and_other_threads_cannot() -> None:
    told = list[bool]()
    plain = threading.Thread(target=lambda: told.append(is_thread_of_loop()))
    plain.start()
    plain.join()
    assert (is_thread_of_loop(), await asyncio.to_thread(is_thread_of_loop), told) == (False, False, [False])


async def test_what_such_a_thread_begins_is_no_thread_of_the_loop() -> None:
    def begin() -> list[bool]:
        told = list[bool]()
        inner = threading.Thread(target=lambda: told.append(is_thread_of_loop()))
        inner.start()
        inner.join()
        return told

    assert await anyio.to_thread.run_sync(begin) == [False]


async def test_the_cancellation_of_the_loop_reaches_the_thread_that_asks() -> None:
    asks, may_ask, raised = threading.Event(), threading.Event(), list[BaseException]()

    def work() -> None:
        asks.set()
        may_ask.wait()
        try:
            is_thread_of_loop()
        except BaseException as error:
            raised.append(error)
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, work)
        await asyncio.to_thread(asks.wait)
        group.cancel_scope.cancel()
        asyncio.get_running_loop().call_soon(may_ask.set)
    assert isinstance(raised[0], anyio.get_cancelled_exc_class())
