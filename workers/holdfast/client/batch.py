"""Tasks that are submitted together: batches, with their counts and their end, and flows, whose tasks run in order."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from os import urandom
from typing import Any

import anyio
from msgspec.structs import replace

from holdfast.client.arguments import check, check_batch_id, check_reason, check_seconds, check_words
from holdfast.client.query import QUIET, next_notice, subscription
from holdfast.client.submission import Draft
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import BatchPlace, SubmitOptions
from holdfast.core.batches import MOST_TASKS, BatchRecord, BatchTask, TaskEnd
from holdfast.core.identity import is_task_id, keyed_id, uuid_text
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError, StoreUnavailableError, UnknownBatchError
from holdfast.store import Store

PAGE = 500  # tasks in one call of the store
CANCELED = 50  # tasks in one step of a cancel: a step occupies the store for one or two milliseconds


class Batch:
    """A handle of a batch, made from its id by `TaskManager.batch`. Its methods ask the store."""

    def __init__(self, store: Store, retries: SubmitRetries, batch_id: str) -> None:
        self._store = store
        self._call = retries.call
        self.id = check_batch_id(batch_id)

    def __repr__(self) -> str:
        return f"Batch({self.id!r})"

    async def record(self) -> BatchRecord:
        """The batch's state and counts now. Raises UnknownBatchError."""
        record = await self._call(self._store.batch, self.id)
        if record is None:
            raise UnknownBatchError(f"no batch {self.id}; a batch that ended long ago is forgotten")
        return record

    async def wait(self, timeout: float | None = None) -> BatchRecord:
        """Wait until the batch is sealed and all its tasks have ended; returns its record. The callback begins then,
        and this call does not wait for the callback. Raises TimeoutError after `timeout` seconds, and
        UnknownBatchError."""
        if timeout is not None:
            check_seconds("timeout", timeout)
        with anyio.move_on_after(timeout):
            return await self._ended()
        raise TimeoutError(f"batch {self.id} has not ended within {timeout:g} s")

    async def _ended(self) -> BatchRecord:
        """Wait for the end of the batch. The subscription begins before the first read of the record, so an end between
        the two is not missed."""
        while True:
            try:
                async with subscription(self._store.settled([f"batch|{self.id}"])) as notices:
                    while await next_notice(notices, QUIET) is not None:
                        if (record := await self.record()).ended_ms is not None:
                            return record
            except StoreUnavailableError:
                await self.record()  # this call retries until the store is back, or gives up

    async def tasks(self, *ends: TaskEnd | str) -> AsyncGenerator[BatchTask, None]:
        """Yield the tasks of the batch in the order of submission; reads them page by page. `ends` selects tasks by
        their end: `completed`, `failed`, `rejected`, `canceled`, `gone` (deleted), or `open` (not ended). Without
        `ends` all tasks are yielded. A retry stands at the place of the retried task. Raises UnknownBatchError."""
        wanted, after, more = _checked(ends), 0, True
        while more:
            page, more = await self._call(self._store.batch_tasks, self.id, after, PAGE)
            if not page and not after:
                await self.record()  # raises if the batch is unknown
            for task in page:
                if task.end in wanted:
                    yield task
            after += PAGE

    async def seal(self) -> BatchRecord:
        """Seal a batch whose producer is gone. A sealed batch takes no more tasks, and ends when all its tasks have
        ended. Returns its record. Raises UnknownBatchError."""
        await self._call(self._store.seal_batch, self.id)
        return await self.record()

    async def cancel(self, reason: str = "its batch was canceled") -> BatchRecord:
        """Cancel the callback and the open tasks of the batch, in steps. The batch then takes no more tasks. Returns
        its record. Raises UnknownBatchError."""
        why = check_reason(reason)
        while (await self._call(self._store.cancel_batch, self.id, CANCELED, why)).left:
            pass
        return await self.record()


def _checked(ends: tuple[object, ...]) -> frozenset[TaskEnd]:
    known = [end for end in TaskEnd if end is not TaskEnd.RETRIED]
    return frozenset(check_words("end", ends, known) or known)


# Make a batch of checked tasks: their ids, their places, and a digest by which the store recognises a repeated call.

DIGEST = 16  # hex digits: enough against two different calls with the same digest by chance


def drafts_of_batch(queue: str, batch_id: str, tasks: Sequence[Draft], then: Draft | None) -> list[Draft]:
    """The drafts to submit, the callback first. Raises InvalidTaskError."""
    check_batch_id(batch_id)
    if not tasks and then is None:
        raise InvalidTaskError(f"batch {batch_id}: it has no tasks and no callback, so there is nothing to submit")
    if len(tasks) > MOST_TASKS:
        raise InvalidTaskError(f"batch {batch_id}: {len(tasks)} tasks: at most {MOST_TASKS} are allowed")
    named = [_named(one, f"{batch_id}.{place}") for place, one in enumerate(tasks, 1)]
    callback = [] if then is None else [_named(then, f"{batch_id}.then")]
    digest = _digest(queue, batch_id, named, callback)
    places = range(0 if callback else 1, len(named) + 1)
    return [
        _placed(one, BatchPlace(batch_id, place, len(named), digest))
        for place, one in zip(places, [*callback, *named], strict=True)
    ]


