"""The port between Holdfast and its stores. Nothing here knows of Redis, Lua or SQL.

Three roles speak to a store, each through its own protocol; a store implements all three. Times are milliseconds of
the store's clock where a name ends in `_ms`. Every call is idempotent (by request number, claim or id), so the caller
may repeat one whose answer was lost. A store that cannot be reached raises StoreUnavailableError.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol, runtime_checkable

from holdfast.core.definitions import Definition, Due, FireOrder, Occurrence, Put, SchedulePage, ScheduleRecord
from holdfast.core.deliveries import Hint, Holding, Pulled, Renewed, Settlement, Standing
from holdfast.core.facts import StoreFacts
from holdfast.core.lanes import Lanes, Rule
from holdfast.core.notices import Notice
from holdfast.core.records import (
    Accepted,
    Admission,
    Counts,
    Epoch,
    Happening,
    Happenings,
    Introduction,
    Kept,
    LedgerFacts,
    Page,
    Place,
    Receipt,
    RetryAnswer,
    Strays,
    Submission,
    TaskRecord,
    Unreadable,
    Wanted,
    WorkerRecord,
)


class WorkerStore(Protocol):
    """What one worker process needs."""

    async def register(self, who: Introduction) -> Standing: ...

    async def pull(
        self,
        incarnation: str,
        request: int,
        slots: int,
        lanes: Sequence[str],
        settlements: Sequence[Settlement],
        weights: Sequence[int] = (),
    ) -> Pulled:
        """Settle, then claim up to `slots`. `weights`: one for each lane; none: the first that holds something."""
        ...

    async def inbox(self, incarnation: str) -> tuple[str, bytes] | None:
        """The lane and bytes of the entry at the head of the inbox, or None."""
        ...

    async def admit(self, incarnation: str, admission: Admission) -> str:
        """Take the head of the inbox as read; answers a word of Accepted, `set-aside`, or `gone` (admitted before)."""
        ...

    async def renew(self, incarnation: str, state: str, answered: int, holdings: Sequence[Holding]) -> Renewed: ...

    async def listen(self, incarnation: str, lanes: Sequence[str], timeout: float) -> Hint | None:
        """Block until something happens, at most `timeout` seconds; with no lanes only for this worker's own hints."""
        ...

    async def wake(self, incarnation: str) -> None:
        """End this worker's own `listen`, so that it can be called with other lanes."""
        ...


class StewardStore(Protocol):
    """What a steward needs."""

    async def preflight(self) -> None:
        """Reachable, new enough, not evicting, our schema: else StoreUnavailableError or StoreRefusedError."""
        ...

    async def vouch(self, incarnations: Sequence[str]) -> None: ...

    async def recover(self, incarnation: str, cause: str, charged: bool) -> int:
        """Tombstone the incarnation and put back what it owned; how many. A second call answers 0."""
        ...

    async def reap(self, lease_ms: int, grace_ms: int) -> dict[str, int]:
        """Recover incarnations whose lease has lapsed, seen twice; how many tasks each owned."""
        ...

    async def promote(self, limit: int) -> tuple[int, int | None]:
        """Submit due tasks; how many, and milliseconds until the next is due (None: nothing delayed)."""
        ...

    async def left(self, lanes: Sequence[str]) -> tuple[bool, int | None]:
        """Whether anything of these lanes waits, runs or is due; milliseconds until a delayed task is due."""
        ...

    async def counts(self) -> Counts: ...

    async def peek(self, lane: str, timeout: float) -> bool:
        """Block while the lane is empty, at most `timeout` seconds; whether it has something."""
        ...

    async def ring(self, lane: str) -> int:
        """Ring the lane's bell if it holds entries; how many it holds."""
        ...

    async def lanes(self, lanes: Sequence[str]) -> Lanes: ...

    async def declare(self, host: str, rules: Sequence[Rule]) -> int:
        """All bounds that the settings of this host say; what they said and say no longer goes. How many changed."""
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


