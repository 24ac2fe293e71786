"""The Redis calls about browsers that are logged in to the dashboard."""

from __future__ import annotations

from holdfast.store.redis.part import RedisPart


class RedisWebSessions(RedisPart):
    async def begin_web_session(self, session: str, now_ms: int, until_ms: int) -> None:
        await self._command("ZREMRANGEBYSCORE", self._keys.web_sessions, "-inf", now_ms)
        await self._command("ZADD", self._keys.web_sessions, until_ms, session)

    async def end_web_session(self, session: str) -> None:
        await self._command("ZREM", self._keys.web_sessions, session)

    async def has_web_session(self, session: str) -> bool:
        return await self._command("ZSCORE", self._keys.web_sessions, session) is not None
