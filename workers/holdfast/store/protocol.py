"""The protocol between Holdfast and its stores. Nothing here knows of Redis, Lua or SQL.

A store is made of parts, one for each role that calls it; each part has a protocol here, and `Store` is all of them.
Times are milliseconds of the store's clock where a name ends in `_ms`. Every call is idempotent (by request number,
claim or id), so a caller may repeat one whose answer was lost. A store that cannot be reached raises
StoreUnavailableError.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.activity import Activity, Happening, Happenings
from holdfast.core.batches import BatchPage, BatchRecord, BatchTask, Canceled
from holdfast.core.bulk_changes import BulkChange
from holdfast.core.conversations import About, Conversation, NotedWrite
from holdfast.core.counts import Counts, Epoch, KeptTask, LedgerStatus, Obliterated
from holdfast.core.delivery import (
    EmittedBatch,
    EmitVerdict,
    Hint,
    Holding,
    PartsPage,
    Pulled,
    Renewed,
    Settlement,
    Standing,
)
from holdfast.core.lanes import LaneLimit, Lanes, UnreadableEntry
from holdfast.core.outcomes import ParentResult
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.quiet_hosts import HaltScope, Quiet, QuietOrder
from holdfast.core.rollup import Rollup
from holdfast.core.schedule_records import (
    Definition,
    Due,
    FireOrder,
    Occurrence,
    Put,
    Retired,
    SchedulePage,
    ScheduleRecord,
    SpoiltSchedule,
    Undeclared,
)
from holdfast.core.steps import SleepKept, StepHead, StepKept, StepRecord
from holdfast.core.store_info import Gauges, KeyCount, LaneHead, ServerAddress, StoreInfo, Tended
from holdfast.core.tasks import Page, Place, RetryAnswer, TaskIds, TaskRecord, TextSearch, Wanted
from holdfast.core.webhook_notice import Answered, Notice, Outbox, Room, SpoiltNotice
from holdfast.core.worker_records import (
    MAX_CRASHES,
    Admission,
    HostFacts,
    Introduction,
    ServedState,
    Startable,
    Strays,
    WorkerRecord,
)

SendPull = Callable[[int, int], bool]  # sends a pull, by its number and its slots; False if it cannot be sent any more

MOST_PEEKS = 500  # lanes that one process blocks on; each takes a connection


class ServerStore(Protocol):
    """Checks that the server behind a store can be used."""

    async def ping(self) -> None:
        """Return if the server answers."""
        ...

    async def preflight(self, lanes: Sequence[str] = ()) -> None:
        """Return if the server is reachable, new enough, evicts nothing, holds our schema, and allows its user every
        command that is needed for the queue and these lanes.

        Raises StoreUnavailableError or StoreRefusedError.
        """
        ...

    def address(self) -> ServerAddress | None:
        """The address of the server in use; None if there is none, or it was not found yet."""
        ...


class WorkerStore(Protocol):
    """The calls of one worker process."""

    async def register(self, worker: Introduction) -> Standing: ...

    async def reconnected(self, incarnation: str) -> None:
        """Tell that a connection of this worker has ended: if a ledger follows the store, nobody claims until the
        steward has compared the two."""
        ...

    async def pull(
        self,
        incarnation: str,
        request: int,
        slots: int,
        lanes: Sequence[str],
        settlements: Sequence[Settlement],
        weights: Sequence[int] = (),
        ahead: int = 0,
    ) -> Pulled:
        """Settle, then claim up to `slots` tasks. `weights` has one number for each lane; without weights, tasks come
        from the first lane that has any. `ahead`: how many more may be claimed, if the worker serves one lane and no
        limit applies.
        """
        ...

    async def add_samples(self, incarnation: str, number: int, samples: Mapping[str, int | bytes]) -> None:
        """Add what a worker has measured to the rollup of this minute, once for each number: by field a number, or a
        histogram (see core/rollup.py)."""
        ...

    async def earlier(self, task_id: str, before: int) -> tuple[tuple[bytes, ...], int]:
        """The last of the first `before` items of a task's history that one answer has room for, and how many items go
        before those."""
        ...

    async def step(self, task_id: str, claim: str, place: int, name: str, result: bytes) -> StepKept:
        """Keep the result (JSON) of a step under the latest claim of a running task."""
        ...

    async def sleep(self, task_id: str, claim: str, place: int, name: str, milliseconds: int) -> SleepKept:
        """Record a sleep under the latest claim of a running task; if one is recorded there, answer how long it still
        lasts."""
        ...

    async def emit(self, batches: Sequence[EmittedBatch]) -> list[EmitVerdict]:
        """Keep parts that running tasks have emitted, each batch under the latest claim of its task. The same batch
        again changes nothing."""
        ...

    async def inbox(self, incarnation: str) -> tuple[str, bytes] | None:
        """The lane and the bytes of the first entry of this worker's inbox; None if the inbox is empty."""
        ...

    async def admit(self, incarnation: str, admission: Admission) -> str:
        """Take the first entry of the inbox, which the worker has parsed, as a task.

        Answers a word of Accepted, `set-aside`, or `gone` (it was admitted before).
        """
        ...

    async def renew(
        self, incarnation: str, state: str, answered: int, holdings: Sequence[Holding], lanes: Sequence[str] = ()
    ) -> Renewed:
        """Extend the lease, compare what the worker holds with what it owns, and report if entries wait in `lanes`."""
        ...

    async def listen(self, incarnation: str, lanes: Sequence[str], timeout: float) -> Hint | None:
        """Block until a bell of these lanes rings or a hint for this worker comes, at most `timeout` seconds.

        Without lanes it waits for hints alone.
        """
        ...

    async def listen_and_pull(
        self,
        incarnation: str,
        lanes: Sequence[str],
        timeout: float,
        weights: Sequence[int],
        offer: Callable[[SendPull | None], None],
    ) -> tuple[Hint | None, Pulled | None]:
        """`listen`, together with a `pull` without settlements that the store runs as soon as the wait ends. Returns
        the hint, and the answer of the pull (None if none was sent). `offer` gets the function that sends the pull, and
        later None when it is too late to send it. If the store cannot do this, `offer` is never called. After an error
        the pull may have run: call `pull` again with its number.
        """
        ...

    async def wake(self, incarnation: str) -> None:
        """End this worker's own `listen`, so that it can be called with other lanes."""
        ...


