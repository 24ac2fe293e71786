"""Threads that an event loop has begun for sync code: they can call it back."""

from __future__ import annotations

import anyio.from_thread


def is_thread_of_loop() -> bool:
    """True in a worker thread of anyio. Raises the loop's cancellation if the code in it is to stop."""
    try:
        anyio.from_thread.check_cancelled()
    except RuntimeError:
        return False
    return True
