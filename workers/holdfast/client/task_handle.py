"""Handles of submitted tasks: a producer waits for its task, reads it or cancels it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, overload

from holdfast.client.manager import TaskManager
from holdfast.client.manager_in_scope import current_manager
from holdfast.client.sync_call import call_sync
from holdfast.core.emitted_parts import EmittedPart
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord

R = TypeVar("R", covariant=True)

Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class TaskHandle(Generic[R]):
    """A task that was accepted. `read` converts its JSON value to the return type of the handler."""

    task_id: str
    manager: TaskManager = field(repr=False)
    read: Read | None = field(default=None, repr=False)

    @overload
    async def wait(self, timeout: float | None = None, *, raise_failed: Literal[True]) -> TaskRecord[R]: ...

    @overload
    async def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R | None]: ...

    async def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R | None]:
        """Wait until the task has ended or asks for input; the record, its `value` of the handler's return type.

        Raises TimeoutError after `timeout` seconds; with `raise_failed` TaskFailed, with the worker's traceback, if it
        did not complete.
        """
        return replace(await self.manager.wait(self.task_id, timeout, raise_failed=raise_failed), read=self.read)

    def stream(self, *, after: int = 0) -> AsyncGenerator[EmittedPart]:
        """The parts that the task emits, as they come, until it has ended or asks for input: see TaskManager.stream."""
        return self.manager.stream(self.task_id, after=after)

    async def record(self) -> TaskRecord[R | None]:
        """The task as it is now; raises UnknownTaskError."""
        return replace(await self.manager.get_task(self.task_id), read=self.read)

    async def cancel(self, reason: str = "canceled by a producer") -> State:
        """End the task if it has not ended; its state afterwards."""
        return await self.manager.cancel_task(self.task_id, reason)


@dataclass(frozen=True, slots=True)
class SyncTaskHandle(Generic[R]):
    """As TaskHandle, without async."""

    task_id: str
    read: Read | None = field(default=None, repr=False)

    @overload
    def wait(self, timeout: float | None = None, *, raise_failed: Literal[True]) -> TaskRecord[R]: ...

    @overload
    def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R | None]: ...

    def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R | None]:
        """Wait until the task has ended or asks for input; the record, its `value` of the handler's return type.

        Raises TimeoutError after `timeout` seconds; with `raise_failed` TaskFailed, with the worker's traceback, if it
        did not complete.
        """
        return call_sync(self._wait, timeout, raise_failed)

    def stream(self, *, after: int = 0) -> Iterator[EmittedPart]:
        """The parts that the task emits, as they come, until it has ended or asks for input: see TaskManager.stream."""
        parts = call_sync(self._stream, after)
        try:
            while (part := call_sync(anext, parts, None)) is not None:
                yield part
        finally:
            call_sync(parts.aclose)

    def record(self) -> TaskRecord[R | None]:
        """The task as it is now; raises UnknownTaskError."""
        return call_sync(self._record)

    def cancel(self, reason: str = "canceled by a producer") -> State:
        """End the task if it has not ended; its state afterwards."""
        return call_sync(self._cancel, reason)

    async def _handle(self) -> TaskHandle[R]:
        """The async handle, with the manager of the event loop that serves the call."""
        return TaskHandle(self.task_id, await current_manager(), self.read)

    async def _wait(self, timeout: float | None, raise_failed: bool) -> TaskRecord[R | None]:
        return await (await self._handle()).wait(timeout, raise_failed=raise_failed)

    async def _stream(self, after: int) -> AsyncGenerator[EmittedPart]:
        return (await self._handle()).stream(after=after)

    async def _record(self) -> TaskRecord[R | None]:
        return await (await self._handle()).record()

    async def _cancel(self, reason: str) -> State:
        return await (await self._handle()).cancel(reason)
