"""A storage for the framework: it shows the tasks of a Holdfast queue, and keeps the framework's own data beside
them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from bindu.server.storage.base import OwnershipError, Storage  # pyright: ignore[reportMissingModuleSource]  # the extra: needs Python 3.12

from holdfast.bindu.held_tasks import HeldTasks
from holdfast.bindu.task_view import (
    checked,
    decoded,
    document,
    documents,
    encoded,
    is_uuid,
    kept,
    message_of,
    named,
    noted_view,
    shown,
    view,
)
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.conversations import About, KeptNote, NotedWrite
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, Wanted
from holdfast.store import Store, make_store
from holdfast_config import Settings, library_log

# The base of the storage: it opens the store at the first call.

Document = dict[str, Any]

MOST = 1000  # tasks or contexts of one list


def most(length: int | None) -> int:
    """The number of items that a list may have: `length`, but at most MOST. Also MOST if `length` is None or below
    1."""
    return MOST if length is None or length <= 0 else min(length, MOST)


class LazyStore:
    """Base class of the parts of the storage. Calls are repeated while the store cannot be reached."""

    def __init__(self, settings: Settings, held_tasks: HeldTasks) -> None:
        self._settings, self._held_tasks = settings, held_tasks
        self._opened: Store | None = None
        self._call = SubmitRetries().call

    @property
    def _store(self) -> Store:
        if self._opened is None:
            self._opened = make_store(self._settings.redis, self._settings.postgres)
        return self._opened

    @property
    def store_url(self) -> str:
        """The URL of the storage's store, with the password masked."""
        return self._settings.redis.masked_url

    def use(self, settings: Settings) -> None:
        """Replace the settings. Call this before the first use, or after `close`."""
        self._settings = settings

    async def close(self) -> None:
        """Close the connections to the store. No data is deleted. A later call opens new connections."""
        store, self._opened = self._opened, None
        if store is not None:
            await store.aclose()


# The part of the storage that keeps contexts. A context is a conversation with its tasks and one owner.

STEP = 50  # tasks that are cleared in one call of the store


class ContextStorage(LazyStore):
    async def load_context(self, context_id: UUID) -> Document | None:
        context = await self._call(self._store.conversation, checked("context_id", context_id))
        if context is None:
            return None
        data: Document = decoded(context.data) if context.data else {}
        return {**data, "task_ids": [named(each) for each in context.task_ids]}

    async def append_to_contexts(self, context_id: UUID, messages: list[Document]) -> None:
        """Check the arguments and do nothing, because the messages of a context are those of its tasks."""
        checked("context_id", context_id)
        documents("messages", "Message", messages)

    async def update_context(self, context_id: UUID, context: Document) -> None:
        key = checked("context_id", context_id)
        await self._call(self._store.write_conversation, key, encoded(document("context", context)))

    async def list_contexts(
        self, length: int | None = None, offset: int = 0, owner_did: str | None = None
    ) -> list[Document]:
        """The contexts of an owner (None: of all owners), the newest first, at most a thousand."""
        ids = await self._call(self._store.conversations, owner_did, most(length), offset)
        contexts = [each for key in ids if (each := await self._call(self._store.conversation, key)) is not None]
        listed = [(each.context_id, [named(task_id) for task_id in each.task_ids]) for each in contexts]
        return [{"context_id": named(key), "task_count": len(tasks), "task_ids": tasks} for key, tasks in listed]

    async def clear_context(self, context_id: UUID) -> None:
        """Delete a context. Its tasks are canceled and deleted. Raises ValueError for an unknown context."""
        if not await self._clear(checked("context_id", context_id)):
            raise ValueError(f"context {context_id} not found")

    async def clear_all(self) -> None:
        """Clear all contexts with their tasks. Tasks of other producers stay."""
        while ids := await self._call(self._store.conversations, None, MOST, 0):
            for context_id in ids:
                await self._clear(context_id)

    async def _clear(self, context_id: str) -> bool:
        left = known = await self._call(self._store.clear_conversation, context_id, STEP)
        while left > 0:
            left = await self._call(self._store.clear_conversation, context_id, STEP)
        return known >= 0

    async def get_context_owner(self, context_id: UUID) -> str | None:
        context = await self._call(self._store.conversation, checked("context_id", context_id))
        return context.owner or None if context is not None else None


# The part of the storage that keeps feedback, webhook configurations and owners of tasks.


class FeedbackStorage(LazyStore):
    async def store_task_feedback(self, task_id: UUID, feedback_data: Document) -> None:
        key = checked("task_id", task_id)
        await self._call(self._store.add, key, feedback=encoded(document("feedback_data", feedback_data)))

    async def get_task_feedback(self, task_id: UUID) -> list[Document] | None:
        entries = await self._call(self._store.feedback, checked("task_id", task_id))
        return [decoded(each) for each in entries] or None

    async def save_webhook_config(self, task_id: UUID, config: Document) -> None:
        key = checked("task_id", task_id)
        await self._call(self._store.add, key, push=encoded(document("config", config)))

    async def load_webhook_config(self, task_id: UUID) -> Document | None:
        config = await self._call(self._store.push, checked("task_id", task_id))
        return None if config is None else _config(config)

    async def delete_webhook_config(self, task_id: UUID) -> None:
        await self._call(self._store.forget_push, checked("task_id", task_id))

    async def load_all_webhook_configs(self) -> dict[UUID, Document]:
        return {named(key): _config(each) for key, each in (await self._call(self._store.pushes)).items()}

    async def get_task_owner(self, task_id: UUID) -> str | None:
        return (await self._call(self._store.about, checked("task_id", task_id))).owner or None


