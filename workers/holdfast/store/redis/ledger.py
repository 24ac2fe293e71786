"""The Redis calls of a ledger: read events, tasks and kept settings, and put them back.

A ledger also keeps settings. The names of settings: `schedule|<id>` for a schedule, `rules|` for limits and pauses of
lanes, `quiet|` for quiet hosts, `webhook|` for the queue's webhook.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskObstacle
from holdfast.errors import StoreError
from holdfast.store.redis.connection import RedisPart, Value
from holdfast.store.redis.decode import known_word, pairs
from holdfast.store.redis.producer import TASK_WORDS, submitted_with_options

# Whole tasks, as a ledger reads them from Redis and puts them back.

_AMENDED = re.compile(r"(\d{1,15}) (\d{1,15})", re.ASCII)


class Dump(NamedTuple):
    """A whole task: its values in the order in which the script `dump` answers them and `restore` takes them.

    `history`: operation and result of each earlier turn. `dead`: the moment at which the task became a dead letter.
    `webhooks`: name, turn, state, URL and moment of each notice that waits to be posted. `steps`: place and text of
    each step (see core/steps.py). `parent_results`: six values of each task that this one was submitted after (see
    dump.lua).
    """

    task_id: str
    record: dict[str, bytes]
    dead: bytes
    operation: bytes
    history: tuple[bytes, ...]
    result: bytes
    pending: tuple[bytes, ...]
    messages: tuple[bytes, ...]
    checkpoint: bytes
    trail: tuple[bytes, ...]
    ties: tuple[bytes, ...]
    webhooks: tuple[bytes, ...] = ()
    steps: tuple[bytes, ...] = ()
    parent_results: tuple[bytes, ...] = ()

    def text(self, field: str) -> str:
        return self.record.get(field, b"").decode()

    @property
    def parents(self) -> list[str]:
        """The parents for which the task still waits."""
        return sorted(tie.decode()[7:] for tie in self.ties if tie.startswith(b"parent|"))

    @property
    def amended(self) -> tuple[int, int]:
        """The epoch and the number of the last change that was made to the task after its end (see amendments.lua)."""
        found = _AMENDED.fullmatch(self.text("amended"))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @property
    def batch(self) -> str:
        """The id of the batch in which the task is, also as its callback; empty if the task is in no batch."""
        return self.text("batch").rpartition(" ")[2]

    @property
    def error_kind(self) -> str:
        """The id of the kind of error with which the task's last failed run ended; empty if there is none."""
        return self.text("error").partition(" ")[0]

    def number(self, field: str) -> int:
        return int(float(self.record.get(field) or 0))


@dataclass(frozen=True, slots=True)
class Dumps:
    """The dumps of tasks at one moment. `last`: the last event at this moment ('': none); `now_ms`: Redis's clock;
    `damaged`: ids of tasks that cannot be read."""

    last: str
    now_ms: int
    tasks: tuple[Dump, ...]
    damaged: tuple[str, ...] = ()

    @property
    def seen_ms(self) -> int:
        """The moment of the last event. A Redis without this event may have lost some of these tasks."""
        return int(self.last.partition("-")[0] or 0)


def read_dumps(answer: list[Any]) -> tuple[Dumps, int]:
    """The dumps of an answer, and the number of tasks that were looked at."""
    last, now, tasks, damaged, looked = answer
    ids = tuple(task_id.decode() for task_id in damaged)
    return Dumps(last.decode(), now, tuple(_dump(task) for task in tasks), ids), looked


def _dump(task: list[Any]) -> Dump:
    task_id, record, *values = task
    content: list[Any] = [value if isinstance(value, bytes) else tuple(value) for value in values]
    return Dump(task_id.decode(), dict(pairs(record)), *content)


def flat(dump: Dump) -> list[Value]:
    """A dump as arguments of `restore`: each list with its length before it."""
    args: list[Value] = [dump.task_id]
    values: list[Any] = [tuple(item for pair in dump.record.items() for item in pair), *dump[2:]]
    for value in values:
        args += [value] if isinstance(value, bytes) else [len(value), *value]
    return args