class StewardStore(Protocol):
    """The calls of a steward: recovery, due tasks, bells, audit."""

    async def vouch(self, incarnations: Sequence[str], host: HostFacts | None = None) -> None:
        """Extend the leases of workers that the steward's parent has not reported dead, and note about their host."""
        ...

    async def recover(
        self,
        incarnation: str,
        cause: str,
        charged: bool,
        *,
        ordered: bool = False,
        max_crashes: int = MAX_CRASHES,
        begun: Mapping[str, str] | None = None,
        lost_ms: int | None = None,
    ) -> int:
        """Declare the incarnation dead and put back its tasks; returns their number. A second call answers 0.
        `charged`: the death counts as a crash of its tasks. `ordered`: an operator's order caused the death, and it
        makes no task a suspect. `begun`: the tasks that it had begun, each with the claim under which it has ended; ''
        means it runs, and counts under every claim. For claims that had not begun the death does not count. None:
        unknown; then its oldest claims count as begun, as many as it ran at once. `lost_ms`: how long ago it ended;
        None: unknown, then its last heartbeat counts.
        """
        ...

    async def last_request(self, incarnation: str) -> int:
        """The number of the last `pull` of this worker; 0 where it is not known."""
        ...

    async def take_back(self, incarnation: str, last_request: int, begun: Mapping[str, str]) -> int:
        """Put back the tasks that a silent worker has claimed and not begun; returns their number. `begun`: see
        `recover`. Claims of requests after `last_request` stay. The worker must not begin the others any more: see
        `BegunTasks.is_revoked`. No crash and no release is counted for them.
        """
        ...

    async def reap(self, lease_ms: int, grace_ms: int, max_crashes: int = MAX_CRASHES) -> dict[str, int]:
        """Recover the workers whose lease has expired in two looks in a row; returns the number of tasks that each
        owned."""
        ...

    async def promote(self, limit: int) -> tuple[int, int | None]:
        """Submit due tasks; returns their number, and milliseconds until the next is due (None: no task is delayed)."""
        ...

    async def suspects(self, lanes: Sequence[str], workers: Sequence[str] = ()) -> Startable:
        """The number of suspects of these lanes that may start now; a bounded number is looked at.

        With `workers`, the incarnations of a pool, only suspects whose handler that pool has are counted.
        """
        ...

    async def unserved(self, timeout_ms: int, limit: int) -> int:
        """Fail tasks that have waited this long while no live worker had their handler; returns their number. It looks
        at `limit` gates, and at `limit` tasks of each.
        """
        ...

    async def left(self, lanes: Sequence[str]) -> tuple[bool, int | None, int]:
        """Three values: True if a task of these lanes waits, runs or is due; milliseconds until a delayed task is due;
        the number of tasks whose handler no live worker has. The first value does not count these."""
        ...

    async def peek(self, lane: str, timeout: float) -> bytes | None:
        """Block while the lane is empty, at most `timeout` seconds; the first entry of its list, None if it is
        empty."""
        ...

    async def ring(self, *lanes: str) -> tuple[int, int]:
        """Ring the bell of these lanes if they hold entries. Answers the number of entries, and the number of lanes
        with entries that were not rung: no worker had heard their last bell yet, or they may start no task now."""
        ...

    async def tend(self, lanes: Sequence[str]) -> Tended:
        """Carry out the orders (cancel, pause, resume) near both ends of these lanes, of the first ones if there are
        many, and remove entries there that no task needs. Lanes that were looked at half a second ago are left out."""
        ...

    async def look_at_front(self, lane: str, earlier: LaneHead) -> LaneHead:
        """The front of the lane, with the number of foreign entries that were pushed there since the earlier look."""
        ...

    async def note_wrong_end(self, lane: str, front: LaneHead, steward: str) -> int:
        """Count the foreign entries that a look saw pushed at the front of the lane. All stewards see the same entries,
        so only one steward's are counted at a time. Answers the count since the lane's end was set, or since a day
        without such entries; 0 if the lane's front was changed.
        """
        ...

    async def limit_messages(self, most: int) -> None:
        """Set how many messages may wait for one task; more are refused."""
        ...

    async def audit(self, lane: str, limit: int, cursor: str) -> tuple[int, str]:
        """Put back our own entries that another program took out of the lane (two looks in a row miss them); returns
        their number, and the next cursor."""
        ...

    async def wait_alarm(self, timeout: float) -> bool:
        """Block until an earlier due time appears, at most `timeout` seconds."""
        ...

    async def run_id(self) -> str:
        """The server's run id. Another one means a restart or a failover: leases do not count for a while."""
        ...

    async def epoch(self, known: Epoch, fresh: str) -> Epoch:
        """The store's present epoch, which gets the name `fresh` if it has none. `known` is the one that the caller saw
        last. A store that comes back empty begins another epoch."""
        ...

    async def latest(self, seen: str) -> tuple[str, int | None]:
        """The id of the last event, to be passed as `seen` in the next call. If the store has lost the event `seen`
        although it holds older ones: at least how many milliseconds of events are lost."""
        ...

    async def clock_ms(self) -> int:
        """The store's clock."""
        ...


