"""Killer kills random busy workers, and now and then the steward."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from holdfastd.control.socket_protocol import ProcessStatus
from holdfastd.demo.supervisor_process import SupervisorProcess

GROWN_UP = 1.5  # seconds: an earlier death counts towards a crash loop, and the successor waits


@dataclass(slots=True)
class Killer:
    """`killed`: incarnation → time of the kill (Unix time), for workers."""

    service: SupervisorProcess
    chance: random.Random
    killed: dict[str, float] = field(default_factory=dict[str, float])
    stewards: int = 0

    def kill_worker(self, busy: Collection[str]) -> ProcessStatus | None:
        """Kill one of the busy incarnations that has lived long enough; None if there is none."""
        grown = [
            worker
            for worker in self.service.processes("worker")
            if worker.state == "ready" and worker.uptime > GROWN_UP
        ]
        victims = [worker for worker in grown if worker.incarnation in busy] or grown
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
