"""The parent under test as a program of its own: `python -m tests.supervisor.driver '{"dir": ..., "worker": ...}'`."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast_config import logging
from holdfastd.core.policy import Policy
from holdfastd.parent.alone import supervise
from holdfastd.parent.folders import INCARNATIONS
from holdfastd.parent.household import EmbeddedStore, Household
from holdfastd.store.launch import StoreLaunch
from tests.supervisor.children import STEWARDS, WORKERS


def household(options: dict[str, Any]) -> Household:
    folder = Path(options["dir"])
    (folder / INCARNATIONS).mkdir(exist_ok=True)
    told = folder / "told"

    def steward(first: bool, channel: socket.socket) -> int:
        return STEWARDS[options.get("steward", "steward")](told, first, channel)

    return Household(
        policy=Policy(**options.get("policy", {})),
        workers=options.get("workers", 2),
        runtime_dir=folder,
        store_url="redis://nowhere",
        worker=WORKERS[options.get("worker", "plain")],
        steward=steward,
        store=store(folder, options["store"]) if "store" in options else None,
    )


def store(folder: Path, script: str) -> EmbeddedStore:
    path = folder / "store.sock"

    def prepare() -> StoreLaunch:
        path.unlink(missing_ok=True)
        return StoreLaunch((sys.executable, "-c", script, str(path)), (), "unix://store.sock")

    return EmbeddedStore(prepare, path)


def failing_fork(failures: int) -> Callable[[], int]:
    """Refuses, as the kernel would, after the first forks (steward and one worker) as often as it is told."""
    calls = 0

    def system() -> int:
        nonlocal calls
        calls += 1
        if 2 < calls <= 2 + failures:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return os.fork()

    return system


def run(options: dict[str, Any]) -> int:
    logging.configure("debug", "json")
    system = failing_fork(options["fork_failures"]) if "fork_failures" in options else os.fork
    return supervise(household(options), announce, system)


def announce(line: str) -> None:
    print(json.dumps({"event": "announce", "line": line}), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run(json.loads(sys.argv[1])))
