"""A steward that fires what is due until nothing is: one of those that race, as a process of its own."""

from __future__ import annotations

import sys

import uvloop

from holdfast import open_store
from holdfast.client.schedule_fire import ScheduleFirer
from holdfast_config import RedisSettings


async def fire(url: str, queue: str) -> None:
    async with open_store(RedisSettings(url, 2, queue)) as store:
        firing = ScheduleFirer(store, queue, 1 << 20)
        await store.clock_ms()  # connected
        print("ready", flush=True)
        sys.stdin.readline()
        while await firing.round() is not None:
            pass


if __name__ == "__main__":
    uvloop.run(fire(*sys.argv[1:]))
