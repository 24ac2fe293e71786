"""A gate that lets everybody pass or nobody."""

from __future__ import annotations

import asyncio

import anyio


class Gate:
    """Open at first. Belongs to the thread of the event loop that made it; only `open` may be called from another."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open = anyio.Event()
        self._open.set()

    def shut(self) -> None:
        if self._open.is_set():
            self._open = anyio.Event()

    def open(self) -> None:
        self._loop.call_soon_threadsafe(self._let_pass)

    async def passed(self) -> None:
        while not self._open.is_set():
            await self._open.wait()

    def _let_pass(self) -> None:
        self._open.set()
