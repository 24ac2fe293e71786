"""The store of a queue whose tasks PostgreSQL keeps: Redis, the ledger before whoever writes, behind whoever reads."""

from __future__ import annotations

from holdfast.core.store_info import ReplicationInfo
from holdfast.core.tasks import LedgerStatus
from holdfast.store.ledger import migrate
from holdfast.store.ledger.producer import LedgerProducer
from holdfast.store.ledger.retention import LedgerRetention
from holdfast.store.ledger.schedule_fires import LedgerFires
from holdfast.store.ledger.tables import queues


class PostgresStore(LedgerProducer, LedgerFires, LedgerRetention):
    """Implements `holdfast.store.protocol.Store` and `Ledger`; the arguments are those of LedgerStore."""

    async def preflight(self) -> None:
        await super().preflight()
        await migrate.check(self.database)
        await self._keeper.check_owner()

    async def ping(self) -> None:
        await super().ping()
        async with self.database.transaction() as sql:
            await sql.execute("SELECT 1")

    async def news(self, seconds: float) -> None:
        await self._block(seconds, *self._keeper.next_event(self._keys.events, seconds))

    async def ledger(self) -> LedgerStatus:
        async with self.database.transaction() as sql:
            return await self._keeper.standing(sql)

    async def following(self) -> ReplicationInfo:
        """The same, and whether this Redis is the one; for the doctor."""
        async with self.database.transaction() as sql:
            ledger, queue = await self._keeper.standing(sql), await queues.read(sql, self._queue)
        return ReplicationInfo(ledger, queue.epoch if queue else "", await self.owner() or await self.rebuilding())

    async def aclose(self) -> None:
        await super().aclose()
        await self.database.aclose()
