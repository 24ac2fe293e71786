"""Kill points between a command and its answer; used only if the environment asks for one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio.lowlevel

from holdfast.os.kill_points import Point, reached
from holdfast.store.redis.scripts import product

TURNS = 3  # of the event loop, after which it has written the command
NO_SETTLEMENTS = b"\x90"  # an empty list as MessagePack


def watched(client: Any) -> Callable[..., Awaitable[Any]]:
    """`execute_command` of this client, which reaches a kill point when the command is in the socket."""
    read_answer = client.parse_response

    async def parse_response(connection: Any, command: str, *, sent: Point | None = None, **options: Any) -> Any:
        if sent is not None:
            for _ in range(TURNS):
                await anyio.lowlevel.checkpoint()
            reached(sent)
        return await read_answer(connection, command, **options)

    async def execute(*command: Any) -> Any:
        return await client.execute_command(*command, sent=_point(*command))

    client.parse_response = parse_response
    return execute


def _point(_: str, sha: str, keys: int, *arguments: Any) -> Point | None:
    scripts, arguments = product(), arguments[keys:]
    if sha == scripts["pull"].sha:
        return Point.PULL_SENT if arguments[3] == NO_SETTLEMENTS else Point.SETTLE_SENT
    if sha == scripts["schedule_fire"].sha:
        return Point.FIRE_SENT
    return Point.RECOVER_SENT if sha == scripts["recover"].sha else None
