"""Computes a value in a child process, so that this process can do other work meanwhile, or does not keep the memory
that the computation needs."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar, cast

from holdfast.store.redis import scripts
from holdfast.store.redis.scripts import Script
from holdfastd.parent import received_signals

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChildBuilder(Generic[T]):
    """The child that computes a value. `pid`: its process id; `reading`: the pipe from which the value is read."""

    pid: int
    reading: int

    @classmethod
    def start(cls, build: Callable[[], T]) -> ChildBuilder[T]:
        """Fork the child, which calls `build`. The caller must call `take`."""
        reading, writing = os.pipe()
        with received_signals.blocked():  # a KeyboardInterrupt in the child would go on with the parent's code
            pid = os.fork()
            if pid == 0:
                os.close(reading)  # else the child's write would block for ever once the parent is gone
                _build(build, writing)
        os.close(writing)
        return cls(pid, reading)

    def take(self) -> T | None:
        """Wait for the child and return its value; None if the child has failed."""
        with os.fdopen(self.reading, "rb") as pipe:
            packed = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        return cast("T", pickle.loads(packed)) if status == 0 else None  # noqa: S301 - our own child has written this


def _build(build: Callable[[], object], writing: int) -> NoReturn:
    status = 1
    try:
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(build(), pipe)
        status = 0
    finally:
        os._exit(status)


def build_scripts() -> ChildBuilder[dict[str, Script]]:
    """Have a child build the store's Lua scripts, for `scripts.SHIPPED`."""
    return ChildBuilder[dict[str, Script]].start(_scripts)


def _scripts() -> dict[str, Script]:
    return dict(scripts.product())
