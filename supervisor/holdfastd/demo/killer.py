"""Who is killed next: any worker that is at work, and now and then the steward."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from holdfastd.control.protocol import ProcessStatus
from holdfastd.demo.supervisor_process import SupervisorProcess

GROWN_UP = 1.5  # seconds: whoever dies younger is taken for a crash loop, and waits before it is replaced


@dataclass(slots=True)
class Killer:
    """`killed`: incarnation → when (Unix time), of the workers."""

    service: SupervisorProcess
    chance: random.Random
    killed: dict[str, float] = field(default_factory=dict[str, float])
    stewards: int = 0

    def kill_worker(self, busy: Collection[str]) -> ProcessStatus | None:
        """One of the busy incarnations, if any lives long enough; None where nobody could be killed."""
        grown = [one for one in self.service.processes("worker") if one.state == "ready" and one.uptime > GROWN_UP]
        victims = [one for one in grown if one.incarnation in busy] or grown
        if not victims:
            return None
        victim = self.chance.choice(victims)
        self.killed[victim.incarnation] = time.time()
        _kill(victim)
        return victim

    def kill_steward(self) -> ProcessStatus | None:
        for steward in self.service.processes("steward"):
            self.stewards += 1
            _kill(steward)
            return steward
        return None


def _kill(process: ProcessStatus) -> None:
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