class ProducerStore(Protocol):
    """The calls of producers."""

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        """Submit tasks without options (dependencies, expiry …); `submit_with_options` takes those with options."""
        ...

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        """Submit tasks, some with options, in their order: one may wait for another of the same call."""
        ...

    async def message(self, submission: Submission) -> Accepted:
        """Add a message to a task that exists; `unknown` otherwise. Lane, due time and limits of the task stay."""
        ...

    async def cancel(self, task_id: str, reason: str) -> str:
        """Cancel a task; its state afterwards, or `unknown`. An unknown task is canceled if it comes within ten
        minutes."""
        ...

    async def pause(self, task_id: str, reason: str) -> str:
        """Pause a task; its state afterwards, or `unknown`."""
        ...

    async def resume(self, task_id: str, reason: str) -> str:
        """Resume a task; its state afterwards, or `unknown`."""
        ...

    def settled(self, task_ids: Sequence[str]) -> AsyncIterator[str]:
        """Ids of these tasks as their turns settle; the first item is '' once the subscription stands."""
        ...

    def emitted(self, task_id: str) -> AsyncGenerator[str]:
        """Like `settled` for this task, and also its id when new parts are stored. Several notices may come as one."""
        ...


class TaskStore(Protocol):
    """The calls that read, retry and delete the records of tasks."""

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None: ...

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """A page of these tasks without payloads. While tasks change their state a list may miss or repeat one."""
        ...

    async def search(self, wanted: Wanted, search: TextSearch, limit: int, cursor: str = "") -> Page:
        """Like `tasks`, but only tasks that contain a text (see core/tasks.py). One call is one step: it reads at
        most some hundred tasks and half a megabyte of their texts. So a page may be empty and still have a cursor."""
        ...

    async def task_ids(self, beginning: str, cursor: str, page: int) -> TaskIds:
        """The ids of tasks that start with `beginning`, among the next `page` keys."""
        ...

    async def place(self, task_id: str) -> Place | None:
        """The place of a submitted task in its lane; None for any other task."""
        ...

    async def steps(self, task_id: str, first: int = 0) -> tuple[tuple[StepRecord, ...], int | None]:
        """The recorded steps of a task from this place on, as many as one answer holds, and the place of the next one
        (None: there are no more)."""
        ...

    async def parents(
        self, task_id: str, first: int = 1, *, results: bool = True
    ) -> tuple[tuple[ParentResult, ...], int | None]:
        """The tasks that it was submitted after, in their order, from this place on, as many as one answer holds, and
        the place of the next one (None: there are no more)."""
        ...

    async def children(self, task_id: str, limit: int) -> tuple[int, tuple[str, ...]]:
        """The number of tasks that were submitted after it and are kept, and the ids of the first."""
        ...

    async def small_results(self, task_ids: Sequence[str], most_bytes: int) -> dict[str, bytes]:
        """The results of these tasks, at most a hundred, by their ids; a result of more bytes is left out."""
        ...

    async def emitted_parts(self, task_id: str, after: int) -> PartsPage:
        """The parts of a task behind a position, as many as one answer holds."""
        ...

    async def step_names(self, task_id: str, first: int = 0) -> tuple[tuple[StepHead, ...], int | None]:
        """As `steps`, without the results; of a task that only the ledger remembers, too."""
        ...

    async def retry(self, task_id: str, reason: str, change: str = "") -> RetryAnswer:
        """Run a failed, rejected or canceled task again, as a new task; submit a delayed task now. `change`: the bulk
        change that does so; it does not retry a task again that it has retried before."""
        ...

    async def dead_letters(self, limit: int, cursor: str = "", before_ms: int | None = None) -> Page:
        """Dead letters that were not retried (until a moment), without payloads, newest first."""
        ...

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        """Delete the dead letters among these tasks; returns their number."""
        ...

    async def forget_tasks(self, task_ids: Sequence[str]) -> int:
        """Delete the ended tasks among these with all their data; returns their number."""
        ...

    async def trim(self, keep_ms: int, limit: int) -> int:
        """Delete tasks that ended more than `keep_ms` ago; their number."""
        ...

    async def obliterate(self, cursor: str, page: int, *, force: bool) -> Obliterated:
        """One step ('' to begin) of deleting everything of the queue, schedules and settings of lanes included."""
        ...


