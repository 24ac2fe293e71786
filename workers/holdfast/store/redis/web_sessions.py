"""The Redis calls about browsers that are logged in to the dashboard."""

from __future__ import annotations

from holdfast.store.redis.part import RedisPart

MOST_OF_ONE = 100  # sessions of one owner


class RedisWebSessions(RedisPart):
    async def begin_web_session(self, session: str, now_ms: int, until_ms: int) -> None:
        await self._command("ZREMRANGEBYSCORE", self._keys.web_sessions, "-inf", now_ms)
        await self._command("ZADD", self._keys.web_sessions, until_ms, session)
        begun: list[bytes] = await self._command("ZRANGE", self._keys.web_sessions, 0, -1)
        owner = session.partition(":")[0].encode()
        own = [each for each in begun if each.partition(b":")[0] == owner]
        if surplus := own[:-MOST_OF_ONE]:
            await self._command("ZREM", self._keys.web_sessions, *surplus)

    async def end_web_session(self, session: str) -> None:
        await self._command("ZREM", self._keys.web_sessions, session)

    async def has_web_session(self, session: str) -> bool:
        return await self._command("ZSCORE", self._keys.web_sessions, session) is not None
