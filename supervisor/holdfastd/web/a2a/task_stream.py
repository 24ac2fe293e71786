"""Follows one task for a client: first the whole task, then each change, until the task has ended or asks for input.

The store sends a notice when a turn of the task has ended or parts were emitted; the stream then reads the task again.
Not every change has a notice. So the stream also reads the task now and then, less often the longer nothing changes.
A lost notice delays a change by seconds at most, and a client that reconnects sees the same state.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from holdfast.client.query import subscription
from holdfast.core.delivery import EmittedPart
from holdfast.core.messages import Part, data_part, text_part
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import StoreError, StoreUnavailableError
from holdfast.store import Store
from holdfastd.a2a.agent_task import AT_REST, AgentArtifact, AgentStatus, AgentTask, ArtifactChange, StatusChange, Told
from holdfastd.a2a.agent_task_view import shown_parts, status_of
from holdfastd.web.queue.queue_access import QueueAccess

# The parts that a task has emitted in this run. Until the handler has returned, they are the artifact of the turn.

BEHIND_ALL = (1 << 53) - 1  # a position behind all emitted parts


async def with_emitted(store: Store, record: TaskRecord, task: AgentTask) -> AgentTask:
    """The task with its emitted parts as an artifact, if the task runs or has completed without a value."""
    artifact_id = AgentArtifact.of_turn(record.turn, ()).artifact_id
    if record.state not in (State.WORKING, State.COMPLETED) or artifact_id in {
        each.artifact_id for each in task.artifacts
    }:
        return task
    emitted = await emitted_behind(store, record.task_id, 0)
    position = emitted[-1].position if emitted else 0
    parts = parts_of(part for part in emitted if part.run == record.runs)
    artifacts = [*task.artifacts, AgentArtifact.of_turn(record.turn, parts)] if parts else task.artifacts
    return replace(task, artifacts=artifacts, position=position, run=record.runs if parts else 0)


async def emitted_behind(store: Store, task_id: str, position: int) -> list[EmittedPart]:
    """All emitted parts behind a position, as far as the store still keeps them."""
    found: list[EmittedPart] = []
    while True:
        page = await store.emitted_parts(task_id, position)
        found += page.parts
        if page.is_whole or not page.parts:
            return found
        position = page.parts[-1].position


async def last_position(store: Store, task_id: str) -> int:
    return (await store.emitted_parts(task_id, BEHIND_ALL)).last


def parts_of(emitted: Iterable[EmittedPart]) -> list[Part]:
    """Emitted parts as parts of an artifact; consecutive texts are joined."""
    parts: list[Part] = []
    for each in emitted:
        if not isinstance(each.value, str):
            parts += shown_parts([data_part(each.value)])
        elif parts and parts[-1]["kind"] == "text":
            parts[-1] = text_part(parts[-1]["text"] + each.value)
        else:
            parts.append(text_part(each.value))
    return parts


SOON, LATE = 0.25, 5.0  # seconds between two looks without a notice: at first, at most


async def changes(
    access: QueueAccess, task_id: str, view: Callable[[str], Awaitable[AgentTask]], *, from_rest: bool = False
) -> AsyncGenerator[Told]:
    """The whole task, then its changes. Raises RpcError for an unknown task.

    Raises StoreUnavailableError if the store is away at the beginning; later the stream waits for the store.
    `from_rest`: if the task asks for input at the beginning, go on until the task asks again or has ended.
    """
    noticed = asyncio.Event()
    listening = asyncio.create_task(_listen(access, task_id, noticed))
    try:
        last = await last_position(access.store, task_id)
        task = await view(task_id)
        yield task
        follower, pause = _StreamFollower(access, task, view, task.position or last), SOON
        while follower.status.state not in AT_REST or (from_rest and follower.status == task.status):
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):  # wait_for of Python 3.11 may swallow the end
                    await noticed.wait()
            noticed.clear()
            told = list[Told]()
            with suppress(StoreUnavailableError):
                told = await follower.look()
            pause = SOON if told else min(2 * pause, LATE)
            for each in told:
                yield each
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


class _StreamFollower:
    """The part of a task that the client has got so far: the status, and the emitted parts up to a position."""

    def __init__(
        self, access: QueueAccess, task: AgentTask, view: Callable[[str], Awaitable[AgentTask]], position: int
    ) -> None:
        self._access, self._task, self._view = access, task, view
        self._position, self._run = position, task.run
        self.status = task.status

    async def look(self) -> list[Told]:
        """All changes since the last look. The parts are read after the state, because a task at rest emits no more
        parts. Everything is read before anything counts as sent: if the store goes away in between, nothing is lost."""
        task_id = self._task.task_id
        record = await self._access.manager.record(task_id, payloads=False)
        emitted = await emitted_behind(self._access.store, task_id, self._position)
        task = await self._view(task_id) if record.state in AT_REST else None
        told: list[Told] = list(self._emitted(record, emitted))
        if task is not None:
            return [*told, *self._result(task, record), *self._moved(task.status)]
        return [*told, *self._moved(status_of(record, self._task.context_id))]

    def _emitted(self, record: TaskRecord, emitted: list[EmittedPart]) -> Iterator[Told]:
        """The changes for new parts. The parts of a new run replace the parts of the run before."""
        for run, parts in groupby(emitted, lambda part: part.run):
            artifact = AgentArtifact.of_turn(record.turn, parts_of(parts))
            yield ArtifactChange(self._task.task_id, self._task.context_id, artifact, append=run == self._run)
            self._run = run
        self._position = emitted[-1].position if emitted else self._position

    def _result(self, task: AgentTask, record: TaskRecord) -> Iterator[Told]:
        """The change for the result: the returned value replaces the emitted parts."""
        if record.state is not State.COMPLETED or not task.artifacts:
            return
        artifact = task.artifacts[-1]
        if artifact.artifact_id == AgentArtifact.of_turn(record.turn, ()).artifact_id:
            yield ArtifactChange(task.task_id, task.context_id, artifact, is_whole=True)

    def _moved(self, status: AgentStatus) -> Iterator[Told]:
        before, self.status = self.status, status
        if _said(before) != _said(status):
            yield StatusChange(self._task.task_id, self._task.context_id, status)


def _said(status: AgentStatus) -> tuple[object, ...]:
    return status.state, status.message and status.message.parts, status.at_ms if status.state in AT_REST else 0


async def _listen(access: QueueAccess, task_id: str, noticed: asyncio.Event) -> None:
    while True:
        with suppress(StoreError):
            async with subscription(access.store.emitted(task_id)) as notices:
                async for _ in notices:
                    noticed.set()
        await asyncio.sleep(LATE)