class UnreadableStore(Protocol):
    """The calls that look through the unreadable entries, which were set aside."""

    async def unreadable(self, limit: int) -> list[UnreadableEntry]:
        """The entries that were set aside, newest first."""
        ...

    async def unreadable_at(self, address: str) -> UnreadableEntry | None: ...

    async def readmit(self, address: str) -> str:
        """Put an entry back into its lane. Answers `back`, `gone`, or `cut` if only its beginning was kept."""
        ...

    async def forget_unreadable(self, address: str) -> bool:
        """Delete one entry. False: it was gone."""
        ...

    async def purge_unreadable(self, until_ms: int, limit: int) -> int:
        """Delete at most `limit` entries that were set aside until then, oldest first; their number."""
        ...


class AdminStore(Protocol):
    """The calls of operators about tasks and workers as a whole."""

    async def counts(self) -> Counts: ...

    async def workers(self) -> list[WorkerRecord]: ...

    async def incarnations(self, names: Collection[str]) -> dict[str, WorkerRecord]:
        """The known workers among these: living ones, and those that died within a day."""
        ...

    async def key_count(self) -> KeyCount:
        """The number of keys, for the progress of work on all keys; the queue's own number is an estimate."""
        ...

    async def strays(
        self, cursor: str, page: int, silence_ms: int, *, put_back: bool, max_crashes: int = MAX_CRASHES
    ) -> Strays:
        """Working tasks whose owner is dead, unknown, or silent for so long, among the next `page` keys ('' to begin).

        With `put_back` they go back to the heads of their lanes, uncharged, and their owners are declared dead.
        """
        ...

    async def peek_entries(self, lane: str, limit: int) -> list[bytes]:
        """The first entries of a lane, which stay there."""
        ...

    async def clear(self, lane: str, limit: int) -> int:
        """Cancel waiting tasks from the lane's head, at most `limit` entries; the number of entries (0: empty)."""
        ...


