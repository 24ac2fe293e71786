"""The store of a test: while it stands in, all code of this process gets it in place of the store that it names."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.errors import StoreRefusedError

if TYPE_CHECKING:
    from holdfast.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Substitute:
    """`pid`: the process for which it stands in; its forks have stores of their own."""

    store: Store
    queue: str
    pid: int


_standing_in: list[Substitute] = []


@contextmanager
def standing_in(store: Store, queue: str) -> Generator[None]:
    """Give this store to all code of this process while the block runs. Raises StoreRefusedError if another one stands
    in."""
    if substituted():
        raise StoreRefusedError("a store of a test stands in already: one test has one broker")
    _standing_in.append(Substitute(store, queue, os.getpid()))
    try:
        yield
    finally:
        _standing_in.clear()


def substituted() -> bool:
    """True while a store of a test stands in for all others in this process."""
    return bool(_standing_in) and _standing_in[0].pid == os.getpid()


def substitute(queue: str) -> Store | None:
    """The store that stands in for the one of this queue; None outside of a test. Raises StoreRefusedError for another
    queue than the test's."""
    if not substituted():
        return None
    [standing] = _standing_in
    if queue != standing.queue:
        raise StoreRefusedError(
            f"queue {queue}: the broker of this test has queue {standing.queue}: name the same in both settings"
        )
    return standing.store
