"""A wait that ends on time: an idle server ends a blocking call up to 0.1 s late, so the last part is slept here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

GRAIN = 0.15  # seconds; a server looks after its blocked clients ten times a second (hz 10)

Listen = Callable[[float], Awaitable[object]]


def punctual(listen: Listen) -> Listen:
    """A function that waits like `listen`, which ends early when something happens, but ends on time."""

    async def wait(seconds: float) -> None:
        if seconds > GRAIN:
            await listen(seconds - GRAIN)
        else:
            await anyio.sleep(seconds)

    return wait
