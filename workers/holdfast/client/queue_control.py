"""Control a queue: pause and clear its lanes, delete tasks that have ended, delete everything."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from holdfast.client.arguments import (
    check_callback,
    check_cursor,
    check_flag,
    check_id,
    check_ids,
    check_lane,
    check_limit,
    check_moment,
    check_name,
    check_reason,
    check_seconds,
    check_states,
)
from holdfast.client.query import TaskQueries
from holdfast.client.submission import Submitter, raise_refusals
from holdfast.client.submit_retries import RepeatedCalls
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Receipt
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Page, Retried, RetryAnswer, TaskObstacle, TaskRecord, Wanted
from holdfast.core.words import counted
from holdfast.errors import (
    CannotRetryError,
    HoldfastError,
    InvalidTaskError,
    QueueBusyError,
    TaskOpenError,
    UnknownTaskError,
)

CHUNK = 100  # tasks in one call of the store
CLEARED = 50  # entries in one step of clearing a lane: a step occupies the store for one or two milliseconds
KEYS = 1000  # keys that one step of deleting a queue looks at


OnStep = Callable[[int], object] | None  # called after each step with the number that is done so far


class QueueControl(RepeatedCalls):
    """The calls of TaskManager about the queue as a whole. Without a lane they apply to the public queue. `on_step` is
    called after each step of long work, with the number of tasks done so far."""

    async def queue_length(self, lane: str | None = None) -> int:
        """The number of entries that wait in a lane (None: in all lanes)."""
        wanted = None if lane is None else check_lane(lane).removeprefix(f"{{{self._queue}}}:lane:")
        lanes = (await self._call(self._store.counts)).lanes
        return sum(lanes.values()) if wanted is None else lanes.get(wanted, 0)

    async def pause_queue(self, lane: str | None = None, reason: str = "paused by a producer") -> bool:
        """Pause a lane: no worker on any host starts its tasks until it is resumed. A paused lane still accepts tasks,
        and running tasks go on. Returns False if the lane was paused before; the new reason replaces the old one."""
        return await self._call(self._store.pause_lane, self._lane(lane), check_reason(reason))

    async def resume_queue(self, lane: str | None = None) -> bool:
        """Resume a paused lane; returns False if it was not paused."""
        return await self._call(self._store.resume_lane, self._lane(lane))

    async def clear_queue(self, lane: str | None = None, *, delayed: bool = False, on_step: OnStep = None) -> int:
        """Cancel the waiting tasks of a lane, in short steps; returns their number. `delayed`: cancel delayed tasks,
        too. Running tasks go on."""
        cleared, cleared_lane, both = 0, self._lane(lane), check_flag("delayed", delayed)
        check_callback("on_step", on_step)
        while step := await self._call(self._store.clear, cleared_lane, CLEARED):
            cleared += step
            _tell(on_step, cleared)
        return await self._cancel_delayed(cleared_lane, cleared, on_step) if both else cleared

    async def _cancel_delayed(self, lane: str, canceled: int, on_step: OnStep) -> int:
        cursor = ""
        while True:
            page = await self._call(self._store.tasks, Wanted((State.DELAYED,), lane), CHUNK, cursor)
            for task in page.tasks:
                answer = await self._call(self._store.cancel, task.task_id, "the queue was cleared")
                canceled += answer == State.CANCELED
            _tell(on_step, canceled)
            if not (cursor := page.cursor):
                return canceled

    async def remove_task(self, task_id: str) -> None:
        """Delete an ended task with all its data. Its id may be used again afterwards. Raises UnknownTaskError, or
        TaskOpenError if the task has not ended: cancel it first."""
        turn = 0
        while not await self._call(self._store.forget_tasks, [check_id(task_id)]):
            task = await self._call(self._store.get, task_id, payloads=False)
            if task is None or task.state not in TERMINAL or task.turn == turn:
                raise _not_removed(task_id, task)
            turn = task.turn  # the store deletes a task of very many turns in steps

    async def clean_tasks(
        self,
        *states: State | str,
        older_than: float = 0.0,
        lane: str | None = None,
        name: str | None = None,
        limit: int | None = None,
        on_step: OnStep = None,
    ) -> int:
        """Delete ended tasks, latest first; returns their number. Filters: states (by default every state of an ended
        task), lane, handler's name, and ended at least `older_than` seconds ago. `limit`: the number of tasks to delete
        at most. Open tasks stay."""
        check_seconds("older_than", older_than)
        check_callback("on_step", on_step)
        most = None if limit is None else check_limit(limit)
        wanted = Wanted(
            states=_ended(check_states(states)),
            lane="" if lane is None else check_lane(lane),
            name="" if name is None else check_name(name),
        )
        before_ms = await self._call(self._store.clock_ms) - round(older_than * 1000)
        removed, cursor = 0, ""
        while most is None or removed < most:
            page = await self._call(self._store.tasks, wanted, CHUNK, cursor)
            ids = [task.task_id for task in page.tasks if (task.finished_ms or sys.maxsize) <= before_ms]
            removed += await self._forget(ids if most is None else ids[: most - removed])
            _tell(on_step, removed)
            if not (cursor := page.cursor):
                break
        return removed

    async def _forget(self, task_ids: list[str]) -> int:
        return await self._call(self._store.forget_tasks, task_ids) if task_ids else 0

    async def obliterate_queue(self, *, force: bool = False, on_step: OnStep = None) -> int:
        """Delete everything of this queue: tasks in every state, lanes and their limits, schedules, dead letters.
        Returns the number of deleted keys. You cannot undo this. Raises QueueBusyError if the queue has workers. With
        `force` the queue is deleted although it has workers, and the results of running tasks are lost. Raises
        StoreRefusedError if PostgreSQL keeps the tasks."""
        deleted, cursor, forced = 0, "", check_flag("force", force)
        check_callback("on_step", on_step)
        while True:
            step = await self._call(self._store.obliterate, cursor, KEYS, force=forced)
            if step.workers:
                there = counted(step.workers, "worker")
                raise QueueBusyError(
                    f"queue {self._queue} has {there}: stop all workers first, or delete it nevertheless with force"
                )
            deleted += step.keys
            _tell(on_step, deleted)
            if not (cursor := step.cursor):
                return deleted

    def _lane(self, lane: str | None) -> str:
        return self._queue if lane is None else check_lane(lane)


def _tell(on_step: OnStep, done: int) -> None:
    if on_step is not None:
        on_step(done)


def _ended(states: tuple[State, ...]) -> tuple[State, ...]:
    if open_ones := [state for state in states if state not in TERMINAL]:
        ended = ", ".join(sorted(TERMINAL))
        raise InvalidTaskError(f"state {open_ones[0]}: only ended tasks can be deleted, so {ended} are allowed")
    return states or tuple(sorted(TERMINAL))


def _not_removed(task_id: str, task: TaskRecord | None) -> HoldfastError:
    if task is None:
        return UnknownTaskError(f"no task {task_id}; a task that ended long ago is forgotten")
    if task.state in TERMINAL:
        return TaskOpenError(f"task {task_id} cannot be removed yet: tasks that wait for it are being told of its end")
    return TaskOpenError(f"task {task_id} is {task.state} and cannot be removed: cancel it first")


# Cancel, pause and resume tasks.


class TaskControl(TaskQueries):
    """The calls of TaskManager that cancel, pause and resume one task."""

    submitter: Submitter

    async def cancel_task(self, task_id: str, reason: str = "canceled by a producer") -> State:
        """Cancel a task. Returns its state afterwards: `canceled`, or the state in which it had ended before.

        For an unknown task this raises UnknownTaskError, and the store keeps the cancel for ten minutes. If the task is
        submitted in this time, for example by a slower producer, the store cancels it and it does not run.
        """
        return _known(task_id, await self._call(self._store.cancel, check_id(task_id), check_reason(reason)))

    async def pause_task(self, task_id: str, reason: str = "paused by a producer") -> State:
        """Pause a task: a waiting task at once, a `working` one when its handler stops. Returns the task's state
        afterwards."""
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
        """Resume a paused task, with one more message if `text` or `data` is given. Returns the task's state
        afterwards. A message for a `working` task waits until the running turn has ended. If a pause was asked for and
        the handler still runs, the pause is withdrawn. The same message counts once; to send the same words again, give
        a new `message_id`.
        """
        why = check_reason(reason)
        if text is None and data is None:
            if message_id is not None:
                raise InvalidTaskError("message_id: there is no message; give text or data too")
            return _known(task_id, await self._call(self._store.resume, check_id(task_id), why))
        one = self.submitter.prepare(TaskSpec(text=text, data=data, task_id=check_id(task_id), message_id=message_id))
        answer = await self._call(self._store.message, one)
        raise_refusals([one], [Receipt(answer, task_id)])
        return (await self.record(task_id, payloads=False)).state


def _known(task_id: str, state: State | TaskObstacle) -> State:
    if isinstance(state, TaskObstacle):
        raise UnknownTaskError(f"no task {task_id}; a task that ended long ago is forgotten")
    return state


# Retry tasks that failed, list and delete dead letters.

_REFUSALS = {
    State.COMPLETED: "it has completed; submit a new task",
    State.SUBMITTED: "it waits to run already",
    State.WORKING: "it runs now",
    State.INPUT_REQUIRED: "it waits for an answer; send it a message, or resume it",
    State.AUTH_REQUIRED: "it waits to be authorized; send it a message, or resume it",
    State.SUSPENDED: "it is paused; resume it",
    TaskObstacle.LONG: "the id of its next run would have more than 128 characters; submit a new task",
}


class DeadLetters(RepeatedCalls):
    """The calls of TaskManager about retries and dead letters."""

    async def retry_task(self, task_id: str, reason: str = "retried by a producer") -> str:
        """Run a failed, rejected or canceled task again, or a delayed one at once. Returns the id of the task that
        runs.

        The ended task stays unchanged. The new task (`<id>.r1`, or the next free number) gets the same operation,
        history and limits. It begins with no attempts counted and without a checkpoint, and has a new idempotency key.
        A second retry of the ended task makes no further task. Raises CannotRetryError, UnknownTaskError,
        StoreFullError.
        """
        return checked(await self.ask_retry(task_id, reason)).task_id

    async def ask_retry(self, task_id: str, reason: str = "retried by a producer") -> RetryAnswer:
        """Retry a task like `retry_task`, but return the store's answer. A refusal is an answer, too, not an error."""
        return await self._call(self._store.retry, check_id(task_id), check_reason(reason))

    async def dead_letters(self, limit: int = 100, cursor: str = "", before_ms: int | None = None) -> Page:
        """A page of the dead letters that were not retried, newest first, without payloads. `before_ms`: leaves out
        tasks that became dead letters after this Unix time in milliseconds."""
        before = None if before_ms is None else check_moment("before_ms", before_ms)
        return await self._call(self._store.dead_letters, check_limit(limit), check_cursor(cursor), before)

    async def purge_dead_letters(self, task_ids: Sequence[str]) -> int:
        """Delete dead letters with all their data; returns their number."""
        ids = check_ids(task_ids)
        return await self._call(self._store.purge_dead, ids) if ids else 0


def checked(answer: RetryAnswer) -> RetryAnswer:
    """Return `answer` if it says that the retry was accepted. Raises UnknownTaskError or CannotRetryError for a
    refusal."""
    match answer.word:
        case Retried.NEW | Retried.AGAIN | Retried.DUE:
            return answer
        case TaskObstacle.UNKNOWN:
            raise UnknownTaskError(f"no task {answer.task_id}; a task that ended long ago is forgotten")
        case _:
            why = _REFUSALS.get(answer.word, f"it is {answer.word}")
            raise CannotRetryError(f"task {answer.task_id} cannot be retried: {why}")