def _config(raw: bytes) -> Document:
    config: Document = decoded(raw)
    return {**config, "id": named(config.get("id"))}


# The part of the storage that reads tasks from the store, in the framework's form.


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
        """The task in the framework's form. If a worker of this process holds it, the state, messages and artifacts
        that this worker has written are included."""
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
        """Yield the ids and states of tasks that this storage keeps and that no scheduler has submitted yet."""
        offset = 0
        while offset >= 0:
            page, offset = await self._call(self._store.noted, 100, offset)
            for each in page.items():
                yield each

    async def _all_ids(self) -> AsyncIterator[str]:
        """Yield the ids of all tasks whose id is a UUID, because the framework knows no other ids."""
        noted = set[str]()
        async for task_id, _ in self._noted():
            noted.add(task_id)
            yield task_id
        async for task_id in self._submitted_ids():
            if task_id not in noted:  # a task may have been submitted in the meantime
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


CANCELED = "canceled by the application"

_log = library_log.get_logger("holdfast.bindu")


class HoldfastStorage(ContextStorage, FeedbackStorage, TaskLookup, Storage[dict[str, Any]]):
    """The framework's storage interface over a Holdfast queue; `connect` makes it. Holdfast decides who may write the
    state of a task. A worker of the framework writes the states of the tasks that it holds. Any caller can cancel or
    pause. Until the scheduler has a task, the application may write any state. Other states are ignored with a warning.

    Wrong ids raise TypeError, like in the framework's own storages. Other errors are those of `holdfast.errors`.
    """

    async def load_task(self, task_id: UUID, history_length: int | None = None) -> Document | None:
        task = await self._load(checked("task_id", task_id))
        if task is not None and history_length is not None and history_length > 0:
            task["history"] = task["history"][-history_length:]
        return task

    async def submit_task(self, context_id: UUID, message: Document, caller_did: str | None = None) -> Document:
        """Keep the first message of a task, or one more message for it. The task runs only after the scheduler gets it,
        too. Raises OwnershipError, or ValueError for a task that has ended."""
        context = checked("context_id", context_id)
        task_id = checked("task_id", document("Message", message).get("task_id"))
        message.update(message_of(message, task_id, context))
        answer = await self._call(self._store.note, task_id, context, caller_did or "", encoded(message))
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
        """Write a state of a task. A state that ends the turn is in the store when this returns. Raises KeyError for an
        unknown task."""
        key = checked("task_id", task_id)
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
        """The record of a submitted task. If the task is only kept here and was not submitted, this writes the state,
        and returns None with the answer of the write. Raises KeyError for an unknown task."""
        record = await self._record(task_id)
        if record is not None:
            return record, NotedWrite.UNNOTED
        noted = await self._note_state(task_id, state)
        if noted is NotedWrite.UNNOTED:
            record = await self._record(task_id)  # the task may have been submitted in between
            if record is None:
                raise KeyError(f"task {task_id} not found")
        return record, noted

    async def _note_state(self, task_id: str, state: str, *wanted: str) -> NotedWrite:
        """Write the state of a task that the scheduler does not have yet. `wanted`: the states that allow the write;
        all if empty."""
        noted = await self._call(self._store.note_state, task_id, state, wanted)
        if noted is NotedWrite.KEPT and not wanted:
            _log.warning(
                "the framework wrote a state that the task cannot take: it was ignored",
                task=task_id,
                state="ended",
                written=state,
            )
        return noted

    async def _taken(self, record: TaskRecord, state: str) -> bool:
        """Write the state of a task that no worker of this process holds. Returns True if the task has the state
        afterwards. Only a cancel or a pause changes the task."""
        match state:
            case "canceled":
                taken = await self._call(self._store.cancel, record.task_id, CANCELED) == State.CANCELED
            case "suspended":
                paused = await self._call(self._store.pause, record.task_id, "paused by the application")
                taken = isinstance(paused, State)
            case _:
                taken = shown(record.state) == state
        if not taken:
            _log.warning(
                "the framework wrote a state that the task cannot take: it was ignored",
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
        """Write `to_state` if the task is in `from_state`; returns True if it was written. If the scheduler has the
        task, only a cancel is written, because only the worker that runs the task writes other states. If the scheduler
        does not have the task yet, any state is written."""
        key, states = checked("task_id", task_id), kept(from_state)
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
        """A list of at most a thousand tasks. With an owner, tasks of the newest conversation come first. Without an
        owner, tasks that the scheduler does not have yet come first, then open tasks, then ended tasks, latest
        first."""
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
        """The tasks of a context, oldest first; none if `owner_did` is given and is not the owner of the context."""
        context = await self._call(self._store.conversation, checked("context_id", context_id))
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
