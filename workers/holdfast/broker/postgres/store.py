"""The store of a queue whose tasks PostgreSQL keeps: Redis, the ledger before whoever writes, behind whoever reads."""

from __future__ import annotations

from holdfast.broker.postgres import migrating, queues
from holdfast.broker.postgres.firing import FiringRole
from holdfast.broker.postgres.producing import ProducingRole
from holdfast.broker.postgres.remembering import RememberingRole
from holdfast.core.facts import FollowingFacts
from holdfast.core.records import LedgerFacts


class PostgresStore(ProducingRole, FiringRole, RememberingRole):
    """Implements `holdfast.broker.port.Store` and `Ledger`; the arguments are those of LedgerStore."""

    async def preflight(self) -> None:
        await super().preflight()
        await migrating.check(self.database)
        await self._keeper.check_owner()

    async def ping(self) -> None:
        await super().ping()
        async with self.database.transaction() as sql:
            await sql.execute("SELECT 1")

    async def news(self, seconds: float) -> None:
        await self._block(seconds, *self._keeper.next_event(self._keys.events, seconds))

    async def ledger(self) -> LedgerFacts:
        async with self.database.transaction() as sql:
            return await self._keeper.standing(sql)

    async def following(self) -> FollowingFacts:
        """The same, and whether this Redis is the one; for the doctor."""
        async with self.database.transaction() as sql:
            ledger, queue = await self._keeper.standing(sql), await queues.read(sql, self._queue)
        return FollowingFacts(ledger, queue.epoch if queue else "", await self.owner() or await self.rebuilding())

    async def aclose(self) -> None:
        await super().aclose()
        await self.database.aclose()