def _named(one: Draft, task_id: str) -> Draft:
    """The draft with this task id. If the producer has given an id or a key, the draft keeps it. Refuses the option
    `unique`."""
    if one.spec.unique is not None:
        text = "not allowed for a task of a batch, because the batch counts on each of its tasks; use key or task_id"
        raise InvalidTaskError(f"unique {shown(one.spec.unique)}: {text}")
    if one.spec.task_id is not None or one.spec.key is not None:
        return one
    assert is_task_id(task_id)  # because the id of a batch is short enough
    return one._replace(spec=replace(one.spec, task_id=task_id))


def _digest(queue: str, batch_id: str, tasks: Sequence[Draft], callback: Sequence[Draft]) -> str:
    """The digest of the ids and contents of all tasks."""
    digest, ids = hashlib.sha1(b"%d" % len(callback), usedforsecurity=False), set[str]()
    for one in (*callback, *tasks):
        task_id = one.spec.task_id or keyed_id(queue, one.spec.key or "")
        if task_id in ids:
            raise InvalidTaskError(f"batch {batch_id}: two tasks have the task_id {task_id}; give each its own")
        ids.add(task_id)
        digest.update(b"%b\n%d\n" % (task_id.encode(), len(one.message)))
        digest.update(one.message)
    return digest.hexdigest()[:DIGEST]


def _placed(one: Draft, place: BatchPlace) -> Draft:
    return one._replace(options=replaced(one.options or SubmitOptions(), batch=place))


# Flows: tasks that run after each other and are submitted together. `chain` and `gather` of holdfast.client.flow make
# them.

Read = Callable[[Any], Any]


def new_id() -> str:
    return uuid_text(urandom(16), 4)


@dataclass(frozen=True, slots=True)
class Node:
    """One task of a flow. `parents`: the indexes of its parents in the flow, each lower than the task's own. `made_id`:
    the task's id if the producer gives neither an id nor a key. `read` converts the result from JSON to the handler's
    return type."""

    spec: TaskSpec
    read: Read | None = None
    parents: tuple[int, ...] = ()
    made_id: str = field(default_factory=new_id)

    def task_id(self, queue: str) -> str:
        if self.spec.task_id is None and self.spec.key is not None:
            return keyed_id(queue, self.spec.key)
        return self.spec.task_id or self.made_id


class FlowTasks:
    """The tasks of a flow, parents before children."""

    def __init__(self, nodes: Sequence[Node], ends: Sequence[int] = (0,), *, is_single: bool = True) -> None:
        """Make the tasks of a flow. `ends`: the indexes of the flow's last tasks. `is_single`: the flow has one last
        task, and awaiting the flow returns one handle instead of a list. Raises InvalidTaskError."""
        self.nodes, self.ends, self.is_single = tuple(nodes), tuple(ends), is_single
        for parent in {place for node in nodes for place in node.parents}:
            _check_has_an_id(nodes[parent].spec)

    def specs(self, queue: str) -> list[TaskSpec]:
        """The tasks for `TaskManager.run_tasks` in this queue. Every call returns the same tasks with the same ids.
        Raises InvalidTaskError."""
        ids = [node.task_id(queue) for node in self.nodes]
        if twice := next((each for place, each in enumerate(ids) if each in ids[:place]), None):
            raise InvalidTaskError(f"task_id {shown(twice)}: two tasks of the flow have this id; give each its own")
        return [_submitted(node, ids) for node in self.nodes]


def _check_has_an_id(spec: TaskSpec) -> None:
    """Refuse `unique` and `debounce` for a parent. The store may drop a task with such an option as a duplicate. A
    child would then wait for an id that does not exist."""
    for option in ("unique", "debounce"):
        if getattr(spec, option) is not None:
            raise InvalidTaskError(
                f"{option} {shown(getattr(spec, option))}: not allowed for a task that other tasks of a flow wait for, "
                "because the store may drop it as a duplicate; use key instead, which gives the task a fixed id"
            )


def _submitted(node: Node, ids: Sequence[str]) -> TaskSpec:
    after = (*(node.spec.after or ()), *(ids[place] for place in node.parents))
    named = {} if node.spec.task_id or node.spec.key is not None else {"task_id": node.made_id}
    spec = replace(node.spec, after=list(dict.fromkeys(after)) or None, **named)
    check(spec)
    return spec
