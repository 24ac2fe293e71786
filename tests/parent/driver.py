"""The parent under test as a program of its own: `python -m tests.parent.driver '{"dir": ..., "worker": ...}'`."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from holdfast_config import logging
from holdfastd.core.slots import ChildKind, Slot, SupervisionPolicy
from holdfastd.embedded.launch import StoreLaunch
from holdfastd.parent.fork import Kernel
from holdfastd.parent.parent_process import supervise
from holdfastd.parent.service_spec import EmbeddedStore, ServiceSpec, WorkerCode
from holdfastd.parent.start_checks import INCARNATIONS
from tests.announcements import announce
from tests.parent import malloc_holes
from tests.parent.children import LOADS, STEWARDS, WORKERS


def service_spec(options: dict[str, Any]) -> ServiceSpec:
    folder = Path(options["dir"])
    (folder / INCARNATIONS).mkdir(exist_ok=True)
    messages = folder / "messages"

    def reread() -> WorkerCode:
        options.update(json.loads((folder / "reread").read_text()))
        return body(options)

    def steward(first: bool, channel: socket.socket) -> int:
        return STEWARDS[options.get("steward", "steward")](messages, first, channel)

    return ServiceSpec(
        policy=SupervisionPolicy(**options.get("policy", {})),
        workers=options.get("workers", 2),
        runtime_dir=folder,
        store_url="redis://nowhere",
        worker=body(options),
        steward=steward,
        reread=reread,
        store=store(folder, options["store"]) if "store" in options else None,
    )


def body(options: dict[str, Any]) -> WorkerCode:
    """The code of a worker of the pool, and of a quarantine worker."""
    mains = {ChildKind.WORKER: options.get("worker", "plain"), ChildKind.QUARANTINE: options.get("quarantine", "plain")}

    def run(incarnation: str, slot: Slot, channel: socket.socket) -> int:
        return WORKERS[mains[slot.kind]](incarnation, slot.number, channel)

    return WorkerCode(run, LOADS[options.get("load", "nothing")])


def store(folder: Path, script: str) -> EmbeddedStore:
    path = folder / "store.sock"

    def prepare(_: bool) -> StoreLaunch:
        path.unlink(missing_ok=True)
        return StoreLaunch((sys.executable, "-c", script, str(path)), (), "unix://store.sock")

    return EmbeddedStore(prepare, path)


class Troubled:
    """Forks as the kernel does, but from birth number `first` on something happens; the steward's is the first."""

    def __init__(self, trouble: str, first: int, times: int) -> None:
        self._trouble = trouble
        self._times = range(first, first + times)
        self._births = 0

    def fork(self) -> int:
        self._births += 1
        if self._births not in self._times:
            return os.fork()
        if self._trouble == "refused":
            raise BlockingIOError(11, "Resource temporarily unavailable")
        if self._trouble == "bug":
            raise RuntimeError("a bug in the parent")
        assert self._trouble == "signalled"
        pid = os.fork()
        if not pid:
            os.kill(os.getpid(), signal.SIGTERM)  # the child has reset nothing yet: all signals are blocked
        return pid


def no_pidfd(_: int) -> int:
    raise OSError(24, "Too many open files")


def kernel(options: dict[str, Any]) -> Kernel:
    fork = (
        Troubled(options["trouble"], options.get("first", 2), options.get("times", 1)).fork
        if "trouble" in options
        else os.fork
    )
    return Kernel(fork, no_pidfd if options.get("no_pidfd") else os.pidfd_open)


def few_descriptors(options: dict[str, Any]) -> None:
    if "descriptors" in options:
        resource.setrlimit(resource.RLIMIT_NOFILE, (options["descriptors"],) * 2)


def run(options: dict[str, Any]) -> int:
    logging.configure("debug", "json")
    few_descriptors(options)
    malloc_holes.fill()  # a leak would otherwise fill what the imports have left free, and not be seen
    return supervise(service_spec(options), announce, kernel(options))


if __name__ == "__main__":
    sys.exit(run(json.loads(sys.argv[1])))
