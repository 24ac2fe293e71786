"""Changes of hosts and their workers: quiet, resume, scale, stacks."""

from __future__ import annotations

import socket

from holdfast.core.quiet_hosts import ALL_HOSTS
from holdfastd.control.errors import ControlError
from holdfastd.web.access.forms import BadFieldError
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.queue.local_supervisor import LocalSupervisor

LONGEST = 255  # characters of a host's name
MOST_WORKERS = 10_000


async def _quiet(asked: Asked) -> None:
    await asked.access.store.quiet_host(_host(asked), asked.who, asked.reason("ordered")[:1000])


async def _resume(asked: Asked) -> None:
    await asked.access.store.resume_host(_host(asked), asked.who)


async def _scale(asked: Asked) -> None:
    text = asked.fields.get("workers", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and 1 <= int(text) <= MOST_WORKERS):
        raise BadFieldError(f"workers {text[:50]!r}: a whole number from 1 to {MOST_WORKERS} is allowed")
    if asked.subject not in {"", here := socket.gethostname()}:
        raise ControlError(
            f"host {asked.subject[:80]!r} is not the one of this dashboard, {here!r}: supervisor scale {text}, there"
        )
    await LocalSupervisor(asked.access.settings).scale(int(text))


async def _write_stacks(asked: Asked) -> None:
    await LocalSupervisor(asked.access.settings).write_stacks(asked.subject)


def _host(asked: Asked) -> str:
    host = asked.subject
    if host != ALL_HOSTS and (not 1 <= len(host) <= LONGEST or not host.isprintable() or " " in host):
        raise BadFieldError(f"host {host[:80]!r}: the name of a host is expected, or {ALL_HOSTS} for all")
    return host


HOST_CHANGES = (
    PageChange("/workers/quiet", "host", "/workers", _quiet),
    PageChange("/workers/resume", "host", "/workers", _resume),
    PageChange("/workers/scale", "host", "/workers", _scale),
    PageChange("/workers/stacks", "worker", "/stacks?worker={}", _write_stacks),
)
