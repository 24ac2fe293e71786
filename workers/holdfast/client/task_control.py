"""Cancel, pause and resume tasks."""

from __future__ import annotations

from holdfast.client.arguments import check_id, check_reason
from holdfast.client.query import TaskQueries
from holdfast.client.submission import raise_refusals
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.submitter import Submitter
from holdfast.client.task_spec import TaskSpec
from holdfast.core.task_states import State
from holdfast.core.tasks import Receipt
from holdfast.errors import InvalidTaskError, UnknownTaskError
from holdfast.store.protocol import ProducerStore


class TaskControl:
    """The calls of TaskManager that cancel, pause and resume one task."""

    def __init__(
        self, store: ProducerStore, retries: SubmitRetries, submitter: Submitter, queries: TaskQueries
    ) -> None:
        self._store = store
        self._call = retries.call
        self._submitter = submitter
        self._queries = queries

    async def cancel_task(self, task_id: str, reason: str = "canceled by a producer") -> State:
        """End a task that has not ended; its state afterwards: `canceled`, or the one in which it had ended before.

        The cancel of an unknown task raises UnknownTaskError and is kept for ten minutes: if the task comes after all,
        as when another producer was slower, it is canceled and does not run.
        """
        return _known(task_id, await self._call(self._store.cancel, check_id(task_id), check_reason(reason)))

    async def pause_task(self, task_id: str, reason: str = "paused by a producer") -> State:
        """Park a task: at once if it waits, when its handler stops if it is `working`; its state afterwards."""
        return _known(task_id, await self._call(self._store.pause, check_id(task_id), check_reason(reason)))

    async def resume_task(
        self,
        task_id: str,
        text: str | None = None,
        *,
        data: object = None,
        message_id: str | None = None,
        reason: str = "resumed by a producer",
    ) -> State:
        """Let a parked task go on, with one more message if `text` or `data` is given; its state afterwards.

        A message for a task that is `working` waits until the running turn has ended; a pause that was asked for and
        not yet carried out is withdrawn. The same message twice is one; the same words again are another message if
        they get a `message_id` of their own.
        """
        why = check_reason(reason)
        if text is None and data is None:
            if message_id is not None:
                raise InvalidTaskError("message_id: there is no message; give text or data too")
            return _known(task_id, await self._call(self._store.resume, check_id(task_id), why))
        one = self._submitter.prepare(TaskSpec(text=text, data=data, task_id=check_id(task_id), message_id=message_id))
        answer = await self._call(self._store.message, one)
        raise_refusals([one], [Receipt(answer, task_id)])
        return (await self._queries.record(task_id, payloads=False)).state


def _known(task_id: str, state: str) -> State:
    if state == "unknown":
        raise UnknownTaskError(f"no task {task_id}; one that ended long ago is forgotten")
    return State(state)