class LaneStore(Protocol):
    """The calls about lanes: their state, limits and pauses."""

    async def lanes(self, lanes: Sequence[str]) -> Lanes:
        """The state of lanes: these, those that tasks came through, and those that have limits or are paused."""
        ...

    async def service(self, places: Sequence[tuple[str, str]]) -> list[ServedState]:
        """The workers that could run tasks, for each lane and handler's name ('' for tasks that name none)."""
        ...

    async def bound(self, rules: Sequence[LaneLimit]) -> int:
        """Set an operator's limits, which override those of settings; the number that changed."""
        ...

    async def declare(self, host: str, rules: Sequence[LaneLimit]) -> int:
        """Set all limits in the settings of this host, and remove those that it set before and no longer has. Returns
        how many changed."""
        ...

    async def pause_lane(self, lane: str, reason: str) -> bool:
        """Start no more tasks from a lane, on any host; the lane still accepts. False: it was paused before."""
        ...

    async def resume_lane(self, lane: str) -> bool:
        """Resume a lane. False: it was not paused."""
        ...


class HostStore(Protocol):
    """The calls about hosts that claim nothing: quiet hosts and halts."""

    async def quiet_host(self, host: str, by: str, reason: str) -> QuietOrder:
        """Make the workers of a host (ALL_HOSTS: of all) claim nothing until it is resumed, new workers included."""
        ...

    async def resume_host(self, host: str, by: str) -> QuietOrder:
        """End `quiet_host`. An order for all hosts and one for this host are ended separately."""
        ...

    async def halt_host(self, host: str, by: str, reason: str) -> QuietOrder:
        """Make the workers of a host (ALL_HOSTS: of all) claim nothing and make no fires until the halt is ended.

        Processes that end at halts and were started before it end. Every call is a new halt. Raises ValueError if
        `host` or `by` is empty.
        """
        ...

    async def end_halt(self, host: str, by: str) -> QuietOrder:
        """End only a halt: a host that is also quiet stays quiet."""
        ...

    async def quiet_hosts(self) -> tuple[Quiet, ...]:
        """The orders to claim nothing, halts last; of each kind those for all hosts first."""
        ...

    async def last_halt(self, host: str) -> int:
        """The number of the last halt of this host or of all hosts, ended or not; 0: there was none."""
        ...


class EventStore(Protocol):
    """The calls that read the event stream."""

    async def events(self, after: str, limit: int, timeout: float = 0.0) -> Happenings:
        """Events after a position ('' from the first one kept), once there are some, at most `timeout` seconds. `limit`
        counts entries of the stream; an entry that names several tasks gives one event for each."""
        ...

    async def events_before(self, position: str, limit: int) -> tuple[Happening, ...]:
        """Events before a position ('' from the last one), newest first."""
        ...


class InspectStore(Protocol):
    """The calls that look at everything; costly."""

    async def snapshot(self) -> dict[str, object]:
        """Every key with type, when it expires (`ttl`: Unix time in ms, -1: never) and content, at one moment."""
        ...

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        """The state of the server and of the queue for an operator; these lanes are watched for `watch` seconds.

        Changes nothing. Raises StoreUnavailableError, or StoreRefusedError if the login fails.
        """
        ...