PAGE_BYTES = 4_000_000  # of content in one call; one task may exceed it
ELSEWHERE = b"elsewhere"  # this Redis does not follow that ledger, or is being rebuilt from it
OVERTAKEN = b"overtaken"  # carried out long ago; later requests for the same setting have been carried out since


@dataclass(frozen=True, slots=True)
class Removal:
    """A task that was removed: its id, and the moment of its creation, because the same id may have been used several
    times. Also the epoch and the number of the removal (see amendments.lua)."""

    task_id: str
    created_ms: int
    epoch: int
    number: int


class Memory(StrEnum):
    """The answer to the question whether Redis still has the events that the ledger has read (see
    ledger_standing.lua)."""

    OK = "ok"
    MISSED = "missed"  # some events were trimmed unread
    LOST = "lost"  # this Redis has forgotten something that the ledger has seen, or knows of no ledger
    OTHER = "other"  # it follows another ledger


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events. `position`: the position of the last event; `ids`: the tasks that events named; `now_ms`:
    Redis's clock. `settings`: the settings that events named, each with the last request that was carried out on it (0:
    none). `removals`: the tasks that were removed. `doubted`: workers claim nothing until the ledger has confirmed that
    this Redis has lost no data."""

    word: Memory
    position: str
    more: bool
    ids: tuple[str, ...]
    now_ms: int
    settings: dict[str, int]
    removals: tuple[Removal, ...] = ()
    doubted: bool = False


class Restored(StrEnum):
    """Redis's answer about a task that is to be put back."""

    RESTORED = "restored"
    THERE = "there"  # it has the task, as late or later; it takes only the messages that it lacks
    MERGED = "merged"  # it has a later life of this id, which takes the messages that had not run
    ENDED = "ended"  # it is not being rebuilt, so it takes back only tasks that have ended
    DAMAGED = "damaged"  # the record is not whole, or a key there holds another type
    OTHER = "other"  # it is not this ledger's: nothing was written


@dataclass(frozen=True, slots=True)
class KeptSetting:
    """A setting that a ledger keeps. `content`: names and values, alternating. If the setting was `removed`, `content`
    is its last known content."""

    name: str
    content: tuple[bytes, ...]
    removed: bool


