"""Decides which requests a user of the control socket may send: all for root and the service's user, some for its
group."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection

from holdfastd.control.socket_protocol import AskReload, AskScale, AskStacks, AskStatus, AskStop, ControlRequest

ROOT = 0
NOBODY = -1
_CREDENTIALS = struct.Struct("3i")  # struct ucred: process, user, group
_VERBS: dict[type[ControlRequest], tuple[str, ...]] = {
    AskStatus: ("status", "workers", "stop"),  # `workers --deaths` and `stop` begin with it
    AskScale: ("scale",),
    AskStacks: ("stacks",),
    AskReload: ("reload",),
    AskStop: ("stop",),
}


def peer(stream: socket.socket) -> int:
    """The user id of the connected process, from the kernel."""
    try:
        credentials = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:  # it is gone already
        return NOBODY
    return int(_CREDENTIALS.unpack(credentials)[1])


def owners() -> set[int]:
    """The users that may do everything: root and the service's user."""
    return {ROOT, os.geteuid()}


def denial(request: ControlRequest, user: int, group_verbs: Collection[str]) -> str:
    """The reason why this user may not send the request; empty if allowed. Only the owner and the group can connect."""
    verbs = _VERBS[type(request)]
    if user in owners() or any(verb in group_verbs for verb in verbs):
        return ""
    allowed = ", ".join(group_verbs) or "nothing"
    return f"{verbs[0]} is for root and the service's user; its group may: {allowed} (--control-group-verbs)"
