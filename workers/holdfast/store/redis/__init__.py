"""The store over Redis or Valkey. Each Lua operation in `store/lua` has one typed method here."""

from __future__ import annotations

from holdfast.store.redis.store import RedisStore

__all__ = ["RedisStore"]
