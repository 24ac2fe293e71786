"""Processor time and commands that a measurement has used until now, and what others used of the machine meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.machine import busy_seconds, own_seconds
from bench.site import Site


@dataclass(frozen=True, slots=True)
class Spending:
    """Until `at`, in seconds; how many records there were, how many commands the server had run."""

    at: float
    tasks: int
    commands: int
    worker: float
    server: float
    machine: float
    own: float


def spending(site: Site) -> Spending:
    worker = sum(site.tree.cpu().values())
    server, tasks, commands = site.server.cpu_seconds(), site.records.count(), site.server.commands()
    return Spending(time.monotonic(), tasks, commands, worker, server, busy_seconds(), own_seconds())


def cores_of_others(before: Spending, after: Spending) -> float:
    ours = sum((after.worker - before.worker, after.server - before.server, after.own - before.own))
    return max(0.0, (after.machine - before.machine - ours) / (after.at - before.at))
