"""Stores of tasks: over Redis, in memory, and over Redis with PostgreSQL beside it. The store over Redis is the base of
the other two.

`Store` is a name for type annotations only. At run time it is `object`, because the class would import Redis's library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.current_store import ledger_of, make_store, open_store

if TYPE_CHECKING:
    from holdfast.store.redis import RedisStore as Store
else:
    Store = object

__all__ = ["Store", "ledger_of", "make_store", "open_store"]
