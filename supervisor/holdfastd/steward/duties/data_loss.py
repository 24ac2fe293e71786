"""Epochs: a store that forgets everything (restarted without a log, flushed) begins another one, and that is said.

Work goes on by itself: workers register anew, new tasks run. But what was accepted before is gone, and nobody who only
looks at the store that is there now could tell.
"""

from __future__ import annotations

from uuid import uuid4

import structlog

from holdfast.core.plurals import counted
from holdfast.core.tasks import Epoch
from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.health import Health

EVERY = 2.0  # seconds; what was accepted since the last look is not in the number of tasks that are lost
LOUD_FOR = 600.0  # seconds for which `status` says it; the doctor goes on saying it
_TROUBLE = "data loss"

_log = structlog.get_logger("holdfast.steward")


class DataLoss:
    def __init__(self, store: StewardStore, health: Health) -> None:
        self._store = store
        self._health = health
        self._known = Epoch("", 0)

    def duty(self) -> Duty:
        return Duty("epochs", self.turn)

    async def turn(self) -> float:
        found = await self._store.epoch(self._known, uuid4().hex)
        if self._known.name not in {"", found.name}:
            _log.error(
                "the store has come back empty: all that it held is lost",
                tasks=self._known.tasks,
                epoch=found.name,
                before=self._known.name,
            )
        self._known = found
        self._show(found)
        return EVERY

    def _show(self, found: Epoch) -> None:
        if found.emptied_ago_ms is not None and found.emptied_ago_ms < LOUD_FOR * 1000:
            known = counted(found.lost, "task was", "tasks were")
            self._health.ailing(_TROUBLE, f"the store came back empty: what it held is lost ({known} known)")
        else:
            self._health.well(_TROUBLE)
