"""The supervisor that runs in a runtime folder, in words, beside the settings of a command."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.duration_words import duration
from holdfast.core.plurals import counted
from holdfast_config import Settings
from holdfastd.control.socket_protocol import SupervisorStatus


def words(status: SupervisorStatus | None, settings: Settings) -> Iterator[str]:
    """A line on the supervisor, and one on what it has otherwise than these settings; nothing if none runs."""
    if status is None:
        return
    how = f"{status.state} for {duration(status.uptime)}, {status.ready} of {counted(status.target, 'worker')} ready"
    where = f"queue {status.store.queue or '(unknown)'}, store {status.store.url}"
    yield f"a supervisor runs here: version {status.version}, pid {status.pid}, {how}, {where}"
    if others := list(_others(status, settings)):
        yield f"unlike the settings of this command, it has: {', '.join(others)}"


def _others(status: SupervisorStatus, settings: Settings) -> Iterator[str]:
    for name, here, there in (
        ("queue_name", settings.queue_name, status.store.queue),
        ("redis_url", settings.redis.masked_url, status.store.url),
        ("workers", settings.workers, status.target),
    ):
        if there not in ("", here):
            yield f"{name} {there}"
