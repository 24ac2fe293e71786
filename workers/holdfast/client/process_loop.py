"""Runs an event loop in the background of each process: started by the first call, and again after a fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from holdfast.client.background_loop import CLOSED, BackgroundLoop
from holdfast.errors import ClosedError

T = TypeVar("T")

_loops: weakref.WeakSet[ProcessLoop[Any]] = weakref.WeakSet()
_inherited: list[
    BackgroundLoop[Any]
] = []  # loops of the parent; kept, as even deleting them would touch what they share


class ProcessLoop(Generic[T]):
    """`opening` opens a resource that the loop serves, such as a store. A forked child does not use its parent's."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opening = opening
        self._is_closed = False
        self._begin_anew()
        _loops.add(self)

    def _begin_anew(self) -> None:
        """Begin without a loop, as a new process does."""
        self._lock = threading.Lock()
        self._background: BackgroundLoop[T] | None = None
        self._forgotten: weakref.finalize[..., ProcessLoop[T]] | None = None

    def running(self) -> BackgroundLoop[T]:
        """The loop of this process. Raises ClosedError after `close`."""
        with self._lock:
            if self._is_closed:
                raise ClosedError(CLOSED)
            if self._background is None:
                self._background = BackgroundLoop(self._opening)
                self._forgotten = weakref.finalize(self, self._background.stop)
            return self._background

    def close(self) -> None:
        """Close the resource and end the thread; calls under way in other threads end with ClosedError."""
        with self._lock:
            self._is_closed = True
            background, self._background = self._background, None
        if background is not None:
            background.close()

    def leave_to_parent(self) -> None:
        """Called in a forked child, which does not have the thread."""
        if self._forgotten is not None:
            self._forgotten.detach()
        if self._background is not None:
            _inherited.append(self._background)
        self._begin_anew()


def _after_fork() -> None:
    for loop in list(_loops):
        loop.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork)
