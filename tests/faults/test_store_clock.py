"""The store's clock jumps an hour forward and back: nobody is taken for dead, only due times move with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.faults import clock
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, named_pipe

pytestmark = pytest.mark.anyio

HOUR = 3600  # seconds
LEASE, GRACE = 1.5, 0.1  # seconds; a steward that believed in leases now would be faster than any renewal
BEATS = 6  # of a worker and its steward, three each in a lease

Clock = Callable[[int], object]


@asynccontextmanager
async def by_the_hook(folder: Path) -> AsyncGenerator[tuple[Scene, Clock]]:
    async with stage(folder, hooked_clock=True, lease=LEASE, lease_grace=GRACE, log_level="debug") as scene:
        store = scene.store
        async with aclosing(RedisStore(RedisSettings(scene.url, 10, QUEUE), {"clock": clock.HOOK})) as scene.store:
            yield scene, lambda seconds: scene.client.set(clock.KEY, seconds * 1000)
        scene.store = store


@asynccontextmanager
async def by_faketime(folder: Path) -> AsyncGenerator[tuple[Scene, Clock]]:
    library = clock.library()
    if library is None:
        pytest.skip("no libfaketime here: apt install faketime")
    program, set_clock = clock.server_with_a_clock(folder, library)
    async with stage(folder, program=program, lease=LEASE, lease_grace=GRACE, log_level="debug") as scene:
        yield scene, set_clock


async def believed_again(scene: Scene) -> None:
    """Once the steward has seen the jump, and every worker has been heard for longer than its doubts last."""
    line = scene.pool.until("expired leases are ignored for the length of one lease")
    while not line["reason"].startswith("the clocks moved apart"):
        line = scene.pool.until("expired leases are ignored for the length of one lease")
    enough = {worker: beats + BEATS for worker, beats in heartbeats(scene).items()}
    while any(beats < enough[worker] for worker, beats in heartbeats(scene).items()):
        scene.news(0.1)


def heartbeats(scene: Scene) -> dict[str, int]:
    workers = scene.client.zrange(f"{{{QUEUE}}}:workers", 0, -1)
    return {worker: int(scene.client.hget(f"{{{QUEUE}}}:worker:{worker}", "heartbeat")) for worker in workers}


@pytest.mark.parametrize("clocked", [by_the_hook, by_faketime])
async def test_a_clock_that_jumps_an_hour_recovers_nobody_and_moves_due_times(
    short_path: Path, clocked: Callable[[Path], AbstractAsyncContextManager[tuple[Scene, Clock]]]
) -> None:
    async with clocked(short_path) as (scene, set_clock):
        pipe = named_pipe(short_path)
        await scene.submit("t", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            await scene.submit("in-an-hour", text="quick", delay_ms=(HOUR - 60) * 1000)
            set_clock(HOUR)
            await believed_again(scene)
            await scene.completed("in-an-hour")
            await scene.submit("in-a-minute", text="quick", delay_ms=60_000)
            set_clock(0)
            await believed_again(scene)
            await scene.submit("at-once")
            await scene.completed("at-once")
            assert (await scene.record("in-a-minute")).state is State.DELAYED
            set_clock(HOUR + 61)
            await scene.completed("in-a-minute")
            end.write("through it all")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (1, 0)
        assert scene.heard("recovered") == scene.heard("crashed") == scene.heard("worker-died") == []
        assert scene.pool.deaths() == []
