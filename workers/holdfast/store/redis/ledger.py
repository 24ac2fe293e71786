"""What the keeper of a ledger asks of Redis: what has happened, whole tasks, and to take them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.core.tasks import Accepted, Receipt, Submission
from holdfast.store.redis.connection import Role, Value
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.producer import submitted_on_terms

PAGE_BYTES = 4_000_000  # of content in one call: a task more may exceed it
ELSEWHERE = b"elsewhere"  # this Redis does not follow that ledger, or is being rebuilt from it


@dataclass(frozen=True, slots=True)
class EventPage:
    """`word`: ok, missed, lost or other (see follow.lua); `position` of the last event, the tasks that events named,
    Redis's clock, and the facts they named, each with the last request that was carried out on it (0: none)."""

    word: str
    position: str
    more: bool
    ids: tuple[str, ...]
    now_ms: int
    facts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Dump:
    """A whole task. `history` has operation and result of each earlier turn, `dead` the moment it was given up,
    `webhooks` name, turn, state, URL and moment of each that waits to be told."""

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

    def text(self, field: str) -> str:
        return self.record.get(field, b"").decode()

    @property
    def parents(self) -> list[str]:
        """The tasks that it still waits for."""
        return sorted(tie.decode()[7:] for tie in self.ties if tie.startswith(b"parent|"))

    def number(self, field: str) -> int:
        return int(float(self.record.get(field) or 0))


@dataclass(frozen=True, slots=True)
class Dumps:
    """Tasks as they were at one moment: `last` event of all ('' for none), and Redis's clock then; `damaged` cannot be
    read."""

    last: str
    now_ms: int
    tasks: tuple[Dump, ...]
    damaged: tuple[str, ...] = ()

    @property
    def seen_ms(self) -> int:
        """When that event was: a Redis that has forgotten it may have forgotten some of these tasks."""
        return int(self.last.partition("-")[0] or 0)


class RedisLedger(Role):
    async def follow(self, epoch: str, after: str, witness: str, limit: int) -> EventPage:
        word, position, more, ids, now, *facts = await self._run("follow", epoch, after, witness, limit)
        named = {name.decode(): int(request or 0) for name, request in zip(*facts, strict=True)}
        return EventPage(word.decode(), position.decode(), more == 1, tuple(each.decode() for each in ids), now, named)

    async def dump(self, task_ids: Sequence[str]) -> Dumps:
        """These tasks; unknown ones are left out."""
        dumps, looked = _dumps(await self._run("dump", "", "", PAGE_BYTES, *task_ids))
        while looked < len(task_ids):
            more, count = _dumps(await self._run("dump", "", "", PAGE_BYTES, *task_ids[looked:]))
            dumps, looked = (
                replace(more, tasks=(*dumps.tasks, *more.tasks), damaged=(*dumps.damaged, *more.damaged)),
                looked + count,
            )
        return dumps

    async def read(self, epoch: str, witness: str, task_ids: Sequence[str]) -> tuple[Dumps, int] | None:
        """The first of these tasks, as many as PAGE_BYTES allow, and how many ids that were; None where this Redis
        has forgotten the event `witness`, or is not what that ledger follows or rebuilds."""
        answer = await self._run("dump", epoch, witness, PAGE_BYTES, *task_ids)
        return None if answer == ELSEWHERE else _dumps(answer)

    async def known(self, cursor: str, page: int) -> tuple[str, list[str]]:
        """Ids of tasks among the next keys, and where to go on ('' at the end)."""
        following, ids = await self._run("known", cursor or "0", page)
        return "" if following == b"0" else following.decode(), [each.decode() for each in ids]

    async def restore(self, epoch: str, dumps: Sequence[Dump]) -> list[str]:
        """A word per task (see restore.lua), or `other` alone."""
        args = [value for dump in dumps for value in _flat(dump)]
        return [word.decode() for word in await self._run("restore", epoch, *args)]

    async def rebuilding(self) -> str:
        """The epoch of the ledger from which this Redis is being rebuilt, or empty."""
        return (await self._command("HGET", self._keys.meta, "rebuilding") or b"").decode()

    async def begin_rebuild(self, epoch: str) -> None:
        """From now on nobody gives it anything but what the ledger puts back."""
        await self._command("HDEL", self._keys.meta, "ledger")
        await self._command("HSET", self._keys.meta, "rebuilding", epoch)

    async def end_rebuild(self, epoch: str) -> None:
        await self._command("HSET", self._keys.meta, "ledger", epoch)
        await self._command("HDEL", self._keys.meta, "rebuilding")

    async def owner(self) -> str:
        """The epoch of the ledger that this Redis follows, or empty."""
        return (await self._command("HGET", self._keys.meta, "ledger") or b"").decode()

    async def disown(self) -> None:
        """This Redis is nobody's from now on: the next keeper treats it as one that has lost data."""
        await self._command("HDEL", self._keys.meta, "ledger", "rebuilding")

    async def give(self, epoch: str, submissions: Sequence[Submission], verb: str = "run") -> list[Receipt] | None:
        """`submit_on_terms`, or `message` for each, for a ledger; None where this Redis does not follow it."""
        if verb == "message":
            words = [await self._give_message(epoch, one) for one in submissions]
            return None if None in words else [word for word in words if word]
        args = [value for one in submissions for value in submitted_on_terms(self._keys, one)]
        answer = await self._run_behind("guard", "submit_on_terms", *args, epoch)
        return None if answer == ELSEWHERE else [Receipt(Accepted(word.decode()), of.decode()) for word, of in answer]

    async def _give_message(self, epoch: str, one: Submission) -> Receipt | None:
        what = (one.task_id, one.message_id, f"o{one.digest}", one.operation)
        answer = await self._run_behind("guard", "message", *what, epoch)
        return None if answer == ELSEWHERE else Receipt(Accepted(answer.decode()), one.task_id)

    async def ask(self, epoch: str, request: int, verb: str, task_id: str, reason: str) -> str | None:
        """`cancel`, `pause` or `resume` for a ledger: the state afterwards, `unknown`, or None as above."""
        answer = await self._run_behind("once", verb, task_id, reason, request, epoch)
        return None if answer == ELSEWHERE else str(answer.decode())


def _dumps(answer: list[Any]) -> tuple[Dumps, int]:
    last, now, tasks, damaged, looked = answer
    ids = tuple(task_id.decode() for task_id in damaged)
    return Dumps(last.decode(), now, tuple(_dump(task) for task in tasks), ids), looked


def _dump(task: list[Any]) -> Dump:
    task_id, record, dead, operation, history, result, pending, messages, checkpoint, trail, ties, webhooks = task
    return Dump(
        task_id=task_id.decode(),
        record=dict(pairs(record)),
        dead=dead,
        operation=operation,
        history=tuple(history),
        result=result,
        pending=tuple(pending),
        messages=tuple(messages),
        checkpoint=checkpoint,
        trail=tuple(trail),
        ties=tuple(ties),
        webhooks=tuple(webhooks),
    )


def _flat(dump: Dump) -> list[Value]:
    def counted(items: Sequence[Value]) -> list[Value]:
        return [len(items), *items]

    record = [item for pair in dump.record.items() for item in pair]
    return [
        dump.task_id,
        *counted(record),
        dump.dead,
        dump.operation,
        *counted(dump.history),
        dump.result,
        *counted(dump.pending),
        *counted(dump.messages),
        dump.checkpoint,
        *counted(dump.trail),
        *counted(dump.ties),
        *counted(dump.webhooks),
    ]
