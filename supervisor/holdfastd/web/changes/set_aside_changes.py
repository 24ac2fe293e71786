"""Changes of dead letters and of unreadable entries."""

from __future__ import annotations

from holdfastd.operations.dead import REMOVE_DEAD
from holdfastd.operations.unreadable import REMOVE_UNREADABLE, RETRY_UNREADABLE
from holdfastd.web.changes.change import change_of

SET_ASIDE_CHANGES = (
    change_of(REMOVE_DEAD, "/dead"),
    change_of(RETRY_UNREADABLE, "/unreadable"),
    change_of(REMOVE_UNREADABLE, "/unreadable"),
)
