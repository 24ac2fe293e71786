"""Changes of dead letters and of unreadable entries."""

from __future__ import annotations

from holdfast.errors import UnknownTaskError
from holdfastd.web.access.forms import BadFieldError
from holdfastd.web.changes.change import Asked, PageChange

NOT_BACK = {
    "gone": "does not exist (any more)",
    "cut": "cannot be put back: only its beginning was kept; push the whole entry again",
}


async def _remove_dead(asked: Asked) -> None:
    if not await asked.manager.purge_dead_letters([asked.subject]):
        raise UnknownTaskError(f"no dead letter {asked.subject}")


async def _put_back(asked: Asked) -> None:
    word = await asked.access.store.readmit(asked.subject)
    if word in NOT_BACK:
        raise BadFieldError(f"entry {asked.subject[:80]} {NOT_BACK[word]}")


async def _remove_entry(asked: Asked) -> None:
    if not await asked.access.store.forget_unreadable(asked.subject):
        raise BadFieldError(f"entry {asked.subject[:80]} {NOT_BACK['gone']}")


SET_ASIDE_CHANGES = (
    PageChange("/dead/remove", "task_id", "/dead", _remove_dead),
    PageChange("/unreadable/retry", "address", "/unreadable", _put_back),
    PageChange("/unreadable/remove", "address", "/unreadable", _remove_entry),
)
