"""Tests of code that uses Holdfast: the pytest fixture `holdfast_broker` is a MemoryBroker.

def test_greet(holdfast_broker: MemoryBroker) -> None:
    greet.submit_sync("Ada")
    holdfast_broker.assert_submitted(greet, name="Ada")
    holdfast_broker.run_until_idle_sync()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.testing.broker import MemoryBroker, memory_broker
    from holdfast.testing.still_store import SubmittedTask

__all__ = ["MemoryBroker", "SubmittedTask", "memory_broker"]

_HOMES = {
    "MemoryBroker": "holdfast.testing.broker",
    "memory_broker": "holdfast.testing.broker",
    "SubmittedTask": "holdfast.testing.still_store",
}


def __getattr__(name: str) -> object:
    """Import a name at its first use. pytest loads this package's plugin at every start, so the import must be fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
