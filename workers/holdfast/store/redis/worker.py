"""The Redis calls of a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.core.acceptance import Accepted
from holdfast.core.batches import NO_BATCH, BatchCounts, DeliveredBatch, batch_counts
from holdfast.core.delivery import (
    Delivery,
    EmittedBatch,
    EmitVerdict,
    Hint,
    HintKind,
    Holding,
    Pulled,
    Renewed,
    SendPull,
    Settle,
    Settlement,
    Standing,
    Verdict,
)
from holdfast.core.steps import SleepKept, StepKept, StepVerdict
from holdfast.core.task_states import State
from holdfast.core.worker_records import Admission, Introduction, LeftInbox, ServedWork
from holdfast.store.redis import decode
from holdfast.store.redis.connection import RedisPart, Value
from holdfast.store.redis.decode import pairs

if TYPE_CHECKING:
    from holdfast.store.redis.fast_client import Send

_pack = msgspec.msgpack.Encoder().encode
_json = msgspec.json.Encoder().encode
_NO_SETTLEMENTS = _pack([])
_STANDINGS = {str(standing).encode(): standing for standing in Standing}
_VERDICTS = {str(verdict).encode(): verdict for verdict in Verdict}
_SHORT = 7  # values of a short row: a first delivery, whose other values are those of a new task
_MARK, _END_OF_MARK = b'{"_b":"', b'",'
_HINTS = {str(kind): kind for kind in HintKind}
_ADMITTED: dict[str, Accepted | State | LeftInbox] = {str(w): w for w in (*State, *Accepted, *LeftInbox)}


def _flat(s: Settlement) -> tuple[str | int, ...]:
    """A settlement as arguments of `pull`. Results and checkpoints are JSON; they are sent as texts in a form that the
    server's MessagePack can read."""
    plain = s.task_id, s.claim, s.result.decode()
    if s.kind is Settle.COMPLETED and not (s.delay_ms or s.reason or s.checkpoint or s.progress):
        return plain
    checkpoint = s.checkpoint.decode() if s.checkpoint else ""
    return *plain, s.kind, s.delay_ms, s.reason, checkpoint, s.error, s.progress


