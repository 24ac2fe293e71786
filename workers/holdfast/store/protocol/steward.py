"""The port of a steward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.core.lanes import LaneLimit, Lanes
from holdfast.core.store_info import LaneHead
from holdfast.core.tasks import MAX_CRASHES, Counts, Epoch, Startable

MOST_PEEKS = 500  # lanes that one process blocks on; each takes a connection


class StewardStore(Protocol):
    """What a steward needs."""

    async def preflight(self) -> None:
        """Reachable, new enough, not evicting, our schema: else StoreUnavailableError or StoreRefusedError."""
        ...

    async def vouch(self, incarnations: Sequence[str]) -> None: ...

    async def recover(
        self, incarnation: str, cause: str, charged: bool, *, ordered: bool = False, max_crashes: int = MAX_CRASHES
    ) -> int:
        """Tombstone the incarnation and put back what it owned; how many. A second call answers 0. `charged`: it counts
        as a crash of its tasks; `ordered`: an order has caused it, and it makes no task a suspect."""
        ...

    async def reap(self, lease_ms: int, grace_ms: int, max_crashes: int = MAX_CRASHES) -> dict[str, int]:
        """Recover incarnations whose lease has lapsed, seen twice; how many tasks each owned."""
        ...

    async def promote(self, limit: int) -> tuple[int, int | None]:
        """Submit due tasks; how many, and milliseconds until the next is due (None: nothing delayed)."""
        ...

    async def suspects(self, lanes: Sequence[str], workers: Sequence[str] = ()) -> Startable:
        """How many suspects of these lanes may start now, as far as they were looked at.

        `workers`: incarnations of a pool, which have the handlers of those that are counted; without any all are.
        """
        ...

    async def unserved(self, timeout_ms: int, limit: int) -> int:
        """End tasks that have waited so long while no live worker had their handler; how many.

        Looks at `limit` gates, and at as many tasks of each.
        """
        ...

    async def left(self, lanes: Sequence[str]) -> tuple[bool, int | None, int]:
        """Whether anything of these lanes waits, runs or is due; milliseconds until a delayed task is due; how many
        tasks wait for handlers that no live worker has, which is not counted as left."""
        ...

    async def counts(self) -> Counts: ...

    async def peek(self, lane: str, timeout: float) -> bool:
        """Block while the lane is empty, at most `timeout` seconds; whether it has something."""
        ...

    async def ring(self, *lanes: str) -> int:
        """Ring the bell of each of these lanes that holds entries; how many they hold."""
        ...

    async def look_at_front(self, lane: str, earlier: LaneHead) -> LaneHead:
        """The front of the lane, and how many foreign entries were pushed there since the earlier look."""
        ...

    async def note_wrong_end(self, lane: str, front: LaneHead, steward: str) -> int:
        """Count the foreign entries that a look saw pushed at the front of the lane: of one steward at a time, as all
        see the same. How many since the lane's end was set or a day without any; 0 where its front is another now."""
        ...

    async def lanes(self, lanes: Sequence[str]) -> Lanes: ...

    async def declare(self, host: str, rules: Sequence[LaneLimit]) -> int:
        """All bounds that the settings of this host say; what they said and say no longer goes. How many changed."""
        ...

    async def limit_messages(self, most: int) -> None:
        """From now on at most so many messages wait for one task; more are refused."""
        ...

    async def audit(self, lane: str, limit: int, cursor: str) -> tuple[int, str]:
        """Put back own entries that somebody else took (seen missing twice); how many, and the next cursor."""
        ...

    async def trim(self, keep_ms: int, limit: int) -> int:
        """Delete tasks that ended more than `keep_ms` ago; how many."""
        ...

    async def wait_alarm(self, timeout: float) -> bool:
        """Block until an earlier due time appears, at most `timeout` seconds."""
        ...

    async def run_id(self) -> str:
        """Changes when the store was restarted or failed over: leases are not to be believed for a while."""
        ...

    async def epoch(self, known: Epoch, fresh: str) -> Epoch:
        """The store's present life, under the name `fresh` if it has none; `known` is what the caller last saw of it,
        or has no name. A store that comes back empty begins another one."""
        ...

    async def latest(self, seen: str) -> tuple[str, int | None]:
        """The id of the last event, to be shown the next time; and where the one `seen` is not there any more, although
        older ones are, how many milliseconds of what was seen are gone at least."""
        ...

    async def clock_ms(self) -> int: ...
