"""One host's supervisor as a program: `python -m tests.chaos.pool '{"redis_url": ..., "mutant": ...}'`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from holdfast_config import load, logging
from holdfastd.parent.parent_process import run
from tests.announcements import announce
from tests.chaos import begun, handler, mutants
from tests.faults import clock


def main(flags: dict[str, Any]) -> int:
    os.environ[handler.PARENT] = str(os.getpid())
    clock.hook()
    begun.hook()
    mutants.apply(flags.pop("mutant", ""))
    settings = load({"handler": "tests.chaos.handler:act", **flags}, environ={})
    logging.configure(settings.log_level, "json")
    return run(settings, announce)


if __name__ == "__main__":
    assert handler  # imported before the forks: workers are ready sooner
    sys.exit(main(json.loads(sys.argv[1])))
