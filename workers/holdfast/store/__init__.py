"""Stores of tasks: one over Redis, and two made of it, in memory and with PostgreSQL beside it.

`Store` is a name for types alone. When a module runs it is `object`: the class would import Redis's library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.current_store import ledger_of, make_store, open_store

if TYPE_CHECKING:
    from holdfast.store.redis import RedisStore as Store
else:
    Store = object

__all__ = ["Store", "ledger_of", "make_store", "open_store"]
