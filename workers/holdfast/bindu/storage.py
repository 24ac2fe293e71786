"""The framework's storage, over the tasks of a Holdfast queue and the records kept beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import structlog
from bindu.server.storage.base import OwnershipError, Storage  # pyright: ignore[reportMissingModuleSource]  # the extra: needs Python 3.12

from holdfast.bindu.contexts import ContextStorage
from holdfast.bindu.envelopes import encoded, message_of
from holdfast.bindu.feedback import FeedbackStorage
from holdfast.bindu.lazy_store import Document, most
from holdfast.bindu.lookup import TaskLookup
from holdfast.bindu.task_view import kept, shown
from holdfast.bindu.type_checks import checked, document, documents
from holdfast.core.conversations import KeptNote, NotedWrite
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord

CANCELED = "canceled by the application"

_log = structlog.get_logger("holdfast.bindu")


class HoldfastStorage(ContextStorage, FeedbackStorage, TaskLookup, Storage[dict[str, Any]]):
    """Made by `connect`. Holdfast decides the states of tasks: a worker of the framework writes those of the tasks that
    it holds, and any caller can cancel or pause. Any other state is refused, and the task is returned as it is. The
    application writes the state of a task that the scheduler was not given yet.

    Wrong ids raise TypeError, as in the framework's own storages; other errors are those of `holdfast.errors`.
    """

    async def load_task(self, task_id: UUID, history_length: int | None = None) -> Document | None:
        task = await self._load(str(checked("task_id", task_id)))
        if task is not None and history_length is not None and history_length > 0:
            task["history"] = task["history"][-history_length:]
        return task

    async def submit_task(self, context_id: UUID, message: Document, caller_did: str | None = None) -> Document:
        """Note a task, or one more message for one; it runs once the scheduler has it, too. Raises OwnershipError;
        ValueError for a task that has ended."""
        context, task = (
            checked("context_id", context_id),
            checked("task_id", document("Message", message).get("task_id")),
        )
        message.update(message_of(message, str(task), str(context)))
        task_id = str(task)
        answer = await self._call(self._store.note, task_id, str(context), caller_did or "", encoded(message))
        if answer == KeptNote.FOREIGN:
            raise OwnershipError(f"context {context} or task {task_id} is owned by a different caller")
        if answer != KeptNote.NOTED:
            problem = f"cannot continue task {task_id}: it is in the terminal state {answer}, which is final"
            raise ValueError(f"{problem}; create a new task with reference_task_ids to continue the conversation")
        return await self._continued(task_id, message)

    async def _continued(self, task_id: str, message: Document) -> Document:
        task = await self._load(task_id)
        assert task is not None, "it was noted"
        if message["message_id"] not in {each["message_id"] for each in task["history"]}:
            task["history"].append(message)
        if task["status"]["state"] != "working":
            task["status"]["state"] = "submitted"
        return task

    async def update_task(
        self,
        task_id: UUID,
        state: str,
        new_artifacts: list[Document] | None = None,
        new_messages: list[Document] | None = None,
        metadata: Document | None = None,
    ) -> Document:
        """Write a state; one that ends a turn is recorded when this returns. Raises KeyError for an unknown task."""
        key = str(checked("task_id", task_id))
        artifacts = documents("new_artifacts", "Artifact", new_artifacts)
        messages = documents("new_messages", "Message", new_messages)
        kept_beside = {name: encoded(item) for name, item in document("metadata", metadata or {}).items()}
        record, noted = await self._found(key, state)
        await self._call(self._store.add, key, metadata=kept_beside)
        held = self._held_tasks.of(key)
        if held is not None and state != "canceled":
            held.take_state(state, artifacts, messages)
            if held.outcome is not None:
                await held.settled.wait()
        elif noted is NotedWrite.WRITTEN or (record is not None and await self._taken(record, state)):
            await self._add(key, artifacts, messages)
        task = await self._load(key)
        if task is None:
            raise KeyError(f"task {key} not found")
        return task

    async def _found(self, task_id: str, state: str) -> tuple[TaskRecord | None, NotedWrite]:
        """The record of a task that was submitted, or the answer to this state of one that was not. Raises KeyError."""
        record = await self._record(task_id)
        if record is not None:
            return record, NotedWrite.UNNOTED
        noted = await self._note_state(task_id, state)
        if noted is NotedWrite.UNNOTED:
            record = await self._record(task_id)  # it may have been submitted in between
            if record is None:
                raise KeyError(f"task {task_id} not found")
        return record, noted

    async def _note_state(self, task_id: str, state: str, *wanted: str) -> NotedWrite:
        """Write the state of a task that the scheduler was not given yet."""
        noted = await self._call(self._store.note_state, task_id, state, wanted)
        if noted is NotedWrite.KEPT and not wanted:
            _log.warning("a state was ignored", task=task_id, state="ended", written=state)
        return noted

    async def _taken(self, record: TaskRecord, state: str) -> bool:
        """Write the state of a task that no worker of this process holds."""
        match state:
            case "canceled":
                taken = await self._call(self._store.cancel, record.task_id, CANCELED) == State.CANCELED
            case "suspended":
                taken = await self._call(self._store.pause, record.task_id, "paused by the application") != "unknown"
            case _:
                taken = shown(record.state) == state
        if not taken:
            _log.warning(
                "a state was ignored",
                task=record.task_id,
                state=str(record.state),
                written=state,
            )
        return taken

    async def _add(self, task_id: str, artifacts: list[Document], messages: list[Document]) -> None:
        added = [{"artifact": each} for each in artifacts] + [
            {"message": {"role": "agent", **each}} for each in messages
        ]
        await self._call(self._store.add, task_id, added=tuple(map(encoded, added)))

    async def update_task_state_if(self, task_id: UUID, from_state: str, to_state: str) -> bool:
        """A cancel may come from any state; other transitions are those of the worker that runs the task: False. A task
        that the scheduler was not given yet may go from any state to any."""
        key, states = str(checked("task_id", task_id)), kept(from_state)
        noted = await self._note_state(key, to_state, from_state)
        if noted is not NotedWrite.UNNOTED:
            return noted is NotedWrite.WRITTEN
        held = self._held_tasks.of(key)
        if held is not None and held.state == from_state:
            states = (*states, State.WORKING)
        if to_state != State.CANCELED or not states:
            return False
        return await self._call(self._store.cancel_if, key, tuple(map(str, states)), CANCELED)

    async def list_tasks(
        self, length: int | None = None, offset: int = 0, owner_did: str | None = None
    ) -> list[Document]:
        """Of an owner those of the conversation begun last first; else those that the scheduler was not given yet,
        those that live, then those that ended, the last one first. At most a thousand."""
        ids = self._all_ids() if owner_did is None else self._ids_of(owner_did)
        return await self._loaded([task_id async for task_id in _some(ids, length, offset)])

    async def count_tasks(self, status: str | None = None) -> int:
        counted = (await self._call(self._store.counts)).states
        submitted = sum(counted.get(state, 0) for state in (State if status is None else kept(status)))
        noted = [state async for _, state in self._noted()]
        return submitted + (len(noted) if status is None else noted.count(status))

    async def list_tasks_by_context(
        self, context_id: UUID, length: int | None = None, offset: int = 0, owner_did: str | None = None
    ) -> list[Document]:
        """Oldest first."""
        context = await self._call(self._store.conversation, str(checked("context_id", context_id)))
        if context is None or (owner_did is not None and context.owner != owner_did):
            return []
        return await self._loaded(list(context.task_ids)[offset : offset + most(length)])


async def _some(ids: AsyncIterator[str], length: int | None, offset: int) -> AsyncIterator[str]:
    place, last = 0, offset + most(length)
    async for task_id in ids:
        if place >= last:
            return
        if place >= offset:
            yield task_id
        place += 1
