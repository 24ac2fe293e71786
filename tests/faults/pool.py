"""A whole pool as a program of its own: `python -m tests.faults.pool '{"redis_url": ..., "workers": 2}'`.

As `supervisor start`, but that its workers' store obeys orders to die (see windows.py).
"""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import replace
from typing import Any

from holdfast.worker.main import run as work
from holdfast.worker.spec import WorkerSpec
from holdfast_config import load, logging
from holdfastd.parent import folders, preload
from holdfastd.parent.alone import supervise
from holdfastd.parent.main import household
from tests.faults import handlers
from tests.faults.windows import open_dying_store


def run(flags: dict[str, Any]) -> int:
    settings = load({"handler": "tests.faults.handlers:act", **flags})
    logging.configure(settings.log_level, "json")
    folders.make(settings.runtime_dir, settings.state_dir)
    preload.preload()
    preload.freeze()

    def worker(incarnation: str, slot: int, channel: socket.socket) -> int:
        return work(WorkerSpec(incarnation, slot, settings), channel, open_dying_store)

    return supervise(replace(household(settings), worker=worker), announce)


def announce(line: str) -> None:
    print(json.dumps({"event": "announce", "line": line}), file=sys.stderr, flush=True)


if __name__ == "__main__":
    assert handlers  # imported before the forks, as a user's handler is not: workers are ready sooner
    sys.exit(run(json.loads(sys.argv[1])))