class ScheduleStore(Protocol):
    """The calls about schedules; producers define them, stewards fire them. Moments are milliseconds of the store's
    clock."""

    async def put_schedule(
        self, definition: Definition, expected: int | None, due: int | None, *, again: bool, asked: int | None = None
    ) -> Put:
        """Set a schedule. The same spec changes nothing; with `again` one that has ended begins anew."""
        ...

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """The schedules that are due. `scope`: the halts that keep the caller from making fires; None: no halt does."""
        ...

    async def schedules_soon(self, after: int, until: int, offset: int, limit: int) -> tuple[ScheduleRecord, ...]:
        """A page of the schedules that are due after one moment and up to another, earliest first."""
        ...

    async def set_schedule_aside(self, one: SpoiltSchedule) -> str:
        """Make an unreadable schedule never due until it is set again: `aside`, or `changed` if it was set since."""
        ...

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[str]:
        """Carry out orders; a fire is made once. The word for each order: fired, stale (decided for another moment),
        paused, changed (the schedule was set since), gone, no-list (the key of its lane is no list, so the schedule is
        paused), or halted."""
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

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None:
        """The schedule; None if unknown. Raises UnreadableScheduleError if the record cannot be read."""
        ...

    async def schedules(self, limit: int, cursor: str = "") -> SchedulePage:
        """The next to fire first, those without a next fire last."""
        ...

    async def schedules_of(self, owner: str, limit: int, cursor: str = "") -> tuple[tuple[str, ...], str]:
        """A page of the ids of an owner's schedules, and the cursor that continues it, empty at its end."""
        ...

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """Remove declared schedules that no live worker declares any more, while a pool of their application serves.
        This works in steps of about `limit` schedules. `seen` is the token of the step before, empty at first. After
        the last step it rests until something changes or a minute has passed.
        """
        ...

    async def undeclared_schedules(self, limit: int) -> tuple[Undeclared, ...]:
        """The declared schedules that no live worker declares any more, and that nothing removes."""
        ...

    async def schedule_history(self, schedule_id: str, limit: int) -> tuple[Occurrence, ...]:
        """The last fires and their outcomes, newest first; a hundred are kept."""
        ...

    async def wait_fires(self, timeout: float) -> bool:
        """Block until an earlier fire appears, at most `timeout` seconds."""
        ...

    async def clock_ms(self) -> int:
        """The store's clock."""
        ...


class BatchStore(Protocol):
    """The calls about batches; their tasks are submitted by `submit_with_options`."""

    async def batch(self, batch_id: str) -> BatchRecord | None: ...

    async def batches(self, limit: int, cursor: str = "", beginning: str = "") -> BatchPage:
        """A page of batches, the latest first: those among `limit` whose ids begin so."""
        ...

    async def batch_tasks(self, batch_id: str, after: int, limit: int) -> tuple[tuple[BatchTask, ...], bool]:
        """The tasks at the `limit` places behind `after`, in order; True if there are places behind these."""
        ...

    async def seal_batch(self, batch_id: str) -> str:
        """Let a batch take no more tasks: `sealed`, `again` or `unknown`."""
        ...

    async def cancel_batch(self, batch_id: str, limit: int, reason: str) -> Canceled:
        """Cancel the callback and at most `limit` open tasks."""
        ...

    async def look_at_batches(self, limit: int) -> tuple[int, int | None]:
        """Count ends that were not counted, among at most `limit` open tasks of one batch; the number
        that was counted, and milliseconds until there is more to look at (None: no batch is open)."""
        ...


