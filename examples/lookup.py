"""Checkpoints: looks up the address of each host name in a file, politely; killed, it goes on from where it was.

`supervisor start examples.lookup:handle`, then `getent hosts | awk '{print $2}' >hosts.txt` and
`supervisor submit --wait $PWD/hosts.txt`
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

from holdfast import Reject, Task

PAUSE = 0.05  # seconds between two lookups; others use the server too


async def handle(messages: list[dict[str, Any]], task: Task) -> dict[str, Any]:
    """The checkpoint is what is known so far. It is with the store within some seconds, so that the next run, of
    whichever worker, repeats those at most."""
    names = _names(messages)
    known: dict[str, str | None] = task.last_checkpoint or {}
    resumed_after = len(known)
    for name in names:
        if name not in known:
            known[name] = await _address(name)
            task.checkpoint(known)
            task.progress(len(known), len(names))
            await asyncio.sleep(PAUSE)
    return {"addresses": known, "resumed_after": resumed_after}


def _names(messages: list[dict[str, Any]]) -> list[str]:
    try:
        lines = Path(messages[-1]["parts"][0]["text"]).read_text().splitlines()
    except (LookupError, TypeError, OSError, ValueError) as error:
        raise Reject(f"send the path of a file with host names: {error}") from error
    return list(dict.fromkeys(name for line in lines if (name := line.strip())))


async def _address(name: str) -> str | None:
    """None for a name that nobody knows."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])
