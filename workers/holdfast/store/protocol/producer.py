"""The port of producers and operators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from holdfast.core.lanes import LaneLimit, Lanes
from holdfast.core.quiet_hosts import Quiet, QuietOrder
from holdfast.core.served import ServedState
from holdfast.core.store_info import StoreInfo
from holdfast.core.tasks import (
    MAX_CRASHES,
    Accepted,
    Counts,
    Happening,
    Happenings,
    Obliterated,
    Page,
    Place,
    Receipt,
    RetryAnswer,
    Strays,
    Submission,
    TaskRecord,
    UnreadableEntry,
    Wanted,
    WorkerRecord,
)


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

    async def clock_ms(self) -> int: ...

    async def workers(self) -> list[WorkerRecord]: ...

    async def incarnations(self, names: Collection[str]) -> dict[str, WorkerRecord]:
        """Those of these workers that are known: the living, and the dead for a day."""
        ...

    async def place(self, task_id: str) -> Place | None:
        """Where a submitted task waits; None for any other."""
        ...

    async def strays(
        self, cursor: str, page: int, silence_ms: int, *, put_back: bool, max_crashes: int = MAX_CRASHES
    ) -> Strays:
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

    async def unreadable(self, limit: int) -> list[UnreadableEntry]:
        """What was set aside, newest first."""
        ...

    async def unreadable_at(self, address: str) -> UnreadableEntry | None: ...

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

    async def service(self, places: Sequence[tuple[str, str]]) -> list[ServedState]:
        """Who could run tasks there: for each lane and handler's name ('' for tasks that name none)."""
        ...

    async def bound(self, rules: Sequence[LaneLimit]) -> int:
        """An operator's word on bounds, which counts before that of settings; how many changed."""
        ...

    async def pause_lane(self, lane: str, reason: str) -> bool:
        """Start nothing more from a lane, on any host; it still accepts. False: it was paused before."""
        ...

    async def resume_lane(self, lane: str) -> bool:
        """False: it was not paused."""
        ...

    async def quiet_host(self, host: str, by: str, reason: str) -> QuietOrder:
        """Have a host (ALL_HOSTS: all) claim nothing more, until it is resumed, whatever starts anew meanwhile."""
        ...

    async def resume_host(self, host: str, by: str) -> QuietOrder:
        """Take that back. Where all and this host were told, each word is taken back by itself."""
        ...

    async def halt_host(self, host: str, by: str, reason: str) -> QuietOrder:
        """Have a host (ALL_HOSTS: all) claim nothing and make no fires until its halt is ended; what was started before
        and ends at halts ends. Each halt is new. ValueError where it names no host, or nobody who says so."""
        ...

    async def end_halt(self, host: str, by: str) -> QuietOrder:
        """Take that back, and nothing else: a host that is quiet besides stays so."""
        ...

    async def quiet_hosts(self) -> tuple[Quiet, ...]:
        """Who was told to claim nothing, halts last; of each all hosts first."""
        ...

    async def last_halt(self, host: str) -> int:
        """The number of the last halt of this host or of all, ended or not; 0: there was none."""
        ...

    async def forget_tasks(self, task_ids: Sequence[str]) -> int:
        """Delete those of these tasks that have ended, with all that is kept of them; how many."""
        ...

    async def obliterate(self, cursor: str, page: int, *, force: bool) -> Obliterated:
        """One step ('' to begin) of deleting everything of the queue, schedules and settings of lanes included."""
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

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        """What an operator should know of the store, seen while these lanes were watched for `watch` seconds.

        Changes nothing. StoreUnavailableError or StoreRefusedError where it lets nobody in.
        """
        ...

    async def ping(self) -> None: ...