class RedisWorker(RedisPart):
    """The calls of one worker process."""

    async def register(self, worker: Introduction) -> Standing:
        """Register a new worker with the lanes and handlers that it serves. The answer says whether the worker may
        work."""
        lanes, names, limits, application, schedules = self._served(worker.service)
        place = (worker.incarnation, worker.host, worker.boot, worker.pid, worker.slot)
        served = (lanes, names, worker.kind, limits, "" if worker.halt is None else worker.halt)
        rest = (application, schedules, worker.concurrency or "", worker.answered)
        word = await self._word("register", *place, *served, *rest)
        return Standing(word)

    async def reconnected(self, incarnation: str) -> None:
        """Tell the store that a connection of this worker has ended. If PostgreSQL keeps the tasks, workers then claim
        nothing until a steward has checked that Redis has lost no data."""
        await self._run("reconnected", incarnation)

    def _served(self, service: ServedWork | None) -> tuple[bytes, bytes, bytes, str, bytes]:
        """The arguments of `register` that describe the work of the worker: lanes, handlers' names and limits,
        application and declared schedules."""
        if service is None:
            return b"", b"", b"", "", b""
        lanes = [(self._keys.name(lane.name), lane.weight, lane.timeout) for lane in service.lanes]
        names = b"" if service.names is None else _pack(sorted(service.names))
        limits = b"" if service.limits is None else _json(service.limits)
        return _json(lanes), names, limits, service.application, _pack(sorted(service.schedules))

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
        """Report ended tasks, then claim up to `slots` tasks to begin.

        `weights` has one number for each lane; without weights, tasks come from the first lane that has tasks. `ahead`:
        how many more tasks may be claimed, if the worker serves one lane and no limit applies.
        """
        packed = _pack([_flat(settlement) for settlement in settlements])
        shares = " ".join(map(str, weights))
        names = map(self._keys.name, lanes)
        return _pulled(await self._run("pull", incarnation, request, slots, packed, shares, ahead, *names))

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
        connection, names = self.connection, [self._keys.name(lane) for lane in lanes]
        if not connection.sends_behind_waits:
            return await self.listen(incarnation, lanes, timeout), None
        shares = " ".join(map(str, weights))

        def offer_pull(send: Send | None) -> None:
            def pull(request: int, slots: int) -> bool:
                rest: tuple[Value, ...] = (_NO_SETTLEMENTS, shares, 0, *names)
                return send is not None and send(*connection.operation("pull", incarnation, request, slots, *rest))

            offer(None if send is None else pull)

        control = self._keys["control"] + incarnation
        popped, answer = await connection.wait(timeout, offer_pull, *self._wait(control, lanes, timeout))
        return _hint(control, popped), None if answer is None else _pulled(answer)

    async def add_samples(self, incarnation: str, number: int, samples: Mapping[str, int | bytes]) -> None:
        """Add a worker's measurements to the rollup of this minute: for each field, a number or a histogram (see
        core/rollup.py). If a report with the same number is sent twice, the store adds it once."""
        flat = [value for item in samples.items() for value in item]
        await self._word("add_samples", incarnation, number, *flat)

    async def earlier(self, task_id: str, before: int) -> tuple[tuple[bytes, ...], int]:
        """Part of a task's history: the items just before the item number `before`, as many as one answer has room for.
        Also the number of items before these."""
        items, first = await self._run("earlier", task_id, before)
        return tuple(items), first

    async def step(self, task_id: str, claim: str, place: int, name: str, result: bytes) -> StepKept:
        """Keep the result (JSON) of a step under the latest claim of a running task."""
        word, other = await self._run("step", task_id, claim, place, name, result)
        return StepKept(StepVerdict(word.decode()), other.decode())

    async def sleep(self, task_id: str, claim: str, place: int, name: str, milliseconds: int) -> SleepKept:
        """Record a sleep under the latest claim of a running task. If a sleep is already recorded at this place, the
        answer says how long that sleep still lasts."""
        word, other, due, left = await self._run("sleep", task_id, claim, place, name, milliseconds)
        return SleepKept(StepVerdict(word.decode()), other.decode(), due, left)

    async def emit(self, batches: Sequence[EmittedBatch]) -> list[EmitVerdict]:
        """Keep parts that running tasks have emitted, each batch under the latest claim of its task. Sending a batch
        twice changes nothing."""
        flat = [value for b in batches for value in (b.task_id, b.claim, b.run, b.number, b.count, b.values)]
        return [EmitVerdict(word.decode()) for word in await self._run("emit", *flat)]

    async def show_progress(self, shown: Sequence[Holding]) -> int:
        """Keep the progress of running tasks, each under the latest claim of its task. Returns for how many tasks the
        progress was new."""
        flat = [value for each in shown for value in (each.task_id, each.claim, each.progress)]
        return await self._number("show_progress", *flat)

    async def inbox(self, incarnation: str) -> tuple[str, bytes] | None:
        """The first entry of this worker's inbox, as its lane and its bytes; None if the inbox is empty. The inbox has
        entries that are too large for the store to read."""
        head = await self._command("LINDEX", self._keys.inbox(incarnation), 0)
        if head is None:
            return None
        lane, raw = head.split(b"\n", 1)
        return lane.decode(), raw

    async def admit(self, incarnation: str, admission: Admission) -> Accepted | State | LeftInbox:
        """Take the first entry of the inbox out of it, as a task or a message; `admission`: the entry as the worker has
        parsed it. For an order (cancel, pause, resume) the answer is the state of its task."""
        answer = await self._run("admit", incarnation, *astuple(admission))
        return decode.known_word(_ADMITTED, admission.task_id, answer)

    async def renew(
        self, incarnation: str, state: str, answered: int, holdings: Sequence[Holding], lanes: Sequence[str] = ()
    ) -> Renewed:
        """Extend the lease. Compare the tasks that the worker holds with the tasks that it owns in the store. Also
        report if entries wait in `lanes`."""
        args: list[Value] = [incarnation, state, answered, len(lanes), *map(self._keys.name, lanes)]
        for held in holdings:
            args += (held.task_id, held.claim, held.progress, held.checkpoint or b"")
        standing, lost, returned, vouched, waiting, quiet, to_pause, request = await self._run("renew", *args)
        return Renewed(
            standing=Standing(standing.decode()),
            lost=tuple((task_id, claim.decode()) for task_id, claim in pairs(lost)),
            returned=returned,
            vouched_ago_ms=None if vouched < 0 else vouched,
            waiting=waiting,
            quiet=quiet == 1,
            to_pause=tuple((task_id, claim.decode()) for task_id, claim in pairs(to_pause)),
            request=request,
        )

    async def listen(self, incarnation: str, lanes: Sequence[str], timeout: float) -> Hint | None:
        """Block until a bell of these lanes rings, or a hint for this worker comes, at most `timeout` seconds. A bell
        means that tasks wait.

        Without lanes, this waits for hints only.
        """
        control = self._keys["control"] + incarnation
        return _hint(control, await self._block(timeout, *self._wait(control, lanes, timeout)))

    def _wait(self, control: str, lanes: Sequence[str], timeout: float) -> tuple[Value, ...]:
        return "BLPOP", control, *(self._keys.bell(lane) for lane in lanes), timeout

    async def wake(self, incarnation: str) -> None:
        """End this worker's own call of `listen`, so that the worker can call it again with other lanes."""
        await self._number("wake", incarnation)


