"""An application with a schedule of its own."""

from __future__ import annotations

from holdfast import Handlers

handlers = Handlers()


@handlers.register("tick")
async def tick() -> str:
    return "tock"


handlers.schedule("of-the-code", every=0.2, limit=2, overlap="allow", misfire="all:2", name="tick")
