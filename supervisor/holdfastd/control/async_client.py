"""Asks a supervisor for its status on the event loop, for callers that go on without an answer."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
from anyio.abc import SocketStream

from holdfast.core.json_errors import UNREADABLE_JSON
from holdfastd.control.socket_protocol import CONTROL_SOCKET, LONGEST_ANSWER, AskStatus, SupervisorStatus, encode


async def status_or_none(runtime_dir: Path, timeout: float) -> SupervisorStatus | None:
    """The status of the supervisor of this runtime folder; None where none runs, where this user may not ask it, and
    where it does not answer within `timeout` seconds."""
    with anyio.move_on_after(timeout):
        try:
            async with await anyio.connect_unix(runtime_dir / CONTROL_SOCKET) as stream:
                await stream.send(encode(AskStatus()))
                return msgspec.json.decode(await _line(stream), type=SupervisorStatus)
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError, *UNREADABLE_JSON):
            return None
    return None


async def _line(stream: SocketStream) -> bytes:
    """The first line of the answer. Raises EndOfStream for one without an end."""
    line = b""
    while not line.endswith(b"\n"):
        line += await stream.receive(1 << 20)
        if len(line) > LONGEST_ANSWER:
            raise anyio.EndOfStream
    return line