class ProducerStore(Protocol):
    """What producers and operators need."""

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        """Submissions without terms; see `submit_on_terms` for others."""
        ...

    async def submit_on_terms(self, submissions: Sequence[Submission]) -> list[Receipt]:
        """As `submit`, some with terms; in their order, so that one may wait for another of the same call."""
        ...

    async def message(self, submission: Submission) -> Accepted:
        """As `submit`, but for a task that there is: `unknown` makes none. Its lane, time and limits stay its own."""
        ...

    async def cancel(self, task_id: str, reason: str) -> str:
        """The task's state afterwards, or `unknown`: a task of this id is canceled if it comes within ten minutes."""
        ...

    async def pause(self, task_id: str, reason: str) -> str: ...

    async def resume(self, task_id: str, reason: str) -> str: ...

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None: ...

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """A page of these tasks without payloads. While tasks change their state a list may miss or repeat one."""
        ...

    async def counts(self) -> Counts: ...

    async def workers(self) -> list[WorkerRecord]: ...

    async def incarnations(self, names: Collection[str]) -> dict[str, WorkerRecord]:
        """Those of these workers that are known: the living, and the dead for a day."""
        ...

    async def place(self, task_id: str) -> Place | None:
        """Where a submitted task waits; None for any other."""
        ...

    async def strays(self, cursor: str, page: int, silence_ms: int, *, put_back: bool) -> Strays:
        """Working tasks whose owner is dead, unknown, or silent for so long, among the next `page` keys ('' to begin).

        With `put_back` they go back to the heads of their lanes, uncharged, and their owners are declared dead.
        """
        ...

    async def peek_entries(self, lane: str, limit: int) -> list[bytes]:
        """The first entries of a lane, left where they are."""
        ...

    async def retry(self, task_id: str, reason: str) -> RetryAnswer:
        """Run a failed, rejected or canceled task once more, as a new task; submit a delayed one now."""
        ...

    async def dead_letters(self, limit: int, cursor: str = "", before_ms: int | None = None) -> Page:
        """Tasks that were given up on (until a moment) and not retried, without payloads, newest first."""
        ...

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        """Delete those of these tasks that are dead letters; how many."""
        ...

    async def unreadable(self, limit: int) -> list[Unreadable]:
        """What was set aside, newest first."""
        ...

    async def unreadable_at(self, address: str) -> Unreadable | None: ...

    async def readmit(self, address: str) -> str:
        """Put what was set aside back into its lane: `back`; `gone`; or `cut`, as only its beginning was kept."""
        ...

    async def forget_unreadable(self, address: str) -> bool: ...

    async def purge_unreadable(self, until_ms: int, limit: int) -> int:
        """Forget what was set aside until then, oldest first, at most `limit`; how many went."""
        ...

    async def events(self, after: str, limit: int, timeout: float = 0.0) -> Happenings:
        """Events after a position ('' from the first one kept), once there are some, at most `timeout` seconds."""
        ...

    async def events_before(self, position: str, limit: int) -> tuple[Happening, ...]:
        """Events before a position ('' from the last one), newest first."""
        ...

    async def lanes(self, lanes: Sequence[str]) -> Lanes:
        """How lanes stand: these, those that tasks came through, and those that have bounds or are paused."""
        ...

    async def bound(self, rules: Sequence[Rule]) -> int:
        """An operator's word on bounds, which counts before that of settings; how many changed."""
        ...

    async def pause_lane(self, lane: str, reason: str) -> bool:
        """Start nothing more from a lane, on any host; it still accepts. False: it was paused before."""
        ...

    async def resume_lane(self, lane: str) -> bool:
        """False: it was not paused."""
        ...

    async def clear(self, lane: str, limit: int) -> int:
        """Cancel waiting tasks from the lane's head, at most `limit` entries; how many entries went (0: empty)."""
        ...

    def settled(self, task_ids: Sequence[str]) -> AsyncIterator[str]:
        """Ids of these tasks as their turns settle; the first item is '' once the subscription stands."""
        ...

    async def snapshot(self) -> dict[str, object]:
        """Every key of the namespace with type, ttl and content, in one atomic look (for checks; costly)."""
        ...

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreFacts:
        """What an operator should know of the store, seen while these lanes were watched for `watch` seconds.

        Changes nothing. StoreUnavailableError or StoreRefusedError where it lets nobody in.
        """
        ...

    async def ping(self) -> None: ...


@runtime_checkable
class Ledger(Protocol):
    """What a store has besides, where PostgreSQL keeps the tasks, too. LedgerUnavailableError: that one is away."""

    async def keep(self) -> Kept:
        """One round of the keeper's work: any steward may do the next one."""
        ...

    async def news(self, seconds: float) -> None:
        """Block until something has happened that was not ingested, at most so many seconds."""
        ...

    async def ledger(self) -> LedgerFacts: ...


class ScheduleStore(Protocol):
    """What schedules need; producers define them, stewards fire them. Moments are milliseconds of the store's clock."""

    async def put_schedule(self, definition: Definition, expected: int | None, due: int | None, *, again: bool) -> Put:
        """Set a schedule. The same spec changes nothing; with `again` one that has ended begins anew."""
        ...

    async def due_schedules(self, limit: int) -> Due: ...

    async def fire(self, orders: Sequence[FireOrder]) -> list[str]:
        """Per order: fired, paused, changed (it is not as it was seen) or gone. A fire is made once."""
        ...

    async def pause_schedule(self, schedule_id: str, reason: str, until: int | None) -> str:
        """`paused`, or `unknown`."""
        ...

    async def resume_schedule(self, schedule_id: str, generation: int, expected: int | None, due: int | None) -> str:
        """`resumed`, `running` (it was not paused), `changed`, or `unknown`."""
        ...

    async def remove_schedule(self, schedule_id: str) -> str:
        """`removed`, or `unknown`. Its running task goes on."""
        ...

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None: ...

    async def schedules(self, limit: int, cursor: str = "") -> SchedulePage:
        """The next to fire first, those without a next fire last."""
        ...

    async def schedule_history(self, schedule_id: str, limit: int) -> tuple[Occurrence, ...]:
        """What became of its fires, newest first; the last hundred are kept."""
        ...

    async def wait_fires(self, timeout: float) -> bool:
        """Block until an earlier fire appears, at most `timeout` seconds."""
        ...

    async def clock_ms(self) -> int: ...


class OutboxStore(Protocol):
    """What webhooks need."""

    async def take_notices(self, limit: int, lease_ms: int) -> tuple[list[Notice], int | None]:
        """What is to be told now, nobody else's for so long; milliseconds until more is (None: nothing waits)."""
        ...

    async def notice_done(self, name: str, why: str = "") -> bool:
        """It was told, or is given up: why. False where it was done before."""
        ...

    async def notice_later(self, name: str, delay_ms: int) -> None: ...

    async def set_webhook(self, url: str) -> None:
        """The URL of all tasks without one of their own; '' for none."""
        ...

    async def wait_notices(self, timeout: float) -> bool:
        """Block until there is something new to tell, at most `timeout` seconds."""
        ...


class Store(WorkerStore, StewardStore, ProducerStore, ScheduleStore, OutboxStore, Protocol):
    """A whole store; `aclose` ends its connections."""

    async def aclose(self) -> None: ...
