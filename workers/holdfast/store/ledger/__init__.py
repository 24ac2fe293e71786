"""PostgreSQL storage: the ledger of a queue.

Claims are decided in Redis alone. PostgreSQL keeps accepted tasks and their outcomes: a producer writes to it first,
and the steward copies every transition into it. A Redis that has lost its data is rebuilt from it. If Redis and
PostgreSQL differ about a task that Redis has, the later state counts.
"""

from __future__ import annotations

from holdfast.store.ledger.store import PostgresStore

__all__ = ["PostgresStore"]
