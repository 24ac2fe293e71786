"""EmptiedStore detects that the store has lost all its data (restarted without a log, or flushed) and reports it.

Work continues by itself: workers register again, new tasks run. But all accepted tasks are gone, and the empty store
itself does not show that. Each time its data is lost, the store begins a new epoch.
"""

from __future__ import annotations

from uuid import uuid4

import structlog

from holdfast.core.plurals import counted
from holdfast.core.tasks import Epoch
from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.health import Health

EVERY = 2.0  # seconds; tasks accepted since the last check are missing in the number of lost tasks
LOUD_FOR = 600.0  # seconds for which `status` shows it; `doctor` shows it for longer
_TROUBLE = "data loss"

_log = structlog.get_logger("holdfast.steward")


class EmptiedStore:
    def __init__(self, store: StewardStore, health: Health) -> None:
        self._store = store
        self._health = health
        self._known = Epoch("", 0)

    def duty(self) -> Duty:
        return Duty("emptied store", self.run_once)

    async def run_once(self) -> float:
        epoch = await self._store.epoch(self._known, uuid4().hex)
        if self._known.name not in {"", epoch.name}:
            _log.error(
                "the store is empty after a restart or a flush: all its data is lost",
                tasks=self._known.tasks,
                epoch=epoch.name,
                before=self._known.name,
            )
        self._known = epoch
        self._show(epoch)
        return EVERY

    def _show(self, epoch: Epoch) -> None:
        if epoch.emptied_ago_ms is not None and epoch.emptied_ago_ms < LOUD_FOR * 1000:
            known = counted(epoch.lost, "task was", "tasks were")
            self._health.report(_TROUBLE, f"the store came back empty: all its data is lost ({known} known)")
        else:
            self._health.clear(_TROUBLE)
