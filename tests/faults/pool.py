"""A whole pool as a program of its own: `python -m tests.faults.pool '{"redis_url": ..., "workers": 2}'`.

As `supervisor start`, but that what it prints for humans is a line of the log.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from holdfast_config import load, logging
from holdfastd.parent import preload, start_checks
from holdfastd.parent.parent_process import service_spec, supervise
from tests.announcements import announce
from tests.faults import clock, handlers, other_scripts

CHANGES = {"hooked_clock": clock.hook, "other_scripts": other_scripts.use}  # flags of this program's own


def run(flags: dict[str, Any]) -> int:
    for name in CHANGES.keys() & flags.keys():
        flags.pop(name)
        CHANGES[name]()
    settings = load({"handler": "tests.faults.handlers:act", **flags})
    logging.configure(settings.log_level, "json")
    start_checks.make_folders(settings)
    preload.preload()
    preload.freeze()

    return supervise(service_spec(settings), announce)


if __name__ == "__main__":
    assert handlers  # imported before the forks, as a user's handler is not: workers are ready sooner
    sys.exit(run(json.loads(sys.argv[1])))
