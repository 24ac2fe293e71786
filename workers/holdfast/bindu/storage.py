"""The framework's storage, made of the tasks that Holdfast keeps and of what is kept beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import structlog
from bindu.server.storage.base import OwnershipError, Storage  # pyright: ignore[reportMissingModuleSource]  # the extra: needs Python 3.12

from holdfast.bindu.beside import Beside
from holdfast.bindu.contexts import Contexts
from holdfast.bindu.envelopes import encoded, message_of
from holdfast.bindu.ids import checked
from holdfast.bindu.opening import Document, most
from holdfast.bindu.reading import Reading
from holdfast.bindu.views import kept, shown
from holdfast.core.conversations import Noted
from holdfast.core.records import TaskRecord
from holdfast.core.states import State

CANCELED = "canceled by the application"

_log = structlog.get_logger("holdfast.bindu")


class HoldfastStorage(Contexts, Beside, Reading, Storage[dict[str, Any]]):
    """Made by `connect`. States are Holdfast's: a worker of the framework changes those of what it holds, anybody can
    cancel or pause; another state that is written is not taken, and the task is returned as it is.

    Ids are checked as the framework's own storages do it, with TypeError; else errors are those of `holdfast.errors`.
    """

    async def load_task(self, task_id: UUID, history_length: int | None = None) -> Document | None:
        task = await self._load(str(checked("task_id", task_id)))
        if task is not None and history_length is not None and history_length > 0:
            task["history"] = task["history"][-history_length:]
        return task

    async def submit_task(self, context_id: UUID, message: Document, caller_did: str | None = None) -> Document:
        """Note a task, or one more message for one; it runs once the scheduler has it, too. Raises OwnershipError;
        ValueError for a task that has ended."""
        context, task = checked("context_id", context_id), checked("task_id", message.get("task_id"))
        message.update(message_of(message, str(task), str(context)))
        task_id = str(task)
        answer = await self._call(self._store.note, task_id, str(context), caller_did or "", encoded(message))
        if answer == Noted.FOREIGN:
            raise OwnershipError(f"context {context} or task {task_id} is owned by a different caller")
        if answer != Noted.NOTED:
            told = f"cannot continue task {task_id}: it is {answer}, which is final"
            raise ValueError(f"{told}; create a new task with reference_task_ids to continue the conversation")
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
        """Raises KeyError for an unknown task. What ends a turn has been recorded when this returns."""
        key = str(checked("task_id", task_id))
        record = await self._record(key)
        if record is None:
            raise KeyError(f"task {key} not found")
        if metadata:
            await self._call(self._store.add, key, metadata={name: encoded(item) for name, item in metadata.items()})
        held = self._desk.of(key)
        if held is not None and state != "canceled":
            held.say(state, new_artifacts or [], new_messages or [])
            if held.outcome is not None:
                await held.settled.wait()
        else:
            await self._update(record, state, new_artifacts or [], new_messages or [])
        task = await self._load(key)
        if task is None:
            raise KeyError(f"task {key} not found")
        return task

    async def _update(
        self, record: TaskRecord, state: str, artifacts: list[Document], messages: list[Document]
    ) -> None:
        """Of a task that no worker of this process holds."""
        match state:
            case "canceled":
                taken = await self._call(self._store.cancel, record.task_id, CANCELED) == State.CANCELED
            case "suspended":
                taken = await self._call(self._store.pause, record.task_id, "paused by the application") != "unknown"
            case _:
                taken = shown(record.state) == state
        if not taken:
            _log.warning("a state was not taken", task=record.task_id, state=str(record.state), written=state)
            return
        added = [{"artifact": each} for each in artifacts] + [
            {"message": {"role": "agent", **each}} for each in messages
        ]
        await self._call(self._store.add, record.task_id, added=tuple(map(encoded, added)))

    async def update_task_state_if(self, task_id: UUID, from_state: str, to_state: str) -> bool:
        """Whoever may cancel can do it from any state; other transitions are those of whoever runs the task: False."""
        key, states = str(checked("task_id", task_id)), kept(from_state)
        held = self._desk.of(key)
        if held is not None and held.state == from_state:
            states = (*states, State.WORKING)
        if to_state != State.CANCELED or not states:
            return False
        return await self._call(self._store.cancel_if, key, tuple(map(str, states)), CANCELED)

    async def list_tasks(
        self, length: int | None = None, offset: int = 0, owner_did: str | None = None
    ) -> list[Document]:
        """Of an owner those of the conversation begun last first; else those that live, then those that ended, the last
        one first. At most a thousand."""
        ids = self._all_ids() if owner_did is None else self._ids_of(owner_did)
        return await self._loaded([task_id async for task_id in _some(ids, length, offset)])

    async def count_tasks(self, status: str | None = None) -> int:
        counted = (await self._call(self._store.counts)).states
        return sum(counted.get(state, 0) for state in (State if status is None else kept(status)))

    async def list_tasks_by_context(
        self, context_id: UUID, length: int | None = None, offset: int = 0, owner_did: str | None = None
    ) -> list[Document]:
        """Oldest first."""
        found = await self._call(self._store.conversation, str(checked("context_id", context_id)))
        if found is None or (owner_did is not None and found.owner != owner_did):
            return []
        return await self._loaded(list(found.task_ids)[offset : offset + most(length)])


async def _some(ids: AsyncIterator[str], length: int | None, offset: int) -> AsyncIterator[str]:
    place, last = 0, offset + most(length)
    async for task_id in ids:
        if place >= last:
            return
        if place >= offset:
            yield task_id
        place += 1
