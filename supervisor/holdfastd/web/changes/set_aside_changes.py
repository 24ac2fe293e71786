"""Changes of dead letters and of unreadable entries."""

from __future__ import annotations

from holdfast.errors import UnknownTaskError
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.queue import unreadable_entries


async def _remove_dead(asked: Asked) -> None:
    if not await asked.manager.purge_dead_letters([asked.subject]):
        raise UnknownTaskError(f"no dead letter {asked.subject}")


async def _put_back(asked: Asked) -> None:
    await unreadable_entries.put_back(asked.access.store, asked.subject)


async def _remove_entry(asked: Asked) -> None:
    await unreadable_entries.remove(asked.access.store, asked.subject)


SET_ASIDE_CHANGES = (
    PageChange("/dead/remove", "task_id", "/dead", _remove_dead),
    PageChange("/unreadable/retry", "address", "/unreadable", _put_back),
    PageChange("/unreadable/remove", "address", "/unreadable", _remove_entry),
)
