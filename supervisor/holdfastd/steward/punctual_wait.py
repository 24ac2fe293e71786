"""Resting until a moment: an idle server ends a wait up to a tenth of a second late, so its last part is slept here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

GRAIN = 0.15  # seconds; a server looks after its blocked clients ten times a second (hz 10)

Listen = Callable[[float], Awaitable[object]]


def punctual(listen: Listen) -> Listen:
    """Rest like `listen`, which ends early where there are news; the end comes on time."""

    async def rest(seconds: float) -> None:
        if seconds > GRAIN:
            await listen(seconds - GRAIN)
        else:
            await anyio.sleep(seconds)

    return rest
