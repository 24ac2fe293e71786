"""A pool behind the proxy, and the deaths of its workers."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.proxy import Action
from tests.faults.scene import Scene, stage

ANSWER_TIMEOUT = 0.3  # seconds; what a fault costs that only this ends
LATE = {Action.HOLD, Action.DUPLICATE}  # the server sees the request a second time
UNTOLD = {
    Action.CUT,
    Action.DELAY,
    Action.TRUNCATE,
    Action.HALF_CLOSE_DOWN,
}  # executed, and the client does not learn of it


@asynccontextmanager
async def behind_a_proxy(workers: int = 1, **flags: object) -> AsyncGenerator[Scene]:
    flags = {"redis_answer_timeout": ANSWER_TIMEOUT, "log_level": "debug", **flags}
    with TemporaryDirectory(prefix="holdfast-") as folder:
        async with stage(Path(folder), workers=workers, proxied=True, **flags) as scene:
            yield scene


def kill_worker(scene: Scene, killed: Callable[[], None] | None = None, slot: str = "worker 0") -> None:
    """Its death is recorded in the store when this returns, and another one is ready in its place. `killed` is called
    as soon as it can do no more."""
    pid = scene.pool.pid_of(slot)
    os.kill(pid, signal.SIGKILL)
    if killed is not None:
        killed()
    scene.pool.until("died", pid=pid)
    scene.pool.until("worker recovered")
    while scene.pool.pid_of(slot) == pid:
        scene.pool.until("ready", slot=slot)
