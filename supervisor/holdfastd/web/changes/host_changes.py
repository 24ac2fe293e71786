"""Changes of hosts and their workers: quiet, resume, scale, stacks."""

from __future__ import annotations

import socket

from holdfastd.control.socket_protocol import ControlError
from holdfastd.operations.hosts import QUIET_HOSTS, RESUME_HOSTS
from holdfastd.operations.reading import InvalidArgumentError
from holdfastd.web.changes.change import Asked, PageChange, change_of
from holdfastd.web.queue.local_supervisor import LocalSupervisor

MOST_WORKERS = 10_000


async def _scale(asked: Asked) -> None:
    text = asked.fields.get("workers", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and 1 <= int(text) <= MOST_WORKERS):
        raise InvalidArgumentError(f"workers {text[:50]!r}: a whole number from 1 to {MOST_WORKERS} is allowed")
    if asked.subject not in {"", here := socket.gethostname()}:
        raise ControlError(
            f"host {asked.subject[:80]!r} is not the one of this dashboard, {here!r}: supervisor scale {text}, there"
        )
    await LocalSupervisor(asked.access.settings).scale(int(text))


async def _write_stacks(asked: Asked) -> None:
    await LocalSupervisor(asked.access.settings).write_stacks(asked.subject)


HOST_CHANGES = (
    change_of(QUIET_HOSTS, "/workers"),
    change_of(RESUME_HOSTS, "/workers"),
    PageChange("/workers/scale", "host", "/workers", _scale),
    PageChange("/workers/stacks", "worker", "/stacks?worker={}", _write_stacks),
)
