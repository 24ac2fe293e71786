"""Problems of the queue and its store now, as `supervisor doctor` says them; read at most once in a while."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from holdfastd.doctor import database
from holdfastd.doctor import store as store_check
from holdfastd.doctor.finding import Finding, Level
from holdfastd.web.queue.queue_access import QueueAccess

EVERY = 5.0  # seconds for which the findings count as those of now
PATIENCE = 1.0  # seconds for PostgreSQL to answer
SHOWN = frozenset({Level.WARNING, Level.PROBLEM})


@dataclass(slots=True)
class CurrentProblems:
    """Findings that somebody should know of, problems first."""

    access: QueueAccess
    _found: list[Finding] = field(default_factory=list[Finding])
    _read_at: float | None = None

    async def read(self) -> list[Finding]:
        now = time.monotonic()
        if self._read_at is None or now - self._read_at > EVERY:
            self._found, self._read_at = await self._look(), now
        return self._found

    async def _look(self) -> list[Finding]:
        access = self.access
        settings = access.settings
        info = await access.store.examine([access.queue], 0.0)
        expected = store_check.Expectation(access.queue, settings.lease, 0, running=True, embedded=settings.embedded)
        found = [*store_check.judge(info, expected)]
        if settings.postgres is not None:
            found += database.judge(await database.look_through(access.store, settings.postgres, PATIENCE))
        findings = [each for each in found if each.level in SHOWN]
        return sorted(findings, key=lambda each: each.level is not Level.PROBLEM)
