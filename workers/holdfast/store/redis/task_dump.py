"""Whole tasks, in the form in which a ledger reads them from Redis and puts them back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.store.redis.decode import pairs

if TYPE_CHECKING:
    from holdfast.store.redis.connection import Value


_AMENDED = re.compile(r"(\d{1,15}) (\d{1,15})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Dump:
    """A whole task. `history`: operation and result of each earlier turn; `dead`: the moment it became a dead
    letter; `webhooks`: name, turn, state, URL and moment of each notice that waits to be posted; `steps`: place and
    text of each (see core/steps.py); `parent_results`: six values of each task that it was submitted after (see
    dump.lua)."""

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
        """The parents that it still waits for."""
        return sorted(tie.decode()[7:] for tie in self.ties if tie.startswith(b"parent|"))

    @property
    def amended(self) -> tuple[int, int]:
        """The epoch and number of its last change after its end (see amendments.lua)."""
        found = _AMENDED.fullmatch(self.text("amended"))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @property
    def batch(self) -> str:
        """The id of its batch, as a task or callback; empty if it has none."""
        return self.text("batch").rpartition(" ")[2]

    def number(self, field: str) -> int:
        return int(float(self.record.get(field) or 0))


@dataclass(frozen=True, slots=True)
class Dumps:
    """Tasks at one moment. `last`: the last event then ('' for none); `now_ms`: Redis's clock; `damaged`: ids of
    tasks that cannot be read."""

    last: str
    now_ms: int
    tasks: tuple[Dump, ...]
    damaged: tuple[str, ...] = ()

    @property
    def seen_ms(self) -> int:
        """The moment of the last event: a Redis that lacks it may have lost some of these tasks."""
        return int(self.last.partition("-")[0] or 0)


def read_dumps(answer: list[Any]) -> tuple[Dumps, int]:
    """The dumps of an answer, and the number of tasks that were looked at."""
    last, now, tasks, damaged, looked = answer
    ids = tuple(task_id.decode() for task_id in damaged)
    return Dumps(last.decode(), now, tuple(_dump(task) for task in tasks), ids), looked


def _dump(task: list[Any]) -> Dump:
    task_id, record, dead, operation, history, result, pending, messages, checkpoint, *lists = task
    trail, ties, webhooks, steps, parents = lists
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
        steps=tuple(steps),
        parent_results=tuple(parents),
    )


def flat(dump: Dump) -> list[Value]:
    """A dump as arguments of `restore`."""

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
        *counted(dump.steps),
        *counted(dump.parent_results),
    ]
