"""Builds the scripts of the store in a child, on another processor, while this process imports what a service needs."""

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
    """`pid`: the child; `reading`: the end of a pipe from it."""

    pid: int
    reading: int

    @classmethod
    def start(cls) -> Self | None:
        """Fork the child; None if there is no other processor."""
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1:
            return None
        reading, writing = os.pipe()
        with received_signals.blocked():  # a KeyboardInterrupt in the child would run what its parent is to do
            pid = os.fork()
            if pid == 0:
                os.close(reading)  # else it could write for ever, to itself, once its parent is gone
                _build(writing)
        os.close(writing)
        return cls(pid, reading)

    def take(self) -> None:
        """Wait for the scripts and keep them. If the child failed, missing scripts are built at first use."""
        with os.fdopen(self.reading, "rb") as pipe:
            packed = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        if status == 0:
            scripts.SHIPPED.update(pickle.loads(packed))  # noqa: S301 - written by our own child


def _build(writing: int) -> NoReturn:
    status = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(dict(scripts.product()), pipe)
        status = 0
    finally:
        os._exit(status)
