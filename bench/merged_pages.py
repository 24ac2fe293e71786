"""Memory of an idle pool while the kernel merges equal pages (KSM), beside one without: `python -m bench.merged_pages`.

Needs root, as it switches the merging on for its own time. Memory is PSS: a page that several processes share counts
once.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil

from bench.ending import run
from bench.report import Target, finish, table
from bench.site import open_site
from bench.subjects import at_rest, own

SWITCH = Path("/sys/kernel/mm/ksm/run")
MERGE = "1"
PR_SET_MEMORY_MERGE = 67  # linux/prctl.h, since Linux 6.4
SETTLES = 90.0  # seconds: at its usual pace the kernel has looked at all pages twice
MIB = 1 << 20


def main() -> int:
    if os.geteuid() != 0 or not SWITCH.exists():
        print("not measured: root is needed, and a Linux with CONFIG_KSM", file=sys.stderr)
        return 0
    apart, idle = _at_rest()
    with _merging():
        merged, busy = _at_rest()
    rows = [("each page apart", apart, idle), ("equal pages merged", merged, busy)]
    table("Eight idle workers, parent, steward and loader", ("", "MiB", "% CPU of the kernel"), rows)
    return finish([Target("of the memory without", merged / apart, 0.8)], {"apart": apart, "merged": merged})


def _at_rest() -> tuple[float, float]:
    """MiB of the pool, and the processor time of the kernel's thread, in percent of one processor."""
    [subject] = at_rest(own())
    with open_site(replace(subject, title="holdfast")) as site:
        site.start()
        before = _spent()
        time.sleep(SETTLES)
        return sum(site.tree.pss()) / MIB, (_spent() - before) / SETTLES * 100


def _spent() -> float:
    """Seconds of the thread of the kernel that merges."""
    threads = [process for process in psutil.process_iter(["name"]) if process.info["name"] == "ksmd"]
    return sum(sum(thread.cpu_times()[:2]) for thread in threads)


@contextmanager
def _merging() -> Generator[None]:
    """Have this process and its children merged, as `MemoryKSM=yes` does for a service."""
    before = SWITCH.read_text().strip()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "Linux 6.4 or later is needed")
    try:
        SWITCH.write_text(MERGE)
        yield
    finally:
        libc.prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0)
        SWITCH.write_text(before)


if __name__ == "__main__":
    run(main)
