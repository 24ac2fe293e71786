"""Which requests a user of the control socket may make: all for root and the service's user, some for its group."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection

from holdfastd.control.protocol import AskReload, AskScale, AskStatus, AskStop, Request

ROOT = 0
NOBODY = -1
_CREDENTIALS = struct.Struct("3i")  # struct ucred: process, user, group
_VERBS: dict[type[Request], tuple[str, ...]] = {
    AskStatus: ("status", "workers", "stop"),  # `workers --deaths` and `stop` begin with it
    AskScale: ("scale",),
    AskReload: ("reload",),
    AskStop: ("stop",),
}


def peer(stream: socket.socket) -> int:
    """The user who has connected, as the kernel says."""
    try:
        told = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:  # it is gone already
        return NOBODY
    return int(_CREDENTIALS.unpack(told)[1])


def denial(request: Request, user: int, group_verbs: Collection[str]) -> str:
    """Why this user may not make the request; empty if it may. Others than the group cannot connect."""
    verbs = _VERBS[type(request)]
    if user in {ROOT, os.geteuid()} or any(verb in group_verbs for verb in verbs):
        return ""
    allowed = ", ".join(group_verbs) or "nothing"
    return f"{verbs[0]} is for root and the service's user; its group may: {allowed} (--control-group-verbs)"