class WebhookStore(Protocol):
    """The calls about webhooks: URLs that get a request when a task ends."""

    async def take_notices(
        self, limit: int, lease_ms: int, room: Room | None = None
    ) -> tuple[list[Notice | SpoiltNotice], int | None]:
        """Take notices to post now; nobody else gets them for `lease_ms`. Also returns milliseconds until the next
        (None: none waits). `room`: limits for receivers (None: no limits)."""
        ...

    async def note_receiver(self, receiver: str, answered: Answered) -> None:
        """Note how a receiver answered a notice: this decides when it gets the next one."""
        ...

    async def notice_done(self, name: str, why: str = "", at_ms: int | None = None) -> bool:
        """Mark a notice as posted, or as given up for the reason `why`. False if that was done before. `at_ms`: the
        moment of the posted notice. If the task has made progress since, that is posted next.
        """
        ...

    async def notice_later(self, name: str, delay_ms: int, *, untried: bool = False) -> None:
        """Post a notice again after a delay. `untried`: it was not posted, and has as many tries as before."""
        ...

    async def outbox(self, offset: int, limit: int) -> Outbox:
        """Waiting notices in the order of posting, without the first `offset`."""
        ...

    async def notice_now(self, name: str) -> bool:
        """Post a notice that waits now. False: it does not wait any more."""
        ...

    async def set_webhook(self, url: str) -> None:
        """Set the URL for all tasks without their own; '' for none."""
        ...

    async def set_webhook_of_task(self, task_id: str, known: str, url: str) -> str:
        """Set the URL of one task ('' for none) if it has the `known` one: `set`, `other` or `unknown`."""
        ...

    async def wait_notices(self, timeout: float) -> bool:
        """Block until a new notice appears, at most `timeout` seconds."""
        ...


class ConversationStore(Protocol):
    """The calls of an application that keeps its conversations in the task store. Payloads are JSON."""

    async def note(self, task_id: str, context_id: str, owner: str, message: bytes) -> str:
        """Keep a message before its task, or one more message for it, is submitted: a word of Noted, or the state in
        which the task ended."""
        ...

    async def note_state(self, task_id: str, state: str, wanted: tuple[str, ...] = ()) -> NotedWrite:
        """Write the state of a task that is noted and not submitted; with `wanted` only if it is in one of these."""
        ...

    async def noted(self, limit: int, offset: int) -> tuple[dict[str, str], int]:
        """The states of at most `limit` tasks that are noted and not submitted, by task id; and the next offset, -1 at
        the end."""
        ...

    async def noted_state(self, task_id: str) -> str:
        """The state that was written to a noted task; empty for one that is not noted or was submitted."""
        ...

    async def add(
        self,
        task_id: str,
        *,
        ran: bool = False,
        metadata: dict[str, bytes] | None = None,
        added: tuple[bytes, ...] = (),
        feedback: bytes | None = None,
        push: bytes | None = None,
    ) -> None:
        """Keep data beside a task, as long as its record is kept. `ran`: the noted task has been submitted."""
        ...

    async def about(self, task_id: str) -> About:
        """The data that is kept beside a task."""
        ...

    async def cancel_if(self, task_id: str, states: tuple[str, ...], reason: str) -> bool:
        """Cancel a task that is in one of these states; True if this call did it."""
        ...

    async def conversation(self, context_id: str) -> Conversation | None: ...

    async def conversations(self, owner: str | None, limit: int, offset: int) -> list[str]:
        """Context ids, the newest conversation first: of an owner ('' for those without one), or of all."""
        ...

    async def write_conversation(self, context_id: str, data: bytes) -> None:
        """Write a conversation's data; an unknown one is opened, without an owner."""
        ...

    async def clear_conversation(self, context_id: str, limit: int) -> int:
        """Cancel and delete the first tasks of a conversation; the number of tasks left, -1 for an unknown
        conversation. With none left the conversation is deleted."""
        ...

    async def feedback(self, task_id: str) -> list[bytes]: ...

    async def push(self, task_id: str) -> bytes | None: ...

    async def pushes(self) -> dict[str, bytes]: ...

    async def forget_push(self, task_id: str) -> None: ...


class ActivityStore(Protocol):
    """The calls about Activity: the log of changes that users asked for."""

    async def note_activity(self, activity: Activity) -> None:
        """Keep it. The last 10,000 are kept."""
        ...

    async def activity_before(self, position: str, limit: int) -> tuple[Activity, ...]:
        """The changes before a position ('' from the last one), newest first."""
        ...


