"""How the steward ends: asked to leave it acknowledges what it was told first; without a parent it ends at once."""

from __future__ import annotations

import anyio

from holdfast.exits import ChildExit


class StewardShutdown:
    """The first code given is the one."""

    def __init__(self) -> None:
        self.code = ChildExit.BUG
        self._decided = anyio.Event()

    def finish(self, code: ChildExit) -> None:
        if not self._decided.is_set():
            self.code = code
            self._decided.set()

    async def decided(self) -> None:
        await self._decided.wait()
