"""The Redis calls about bulk changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from holdfast.core.bulk_changes import KEPT, BulkChange, BulkState
from holdfast.errors import StoreRefusedError
from holdfast.store.redis.connection import RedisPart
from holdfast.store.redis.decode import pairs

_COUNTS = ("changed", "moved", "searched")
_PLACE = ("refused", "pass_number", "changed_in_pass", "cursor")
_NUMBERS = (*_COUNTS, "refused", "pass_number", "changed_in_pass", "run", "begun_ms", "told_ms")


class RedisBulkChanges(RedisPart):
    """The calls about bulk changes: one verb for all tasks that a filter finds, carried out in steps."""

    async def begin_bulk(self, change: BulkChange) -> BulkChange:
        """Keep a new change, and note the store's present time as its beginning. The last 100 changes are kept."""
        now = await self.clock_ms()  # the clock that accepts tasks: a change touches what was accepted before it began
        begun = replace(change, begun_ms=now, told_ms=now)
        facts = msgspec.to_builtins(begun) | {"wanted": msgspec.json.encode(begun.wanted)}
        await self._write_bulk(begun.change_id, facts)
        await self._command("ZADD", self._keys["bulk_changes"], now, begun.change_id)
        await self._keep_latest()
        return begun

    async def note_bulk(self, before: BulkChange, after: BulkChange) -> bool:
        """Keep the progress of a step, and add its counts, even if the change was stopped in the meantime. Returns True
        if the caller should do the next step. Returns False if the change is done, was stopped, or is continued by
        another run."""
        key = self._keys["bulk_change"] + after.change_id
        run, state = await self._command("HMGET", key, "run", "state")
        if run is None:
            return False
        for name in _COUNTS:  # added, because another run may have begun with the counts before this step
            if more := getattr(after, name) - getattr(before, name):
                await self._command("HINCRBY", key, name, more)
        if run != b"%d" % after.run:
            return False
        facts: dict[str, Any] = {name: getattr(after, name) for name in _PLACE} | {"told_ms": await self.clock_ms()}
        if after.state is BulkState.DONE:  # only then, because a stop may come between the read above and this write
            facts["state"] = after.state
        await self._write_bulk(after.change_id, facts)
        return after.state is BulkState.RUNNING and state == BulkState.RUNNING.encode()

    async def stop_bulk(self, change_id: str) -> bool:
        """Stop a running change; its present step is still completed. Returns False if the change does not run."""
        found = await self.bulk_change(change_id)
        if found is None or found.state is not BulkState.RUNNING:
            return False
        await self._write_bulk(change_id, {"state": BulkState.STOPPED})
        return True

    async def resume_bulk(self, change_id: str) -> BulkChange | None:
        """Begin the next run of a change; the caller carries the change out. If an earlier run still works, it stops
        after its present step. Returns None if the change already runs, is done, or is unknown."""
        now, found = await self.clock_ms(), await self.bulk_change(change_id)
        if found is None or found.state_at(now) not in {BulkState.STOPPED, BulkState.INTERRUPTED}:
            return None
        run = await self._command("HINCRBY", self._keys["bulk_change"] + change_id, "run", 1)
        # An interrupted step may have changed tasks without a note, so a pass without further changes proves nothing.
        await self._write_bulk(change_id, {"state": BulkState.RUNNING, "told_ms": now, "changed_in_pass": 1})
        resumed = await self.bulk_change(change_id)
        return resumed and replace(resumed, run=run)  # two callers that resume a change at once get different numbers

    async def bulk_change(self, change_id: str) -> BulkChange | None:
        """The change as it was last written; None if it is unknown."""
        flat = await self._command("HGETALL", self._keys["bulk_change"] + change_id)
        return _read(flat) if flat else None

    async def bulk_changes(self, limit: int) -> tuple[BulkChange, ...]:
        """The last changes, newest first."""
        ids = await self._command("ZRANGE", self._keys["bulk_changes"], 0, limit - 1, "REV")
        found = [await self.bulk_change(each.decode()) for each in ids]
        return tuple(change for change in found if change is not None)

    async def _write_bulk(self, change_id: str, facts: dict[str, Any]) -> None:
        flat = [part for name, value in facts.items() for part in (name, value)]
        await self._command("HSET", self._keys["bulk_change"] + change_id, *flat)

    async def _keep_latest(self) -> None:
        for old in await self._command("ZRANGE", self._keys["bulk_changes"], 0, -KEPT - 1):
            await self._command("UNLINK", self._keys["bulk_change"] + old.decode())
            await self._command("ZREM", self._keys["bulk_changes"], old)


def _read(flat: list[bytes]) -> BulkChange:
    facts: dict[str, Any] = {name: value.decode() for name, value in pairs(flat)}
    try:
        numbers = {name: int(facts[name]) for name in _NUMBERS}
        return msgspec.convert(facts | numbers | {"wanted": msgspec.json.decode(facts["wanted"])}, BulkChange)
    except (KeyError, ValueError, msgspec.MsgspecError):
        raise StoreRefusedError(
            "the record of a bulk change cannot be read: somebody else has changed its keys"
        ) from None
