"""Waits for descriptors and calls their callbacks: one turn of the parent's loop. No threads, no asyncio."""

from __future__ import annotations

import selectors
from collections.abc import Callable

Callback = Callable[[], None]

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE


class CallbackSelector:
    """Maps each watched descriptor to the callback for when it is ready."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, descriptor: int, callback: Callback, interest: int = READ) -> None:
        """Call `callback` whenever the descriptor is ready; a second call replaces callback and interest."""
        if descriptor in self._selector.get_map():
            self._selector.modify(descriptor, interest, callback)
        else:
            self._selector.register(descriptor, interest, callback)

    def forget(self, descriptor: int) -> None:
        """Stop watching the descriptor; call this before it is closed."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def turn(self, timeout: float) -> None:
        """Wait at most `timeout` seconds, then serve each ready descriptor once."""
        for key, _ in self._selector.select(timeout):
            registered = self._selector.get_map().get(key.fd)
            if registered is not None and registered.data is key.data:  # else an earlier callback has ended this one
                key.data()

    def close(self) -> None:
        self._selector.close()
