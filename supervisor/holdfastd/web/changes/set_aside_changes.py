"""Changes of dead letters and of unreadable entries."""

from __future__ import annotations

from holdfast.errors import UnknownTaskError
from holdfastd.operations.unreadable import REMOVE_UNREADABLE, RETRY_UNREADABLE
from holdfastd.web.changes.change import Asked, PageChange, change_of


async def _remove_dead(asked: Asked) -> None:
    if not await asked.manager.purge_dead_letters([asked.subject]):
        raise UnknownTaskError(f"no dead letter {asked.subject}")


SET_ASIDE_CHANGES = (
    PageChange("/dead/remove", "task_id", "/dead", _remove_dead),
    change_of(RETRY_UNREADABLE, "/unreadable"),
    change_of(REMOVE_UNREADABLE, "/unreadable"),
)
