"""PostgreSQL storage: the ledger of a queue.

Redis stays the only place where a claim is decided. PostgreSQL keeps what was accepted and what came of it: a producer
writes to it first, and the steward copies every transition into it. A Redis that has lost everything is rebuilt from
it. Nothing here decides about a task: where the two differ about one that Redis knows, the later moment of its life
holds.
"""

from __future__ import annotations

from holdfast.store.ledger.store import PostgresStore

__all__ = ["PostgresStore"]
