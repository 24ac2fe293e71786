"""Retry tasks that failed, list and delete dead letters."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.client.arguments import check_cursor, check_id, check_ids, check_limit, check_moment, check_reason
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.tasks import Page, Retried, RetryAnswer
from holdfast.errors import CannotRetryError, UnknownTaskError
from holdfast.store.protocol import TaskStore

_REFUSALS = {
    "completed": "it has completed; submit a new task",
    "submitted": "it waits to run already",
    "working": "it runs now",
    "input-required": "it waits for an answer; send it a message, or resume it",
    "auth-required": "it waits to be authorized; send it a message, or resume it",
    "suspended": "it is paused; resume it",
    "long": "the id of its next run would have more than 128 characters; submit a new task",
}


class DeadLetters:
    """The calls of TaskManager about retries and dead letters."""

    def __init__(self, store: TaskStore, retries: SubmitRetries) -> None:
        self._store = store
        self._call = retries.call

    async def retry_task(self, task_id: str, reason: str = "retried by a producer") -> str:
        """Run a failed, rejected or canceled task again, or a delayed one at once; the id of the task that runs.

        The ended task stays as it ended. A new task, `<id>.r1`, gets the same operation, history and limits, and begins
        with no attempts and no checkpoint; its idempotency key is a new one. A second retry makes no second task.
        Raises CannotRetryError, UnknownTaskError, StoreFullError.
        """
        return checked(await self.ask_retry(task_id, reason)).task_id

    async def ask_retry(self, task_id: str, reason: str = "retried by a producer") -> RetryAnswer:
        """Retry a task as `retry_task` does; the store's answer, refusals included."""
        return await self._call(self._store.retry, check_id(task_id), check_reason(reason))

    async def dead_letters(self, limit: int = 100, cursor: str = "", before_ms: int | None = None) -> Page:
        """Dead letters (until `before_ms`, Unix time) that were not retried, newest first, without payloads."""
        before = None if before_ms is None else check_moment("before_ms", before_ms)
        return await self._call(self._store.dead_letters, check_limit(limit), check_cursor(cursor), before)

    async def purge_dead_letters(self, task_ids: Sequence[str]) -> int:
        """Delete dead letters with everything kept of them; their number."""
        ids = check_ids(task_ids)
        return await self._call(self._store.purge_dead, ids) if ids else 0


def checked(answer: RetryAnswer) -> RetryAnswer:
    """The answer, if it names the task that runs; raises otherwise."""
    match answer.word:
        case Retried.NEW | Retried.AGAIN | Retried.DUE:
            return answer
        case "unknown":
            raise UnknownTaskError(f"no task {answer.task_id}; one that ended long ago is forgotten")
        case _:
            why = _REFUSALS.get(answer.word, f"it is {answer.word}")
            raise CannotRetryError(f"task {answer.task_id} cannot be retried: {why}")
