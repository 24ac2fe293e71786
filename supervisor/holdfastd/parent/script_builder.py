"""Builds the store's Lua scripts in a child process on another processor, while this process imports modules."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass
from typing import NoReturn, Self

from holdfast.store.redis import scripts
from holdfastd.parent import received_signals


@dataclass(frozen=True, slots=True)
class ScriptBuilder:
    """The child that builds the scripts. `pid`: its process id; `reading`: the pipe from which the scripts are read."""

    pid: int
    reading: int

    @classmethod
    def start(cls) -> Self | None:
        """Fork the child and return the builder. Returns None if this process may use only one processor."""
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1:
            return None
        reading, writing = os.pipe()
        with received_signals.blocked():  # a KeyboardInterrupt in the child would go on with the parent's code
            pid = os.fork()
            if pid == 0:
                os.close(reading)  # else the child's write would block for ever once the parent is gone
                _build(writing)
        os.close(writing)
        return cls(pid, reading)

    def take(self) -> None:
        """Wait for the child's scripts and keep them. If the child has failed, a script is built at its first use."""
        with os.fdopen(self.reading, "rb") as pipe:
            packed = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        if status == 0:
            scripts.SHIPPED.update(pickle.loads(packed))  # noqa: S301 - our own child has written this


def _build(writing: int) -> NoReturn:
    status = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(dict(scripts.product()), pipe)
        status = 0
    finally:
        os._exit(status)
