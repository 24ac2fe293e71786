"""Workers that are up and take nothing until they are released: what they cost is the tasks alone, not their start.

This project's workers are made quiet, others are stopped by a signal: they have no lease that would end.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bench.site import Site
from bench.systems import HOLDFAST

SETTLES = 1.0  # seconds until each worker knows
_SUPERVISOR = Path(sys.executable).with_name("supervisor")


@contextmanager
def held(site: Site) -> Generator[None]:
    """Released at the end of the block."""
    quiet = site.subject.system.app == HOLDFAST.app
    _order(site, "quiet") if quiet else _signal(site, signal.SIGSTOP)
    time.sleep(SETTLES)
    yield
    _order(site, "resume") if quiet else _signal(site, signal.SIGCONT)


def _order(site: Site, command: str) -> None:
    url = site.server.url
    subprocess.run([_SUPERVISOR, command, "--redis-url", url], check=True, stdout=subprocess.DEVNULL)


def _signal(site: Site, number: signal.Signals) -> None:
    for process in site.tree.alive():
        process.send_signal(number)
