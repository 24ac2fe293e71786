"""A pool with nothing to do, each worker warmed up by tasks with pydantic arguments: commands, processor time, memory.

Commands are those that clients send, as MONITOR shows them; those that scripts make are work of the server.

Memory is PSS: a page that several processes share counts once. The server is not in it.
"""

from __future__ import annotations

import time

from bench.measures import Figures
from bench.site import Site, Subject, open_site
from bench.spending import cores_of_others, spending

SETTLES = 20.0  # seconds until the start is over and the first renewals are done
SECONDS = 30.0
MIB = 1 << 20


def measure(subject: Subject, seconds: float = SECONDS, settles: float = SETTLES) -> Figures:
    with open_site(subject) as site:
        site.start()
        time.sleep(settles)
        site.tree.alive()
        return {**_idle(site, seconds), **_memory(site)}


def _idle(site: Site, seconds: float) -> Figures:
    """A second of the whole pool; processor time in percent of one processor. Commands are those that clients send."""
    before, earlier = spending(site), site.tree.cpu()
    sent = site.server.sent(seconds)
    later, after = site.tree.cpu(), spending(site)
    used = [(later[pid] - earlier[pid]) / (after.at - before.at) * 100 for pid in later.keys() & earlier.keys()]
    return {
        "idle_commands": sent / (after.at - before.at),
        "idle_cpu": sum(used),
        "busiest_cpu": max(used),
        "others": cores_of_others(before, after),
    }


def _memory(site: Site) -> Figures:
    sizes = site.tree.pss()
    return {"memory_mib": sum(sizes) / MIB, "processes": len(sizes), "largest_mib": max(sizes) / MIB}
