"""Kill points between a command and its answer; used only if the environment asks for one."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel

from holdfast.os.kill_points import Point, reached
from holdfast.store.redis.scripts import product

TURNS = 3  # of the event loop, after which it has written the command
NO_SETTLEMENTS = b"\x90"  # an empty list as MessagePack


async def watch(command: tuple[Any, ...]) -> None:
    """Reach this command's kill point when the command has left for the socket."""
    point = _point(*command) if command[0] == "EVALSHA" else None
    if point is not None:
        for _ in range(TURNS):
            await anyio.lowlevel.checkpoint()
        reached(point)


def _point(_: str, sha: str, keys: int, *arguments: Any) -> Point | None:
    scripts, arguments = product(), arguments[keys:]
    if sha == scripts["pull"].sha:
        return Point.PULL_SENT if arguments[3] == NO_SETTLEMENTS else Point.SETTLE_SENT
    sent = {"schedule_fire": Point.FIRE_SENT, "recover": Point.RECOVER_SENT}
    sent |= {"step": Point.STEP_SENT, "sleep": Point.STEP_SENT}
    return next((point for name, point in sent.items() if sha == scripts[name].sha), None)
