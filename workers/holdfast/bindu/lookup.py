"""The part of the storage that finds tasks in the store, and shows them as they are at this moment."""

from __future__ import annotations

from collections.abc import AsyncIterator

from holdfast.bindu.envelopes import message_of
from holdfast.bindu.ids import is_uuid
from holdfast.bindu.lazy_store import MOST, Document, LazyStore
from holdfast.bindu.task_view import noted_view, view
from holdfast.core.conversations import About
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, Wanted


class TaskLookup(LazyStore):
    async def _record(self, task_id: str) -> TaskRecord | None:
        return await self._call(self._store.get, task_id)

    async def _load(self, task_id: str) -> Document | None:
        record = await self._record(task_id)
        about = await self._call(self._store.about, task_id)
        if record is None:
            return noted_view(task_id, about) if about.message is not None else None
        return self._as_held(record, about)

    def _as_held(self, record: TaskRecord, about: About) -> Document:
        """The task with what the worker of this process that holds it has written so far."""
        task = view(record, about)
        held = self._held_tasks.of(record.task_id)
        if held is not None and record.state is State.WORKING:
            context_id = str(task["context_id"])
            task["status"]["state"] = held.state
            task["history"] += [message_of(each, record.task_id, context_id) for each in held.messages]
            task["artifacts"] += held.artifacts
        return task

    async def _loaded(self, ids: list[str]) -> list[Document]:
        return [task for task_id in ids if (task := await self._load(task_id)) is not None]

    async def _noted(self) -> AsyncIterator[tuple[str, str]]:
        """Ids and states of the tasks that no scheduler was given yet."""
        offset = 0
        while offset >= 0:
            page, offset = await self._call(self._store.noted, 100, offset)
            for each in page.items():
                yield each

    async def _all_ids(self) -> AsyncIterator[str]:
        """Ids of all tasks that the framework could name."""
        noted = set[str]()
        async for task_id, _ in self._noted():
            noted.add(task_id)
            yield task_id
        async for task_id in self._submitted_ids():
            if task_id not in noted:  # else it was submitted in the meantime
                yield task_id

    async def _submitted_ids(self) -> AsyncIterator[str]:
        cursor = ""
        while True:
            page = await self._call(self._store.tasks, Wanted(states=tuple(State)), 100, cursor)
            for record in page.tasks:
                if is_uuid(record.task_id):
                    yield record.task_id
            if not (cursor := page.cursor):
                return

    async def _ids_of(self, owner: str) -> AsyncIterator[str]:
        for context_id in await self._call(self._store.conversations, owner, MOST, 0):
            context = await self._call(self._store.conversation, context_id)
            for task_id in reversed(context.task_ids if context is not None else ()):
                yield task_id