def _hint(control: str, popped: tuple[bytes, bytes] | None) -> Hint | None:
    """The hint in an element popped from a list; None if nothing was popped. `control`: the list of this worker's own
    hints; the other lists are bells."""
    if popped is None:
        return None
    key, word = popped
    if key.decode() != control:
        return Hint(HintKind.BELL)
    kind, _, rest = word.decode().partition(":")
    task_id, _, claim = rest.partition(":")
    return Hint(_HINTS.get(kind, HintKind.LOOK), task_id, claim)  # a later version may know more kinds


def _operation_in(entry: bytes) -> bytes:
    """The operation in an entry. An entry that Holdfast has written is an operation that begins with an additional
    field, `{"_b":"<id>:<number>",`. An entry of another producer is just an operation."""
    return b"{" + entry[entry.index(_END_OF_MARK) + len(_END_OF_MARK) :] if entry.startswith(_MARK) else entry


def _first_delivery(row: list[Any]) -> Delivery:
    task_id, claim, lane, limit, timeout, entry, waited = row
    return Delivery(
        task_id.decode(),
        claim.decode(),
        lane.decode(),
        _operation_in(entry),
        1,
        1,
        0,
        0,
        int(limit) if limit else None,
        int(timeout) if timeout else None,
        False,
        waited_ms=waited,
    )


def _delivery(row: list[Any]) -> Delivery:
    task_id, claim, lane, turn, delivery, attempts, crashes, limit, timeout, solo, raw, saved, past, *rest = row
    earlier, waited, unbegun, child, steps, batch = rest
    return Delivery(
        task_id.decode(),
        claim.decode(),
        lane.decode(),
        raw,
        int(turn),
        int(delivery),
        int(attempts),
        int(crashes),
        int(limit) if limit else None,
        int(timeout) if timeout else None,
        solo == b"1",
        saved or None,
        tuple(past) if past else (),
        earlier,
        waited,
        int(delivery) - int(unbegun),
        child == 1,
        steps == 1,
        _batch(*batch) if batch else NO_BATCH,
    )


def _batch(batch_id: bytes, place: bytes, *counts: int) -> DeliveredBatch:
    return DeliveredBatch(batch_id.decode(), int(place), batch_counts(counts) if counts else BatchCounts())


def _pulled(answer: list[Any]) -> Pulled:
    standing, verdicts, rows, backlog, inbox, *fires = answer
    return Pulled(
        standing=_STANDINGS[standing],
        verdicts=tuple([_VERDICTS[verdict] for verdict in verdicts]),
        deliveries=tuple([_first_delivery(row) if len(row) == _SHORT else _delivery(row) for row in rows]),
        backlog=backlog,
        inbox=inbox,
        fires=tuple(schedule_id.decode() for schedule_id in fires[0]) if fires else (),
    )
