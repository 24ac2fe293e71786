"""The Redis (and Valkey) store: design section 6. One Lua operation a file in `store/lua`, one typed method each."""

from __future__ import annotations

from holdfast.store.redis.store import RedisStore

__all__ = ["RedisStore"]
