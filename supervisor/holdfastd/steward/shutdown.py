"""StewardShutdown decides the steward's exit status: asked to leave, it first records all deaths; without a parent it
ends at once."""

from __future__ import annotations

import anyio

from holdfast.exits import ChildExit


class StewardShutdown:
    """The first code given counts."""

    def __init__(self) -> None:
        self.code = ChildExit.BUG
        self._decided = anyio.Event()

    def finish(self, code: ChildExit) -> None:
        if not self._decided.is_set():
            self.code = code
            self._decided.set()

    async def decided(self) -> None:
        await self._decided.wait()
