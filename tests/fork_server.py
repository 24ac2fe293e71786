"""A server that forks Python programs from a process that has imported their packages already: `tests.forked` asks it.

`python -m tests.fork_server KIND REQUESTS`: the kind of programs, the descriptor of the socket of requests.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from holdfast.os import kill_points
from holdfast.store.redis.scripts import product
from holdfast_config import kill_spec
from holdfastd.parent.child_setup import set_title
from holdfastd.parent.preload import preload

LONGEST_REQUEST = 1 << 17  # bytes: arguments and environment
MOST_DESCRIPTORS = 16
HIGH = 200  # the numbers of descriptors that programs ask for are lower
COMMANDS = ("holdfastd.cli", "holdfastd.control", "holdfast.client", "holdfast.store")
SERVICES = (*COMMANDS, "holdfastd", "holdfast.worker", "holdfast.handler")
LATE = ("anyio._backends._asyncio", "uvloop")  # imported where they are used first
PACKAGES = {"commands": COMMANDS, "services": SERVICES, "killed": SERVICES}


class Server:
    """`_running`: the processes, by a descriptor that is readable when one has ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._running: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> str:
        """The program, in the process that is to run it. The server itself ends when nobody can ask any more."""
        while True:
            for ready in select.select([self._requests, *self._running], [], [])[0]:
                if ready is not self._requests:
                    self._report(ready)
                elif program := self._accept():
                    return program

    def _report(self, ended: int) -> None:
        pid, answer = self._running.pop(ended)
        os.close(ended)
        _, status = os.waitpid(pid, 0)
        with answer, suppress(OSError):  # who asked may be gone
            answer.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _accept(self) -> str:
        """The program, in its process; nothing, in the server."""
        request, descriptors, *_ = socket.recv_fds(self._requests, LONGEST_REQUEST, MOST_DESCRIPTORS)
        if not request:
            os._exit(0)
        pid = os.fork()
        if not pid:
            return self._become(json.loads(request), descriptors)
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        answer = socket.socket(fileno=descriptors[0])
        answer.send(str(pid).encode())
        self._running[os.pidfd_open(pid)] = pid, answer
        return ""

    def _become(self, wanted: dict[str, Any], descriptors: Sequence[int]) -> str:
        """Make this process what a shell would have started."""
        given = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH) for descriptor in descriptors[1:]]
        for descriptor in (*descriptors, *self._running):
            os.close(descriptor)
        for opened in (self._requests, *(answer for _, answer in self._running.values())):
            opened.close()
        for number, descriptor in zip(wanted["numbers"], given, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(wanted["folder"])
        _set_environment(wanted["environ"])
        sys.argv = wanted["argv"]
        sys.path[0] = wanted["path"]
        set_title(" ".join(sys.argv))
        return str(wanted["program"])


def _set_environment(environ: dict[str, str]) -> None:
    """The variables, and what an interpreter and its libraries read of them when they start."""
    here = len(_paths(os.environ.get("PYTHONPATH", "")))
    sys.path[1 : 1 + here] = _paths(environ.get("PYTHONPATH", ""))
    os.environ.clear()
    os.environ.update(environ)
    kill_points.watch.asked = kill_spec.parse(environ.get(kill_spec.VARIABLE, ""))
    time.tzset()


def _paths(value: str) -> list[str]:
    return [path for path in value.split(os.pathsep) if path]


def _import(package: str) -> None:
    """With all modules of a package that need nothing else to be installed."""
    path = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(path, f"{package}."):
        with suppress(ImportError):
            importlib.import_module(module.name)


def _run(program: str) -> None:
    module, _, function = program.partition(":")
    if function:
        getattr(importlib.import_module(module), function)()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    kind, requests = sys.argv[1:3]
    for package in PACKAGES[kind]:
        _import(package)
    for module in LATE:
        importlib.import_module(module)
    product()  # cached: making the scripts is most of a command's time
    if kind != "commands":
        preload()
    gc.freeze()  # the pages stay shared, and no program looks through what it has not made
    _run(Server(socket.socket(fileno=int(requests))).serve())