class WebSessionStore(Protocol):
    """The calls about browsers that are logged in to the dashboard: all its processes see the same ones."""

    async def begin_web_session(self, session: str, now_ms: int, until_ms: int) -> None:
        """Keep a session. Sessions that have ended by now are deleted. If the owner has more than 100, those that end
        first are deleted. `session`: `OWNER:NAME`; `now_ms` and `until_ms`: by the caller's clock."""
        ...

    async def end_web_session(self, session: str) -> None: ...

    async def has_web_session(self, session: str) -> bool: ...


class HandlerStore(Protocol):
    """The calls about the handlers that workers publish: how a task of each is submitted."""

    async def publish_handlers(self, handlers: Sequence[PublishedHandler]) -> None:
        """Keep these handlers by name. When workers come or go, handlers that no live worker has are forgotten."""
        ...

    async def published_handler(self, name: str) -> PublishedHandler | None:
        """The handler of this name ('': of tasks that name none), as it was published last."""
        ...

    async def published_handlers(self) -> tuple[PublishedHandler, ...]:
        """All, by their names."""
        ...


class BulkChangeStore(Protocol):
    """The calls about bulk changes: one verb for all tasks that a filter finds, carried out in steps."""

    async def begin_bulk(self, change: BulkChange) -> BulkChange:
        """Keep it, with the store's time as its beginning. The last 100 are kept."""
        ...

    async def note_bulk(self, before: BulkChange, after: BulkChange) -> bool:
        """Keep the progress of a step and add its counts, also for a run that was stopped meanwhile. False if no step
        should follow: the change is done, was stopped, or another run goes on with it."""
        ...

    async def stop_bulk(self, change_id: str) -> bool:
        """Stop the running change after its present step. False: it does not run."""
        ...

    async def resume_bulk(self, change_id: str) -> BulkChange | None:
        """Begin the next run of a change; the caller carries it out. An earlier run ends after its step. None if the
        change runs, is done, or is unknown."""
        ...

    async def bulk_change(self, change_id: str) -> BulkChange | None: ...

    async def bulk_changes(self, limit: int) -> tuple[BulkChange, ...]:
        """The last ones, newest first."""
        ...


class RollupStore(Protocol):
    """The calls about rollups, by their start in milliseconds of the store's clock."""

    async def minutes(self, since_ms: int, until_ms: int) -> dict[int, Rollup]:
        """The rollups of minutes that overlap this time, where there are any; they are kept for eight hours."""
        ...

    def rollups(self, length_ms: int, since_ms: int, until_ms: int) -> AsyncIterator[tuple[int, Rollup | None]]:
        """Each minute, ten minutes, hour or day (by `length_ms`) that overlaps this time: its start in milliseconds and
        its rollup; None where there is none. Packed ones, all but minutes, are kept for thirty days."""
        ...

    async def keep_rollup(self, length_ms: int, start_ms: int, rollup: Rollup) -> bool:
        """Keep a packed rollup of ten minutes, an hour or a day that is over. False where there is one already."""
        ...


class MetricsStore(Protocol):
    """The calls of the steward that reports metrics."""

    async def report_duty(self, steward: str, ms: int) -> bool:
        """Take or keep the duty to report the queue's figures for this long, or give it up (0). False: another steward
        has it."""
        ...

    async def gauges(self, lease_ms: int) -> Gauges: ...


class Store(
    ServerStore,
    WorkerStore,
    StewardStore,
    ProducerStore,
    TaskStore,
    UnreadableStore,
    AdminStore,
    LaneStore,
    HostStore,
    EventStore,
    InspectStore,
    ScheduleStore,
    BatchStore,
    WebhookStore,
    ConversationStore,
    ActivityStore,
    WebSessionStore,
    BulkChangeStore,
    HandlerStore,
    RollupStore,
    MetricsStore,
    Protocol,
):
    """A whole store; `aclose` ends its connections."""

    async def aclose(self) -> None: ...


@runtime_checkable
class Ledger(Protocol):
    """The further calls of a store whose tasks PostgreSQL keeps, too. LedgerUnavailableError: PostgreSQL is away."""

    async def keep(self) -> KeptTask:
        """One round of replication from Redis to PostgreSQL; any steward may do the next one."""
        ...

    async def news(self, seconds: float) -> None:
        """Block until there is an event that was not replicated, at most this many seconds."""
        ...

    async def ledger(self) -> LedgerStatus: ...
