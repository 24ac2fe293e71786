"""The Redis calls that metrics are read from."""

from __future__ import annotations

from holdfast.core.store_info import Gauges
from holdfast.store.redis import server_report
from holdfast.store.redis.part import RedisPart


class RedisMetrics(RedisPart):
    async def report_duty(self, steward: str, ms: int) -> bool:
        return await self._number("report_duty", steward, ms) == 1

    async def gauges(self, lease_ms: int) -> Gauges:
        now_ms, workers, silent, webhooks, schedules, due_ms = await self._run("gauges", lease_ms)
        memory = server_report.memory(server_report.info(await self._command("INFO", "memory")))
        return Gauges(now_ms, workers, silent, webhooks, schedules, None if due_ms < 0 else due_ms, memory)
