"""A pool with nothing to do, each worker warmed up by tasks with pydantic arguments: commands, processor time, memory.

Memory is PSS: a page that several processes share counts once. The server is not in it.
"""

from __future__ import annotations

import time

from bench.measures import Figures
from bench.site import Site, Subject, site
from bench.spending import cores_of_others, spending

SETTLES = 20.0  # seconds until the start is over and the first renewals are done
SECONDS = 30.0
MIB = 1 << 20


def measure(subject: Subject, seconds: float = SECONDS, settles: float = SETTLES) -> Figures:
    with site(subject) as one:
        one.start()
        time.sleep(settles)
        one.tree.alive()
        return {**_idle(one, seconds), **_memory(one)}


def _idle(one: Site, seconds: float) -> Figures:
    """A second of the whole pool; processor time in percent of one processor."""
    before, earlier = spending(one), one.tree.cpu()
    time.sleep(seconds)
    later, after = one.tree.cpu(), spending(one)
    used = [(later[pid] - earlier[pid]) / (after.at - before.at) * 100 for pid in later.keys() & earlier.keys()]
    return {
        "idle_commands": (after.commands - before.commands) / (after.at - before.at),
        "idle_cpu": sum(used),
        "busiest_cpu": max(used),
        "others": cores_of_others(before, after),
    }


def _memory(one: Site) -> Figures:
    sizes = one.tree.pss()
    return {"memory_mib": sum(sizes) / MIB, "processes": len(sizes), "largest_mib": max(sizes) / MIB}
