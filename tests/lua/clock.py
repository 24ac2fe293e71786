"""A clock that tests move: another text in place of the scripts' shared part `clock`; the product has no hook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

START_MS = 1_000_000_000

# The key stands outside the namespace's prefix, so that no snapshot and no rollback takes it along.
CLOCK = f"local NOW = tonumber(redis.call('GET', 'clock of {{' .. KEYS[1] .. '}}') or '{START_MS}')"


@dataclass(slots=True)
class VirtualClock:
    """Time as the scripts of one queue see it, in milliseconds."""

    client: Any
    queue: str
    now_ms: int = START_MS

    async def advance(self, ms: int) -> None:
        self.now_ms += ms
        await self.client.execute_command("SET", f"clock of {{{self.queue}}}", self.now_ms)