class RedisLedger(RedisPart):
    """The calls by which a ledger reads and rebuilds its Redis."""

    async def follow(self, epoch: str, after: str, witness: str, limit: int) -> EventPage:
        answer = await self._run("follow", epoch, after, witness, limit)
        word, position, more, ids, now, *settings, removed, doubted = answer
        named = {name.decode(): int(request or 0) for name, request in zip(*settings, strict=True)}
        tasks = tuple(each.decode() for each in ids)
        gone = tuple(_removals(removed))
        return EventPage(Memory(word.decode()), position.decode(), more == 1, tasks, now, named, gone, doubted == 1)

    async def dump(self, task_ids: Sequence[str]) -> Dumps:
        """Read whole tasks; unknown ones are left out."""
        dumps, looked = read_dumps(await self._run("dump", "", "", PAGE_BYTES, *task_ids))
        while looked < len(task_ids):
            more, count = read_dumps(await self._run("dump", "", "", PAGE_BYTES, *task_ids[looked:]))
            dumps, looked = (
                replace(more, tasks=(*dumps.tasks, *more.tasks), damaged=(*dumps.damaged, *more.damaged)),
                looked + count,
            )
        return dumps

    async def read(self, epoch: str, witness: str, task_ids: Sequence[str]) -> tuple[Dumps, int] | None:
        """The dumps of the first of these tasks, as many as PAGE_BYTES allow, and the number of ids looked up. None if
        this Redis has lost the event `witness`, or belongs to another ledger."""
        answer = await self._run("dump", epoch, witness, PAGE_BYTES, *task_ids)
        return None if answer == ELSEWHERE else read_dumps(answer)

    async def known(self, cursor: str, page: int) -> tuple[str, list[str]]:
        """The ids of tasks among the next keys of Redis, and the next cursor ('' at the end)."""
        following, ids = await self._run("known", cursor or "0", page, "")
        return "" if following == b"0" else following.decode(), [each.decode() for each in ids]

    async def unknown(self, task_ids: Sequence[str]) -> list[str]:
        """Those of these tasks that have no record in Redis. One command, if none is missing."""
        keys = {task_id: self._keys["task"] + task_id for task_id in task_ids}
        if not keys or await self._command("EXISTS", *keys.values()) == len(keys):
            return []
        return [task_id for task_id, key in keys.items() if not await self._command("EXISTS", key)]

    async def restore(self, epoch: str, dumps: Sequence[Dump]) -> list[tuple[Restored, str]]:
        """Put tasks back. Returns a word for each task, and the reason if the task is damaged. Returns only OTHER if
        this Redis belongs to another ledger."""
        args = [value for dump in dumps for value in flat(dump)]
        answers = [answer.decode().partition(" ") for answer in await self._run("restore", epoch, *args)]
        return [(Restored(word), reason) for word, _, reason in answers]

    async def remove(self, epoch: str, removals: Sequence[Removal]) -> None:
        """Remove these tasks once more: this Redis was set back, so tasks that had been removed were there again."""
        args = [value for one in removals for value in (one.task_id, one.created_ms, one.epoch, one.number)]
        while args and await self._run("remove", epoch, *args) not in {0, b"other"}:
            pass  # results are deleted in bounded steps

    async def behind(self, epoch: str, witness: str, operation: str, *args: Value) -> Any:
        """Run an operation that must not run in a Redis that has lost data. If Redis has lost data, returns ELSEWHERE
        (see followed.lua)."""
        return await self.connection.run_behind("followed", operation, *args, epoch, witness)

    async def confirm(self, epoch: str, witness: str) -> None:
        """Let workers claim again, if this Redis has lost no data (see doubt.lua)."""
        await self.behind(epoch, witness, "confirm")

    async def hold(self) -> None:
        """Keep workers from claiming until `release`."""
        await self._command("HSETNX", self._keys["closed"], "", await self._run("now"))

    async def release(self) -> None:
        """Let workers claim again, after the lost data is back."""
        await self._run("confirm")

    async def rebuilding(self) -> str:
        """The epoch of the ledger from which this Redis is being rebuilt, or empty."""
        return (await self._command("HGET", self._keys["meta"], "rebuilding") or b"").decode()

    async def holds_an_epoch(self) -> bool:
        """True if this Redis has an epoch of a ledger. A Redis that has lost data and still has an epoch was set back;
        one without an epoch was emptied."""
        return bool(await self.owner() or await self.rebuilding())

    async def begin_rebuild(self, epoch: str) -> None:
        """Begin a rebuild: from now on this Redis accepts only data that the ledger puts back."""
        await self._command("HDEL", self._keys["meta"], "ledger")
        await self._command("HSET", self._keys["meta"], "rebuilding", epoch)

    async def end_rebuild(self, epoch: str) -> None:
        await self._command("HSET", self._keys["meta"], "ledger", epoch)
        await self._command("HDEL", self._keys["meta"], "rebuilding")

    async def owner(self) -> str:
        """The epoch of the ledger that this Redis follows, or empty."""
        return (await self._command("HGET", self._keys["meta"], "ledger") or b"").decode()

    async def disown(self) -> None:
        """Delete the ledger's epoch from this Redis. The next steward then treats this Redis like one that has lost
        data."""
        await self._command("HDEL", self._keys["meta"], "ledger", "rebuilding")

    async def give(
        self, epoch: str, submissions: Sequence[tuple[Submission, bool]], verb: str = "run"
    ) -> list[Receipt] | None:
        """Submit tasks for a ledger, or add messages to tasks if `verb` is `message`. Returns None if this Redis does
        not follow the ledger.

        Each submission comes with a flag. True: the producer was already told that its submission is accepted. If Redis
        cannot take such a task, it records the task as rejected; it sets such a message aside. Raises StoreError if a
        task depends on a damaged key; the task can be submitted again when the key is mended.
        """
        if verb == "message":
            words = [await self._give_message(epoch, one, promised) for one, promised in submissions]
            return None if None in words else [word for word in words if word]
        args = [
            value
            for one, promised in submissions
            for value in submitted_with_options(self._keys, one, promised=promised)
        ]
        answer = await self.connection.run_behind("guard", "submit_with_options", *args, epoch)
        if answer == ELSEWHERE:
            return None
        receipts = [Receipt(Accepted(word.decode()), of.decode()) for word, of in answer]
        for (one, _), receipt in zip(submissions, receipts, strict=True):
            if receipt.accepted is Accepted.DAMAGED:
                raise StoreError(
                    f"task {one.task_id} depends on a damaged record of its batch or parents: {receipt.task_id}"
                )
        return receipts

    async def _give_message(self, epoch: str, one: Submission, promised: bool) -> Receipt | None:
        lane = (self._keys.name(one.lane),) if promised else ()
        what = (one.task_id, one.message_id, f"o{one.digest}", one.operation, *lane)
        answer = await self.connection.run_behind("guard", "message", *what, epoch)
        return None if answer == ELSEWHERE else Receipt(Accepted(answer.decode()), one.task_id)

    async def ask(self, epoch: str, request: int, verb: str, task_id: str, reason: str) -> State | TaskObstacle | None:
        """Cancel, pause or resume a task for a ledger. Returns the task's state afterwards, or the obstacle. None if
        this Redis does not follow the ledger."""
        answer = await self.connection.run_behind("once", verb, task_id, reason, request, epoch)
        return None if answer == ELSEWHERE else known_word(TASK_WORDS, task_id, answer)

    async def trim(self, keep_ms: int, limit: int, before_ms: int) -> int:
        """Delete tasks that ended more than `keep_ms` ago and before `before_ms`; returns their number."""
        return await self._number("trim", keep_ms, limit, before_ms)

    async def kept_settings(
        self, epoch: str, witness: str, names: Sequence[str]
    ) -> tuple[str, list[KeptSetting]] | None:
        """Read these settings, and the last event in Redis. Returns None if this Redis no longer follows the ledger."""
        answer = await self._run("facts", epoch, witness, *names)
        if answer == ELSEWHERE:
            return None
        last, contents = answer
        return last.decode(), [
            KeptSetting(name, tuple(some), not some) for name, some in zip(names, contents, strict=True)
        ]

    async def restore_settings(self, epoch: str, settings: Sequence[KeptSetting], *, set_back: bool) -> None:
        """Put settings back into a Redis that is being rebuilt. `set_back`: Redis was set back to an earlier moment;
        False: it was emptied."""
        args: list[Value] = [epoch, int(set_back)]
        for setting in settings:
            args += (setting.name, int(setting.removed), len(setting.content), *setting.content)
        await self._run("restore_facts", *args)

    async def request(self, epoch: str, setting: str, number: int, operation: str, args: Sequence[Value]) -> Any:
        """Carry out a change request. Returns the answer of its operation; None if this Redis does not follow the
        ledger.

        A request is carried out only once. A repetition gets the same answer, or OVERTAKEN if Redis no longer has the
        answer.
        """
        answer = await self.connection.run_behind("requested", operation, *args, setting, number, epoch)
        return None if answer == ELSEWHERE else answer

    async def known_schedules(self, cursor: str, page: int) -> tuple[str, list[str]]:
        """Some ids of schedules, and the next cursor ('' at the end)."""
        following, flat = await self._command("ZSCAN", self._keys["schedules"], cursor or "0", "COUNT", page)
        return "" if following == b"0" else following.decode(), [name.decode() for name in flat[::2]]


def _removals(flat: list[bytes]) -> Iterator[Removal]:
    for at in range(0, len(flat), 4):
        task_id, *numbers = flat[at : at + 4]
        yield Removal(task_id.decode(), *map(int, numbers))
