"""A store whose clock the test sets: by libfaketime under the server, or by the scripts' time hook in the pool.

Both read how far the clock is off from where the test writes it: a file, or a key beside the queue.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.store.redis import scripts
from holdfast.store.redis.steward import RedisSteward
from tests.faults.work import QUEUE
from tests.servers import bundled

LIBRARIES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")
KEY = f"the clock of {QUEUE} is off by"  # milliseconds
HOOK = f"""
local now_parts = call('TIME')
local NOW = now_parts[1] * 1000 + math.floor(now_parts[2] / 1000) + tonumber(call('GET', '{KEY}') or '0')
"""


def library() -> Path | None:
    """Where Debian's package faketime puts it."""
    return next((path for pattern in LIBRARIES for path in Path("/").glob(pattern[1:])), None)


def server_with_a_clock(folder: Path, library: Path) -> tuple[Path, Callable[[int], None]]:
    """A server's program whose wall clock is off; and how it is set, in seconds. Its monotonic clock goes right."""
    offset = folder / "offset"
    environment = {
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": offset,
        "FAKETIME_NO_CACHE": 1,
        "FAKETIME_DONT_FAKE_MONOTONIC": 1,
    }
    words = " ".join(f"{name}='{value}'" for name, value in environment.items())
    program = folder / "server-with-a-clock"
    program.write_text(f'#!/bin/sh\nexec env {words} {bundled()} "$@"\n')
    program.chmod(0o755)

    def set_clock(seconds: int) -> None:
        """At once: half a line is never read."""
        fresh = folder / "offset.new"
        fresh.write_text(f"{seconds:+d}")
        fresh.replace(offset)

    set_clock(0)
    return program, set_clock


def hook() -> None:
    """In a pool: its scripts and its steward see the store's time as the key says."""
    scripts.SHIPPED.update({name: scripts.build(name, {"clock": HOOK}) for name in scripts.operations()})
    told = RedisSteward.clock_ms

    async def clock_ms(self: Any) -> int:
        return await told(self) + int(await self._command("GET", KEY) or 0)

    RedisSteward.clock_ms = clock_ms  # type: ignore[method-assign]
