"""One tree of errors; each class's docstring says what it means, its message names what, which value and what to do."""

from __future__ import annotations


class HoldfastError(Exception):
    """Anything Holdfast raises on purpose."""


class StoreError(HoldfastError):
    """The store did not carry out the call."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached, or answers that it cannot serve now; try again."""


class ConnectionLimitError(StoreUnavailableError):
    """All connections that this process may open are in use; the store may be fine. Try again."""


class LedgerUnavailableError(StoreUnavailableError):
    """PostgreSQL, which keeps the tasks beside Redis, cannot be reached or cannot serve now; try again."""


class StoreRefusedError(StoreError):
    """Holdfast cannot keep its promise on this store (too old, evicting, another schema); the message says how to mend
    that."""


class MissingPackageError(StoreRefusedError, ValueError):
    """A package that is needed is not installed; the message says which."""


class MissingFrameworkError(HoldfastError, ImportError):
    """A part of Holdfast is for a framework that is not installed; the message says how to install both."""


class UnservedTasksError(StoreError):
    """A store in memory ends with tasks that no worker has served; they are lost."""


class StoreFullError(StoreError):
    """The store is out of memory and refused a submit; nothing was written."""


class MessageConflictError(HoldfastError):
    """This message id was used before with other content; nothing was written."""


class TaskEndedError(HoldfastError):
    """The task has ended and takes no more messages; nothing was written."""


class UnreadableRecordError(StoreError):
    """The record of a task has values that Holdfast does not write: another program has changed it in the store."""


class TooManyMessagesError(HoldfastError):
    """This task already has the largest allowed number of waiting messages; nothing was written. Send it again
    later."""


class CannotRetryError(HoldfastError):
    """The task cannot be retried as it is; nothing was written."""


class TaskOpenError(HoldfastError):
    """A task that has not ended cannot be removed; nothing was deleted."""


class QueueBusyError(HoldfastError):
    """Workers take from the queue; nothing was deleted."""


class StepError(HoldfastError):
    """A step of a task cannot be run or recorded; the message names it. Steps that were recorded before stay."""


class StepMismatchError(StepError):
    """The handler begins another step than the one recorded at this place: an earlier run took another way, or ran
    other code."""


class ParentResultError(HoldfastError):
    """The result of a parent cannot be read: the parent has not ended, or its result is too large or was deleted."""


class RunEnded(BaseException):
    """Ends this run of a handler, which has come to `task.sleep` or `task.question`.

    It is no Exception, so that `except Exception` lets it pass. Code that catches BaseException raises it again."""


class UnknownTaskError(HoldfastError):
    """No task with this id."""


class UnknownBatchError(HoldfastError):
    """No batch with this id."""


class BatchConflictError(HoldfastError):
    """This batch id was used before with other tasks, or one of its tasks exists and belongs to no or another batch;
    the message names it. Nothing was written for the batch."""


class BatchClosedError(HoldfastError):
    """An operator has sealed or canceled this batch before all its tasks had come; nothing was written."""


class InvalidTaskError(HoldfastError, ValueError):
    """An argument cannot be accepted; nothing was written."""


class LaneTypeError(StoreRefusedError, InvalidTaskError):
    """The key of this lane holds something else than a list; the message names it. Nothing was written."""


class AmbiguousManagerError(HoldfastError):
    """Several brokers are open in this event loop, and none is around this code; nothing was written."""


class WouldBlockError(HoldfastError):
    """A call without async was made in a coroutine and would block its event loop; nothing was written."""


class ForkedProcessError(HoldfastError):
    """A process that a handler has forked called the worker; only the handler itself can do this. Nothing was
    written."""


class NotDueError(HoldfastError, TimeoutError):
    """A test waits for a task that cannot end at the test's time; the message says when it is due."""


class TaskFailed(HoldfastError):  # noqa: N818 - named as the state it tells of
    """The awaited task has failed, was rejected or was canceled. `type` and `traceback` of the exception in the worker
    are empty if there is none."""

    def __init__(self, task_id: str, state: str, reason: str, type: str = "", traceback: str = "") -> None:  # noqa: A002 - as in records
        super().__init__(task_id, state, reason, type, traceback)
        self.task_id, self.state, self.reason = task_id, state, reason
        self.type, self.traceback = type, traceback

    def __str__(self) -> str:
        """The error of the worker, with its traceback on lines of its own."""
        error = f"{self.type}: {self.reason}" if self.type else self.reason
        first = f"task {self.task_id} {self.state}: {error}"
        return f"{first}\n\nin the worker:\n{self.traceback.rstrip()}" if self.traceback else first


class TaskRefused(TaskFailed):
    """The awaited task was accepted while Redis was away, and rejected when Redis could not take it later. `word` says
    why: a value of `Accepted`, for example `duplicate` or `no-parent`. `duplicate_of`: the task that held its unique
    key. `type` is `TaskRefused`."""

    word: str = ""
    duplicate_of: str = ""


class ReturnedValueError(HoldfastError, ValueError):
    """The value that a handler returned does not fit the handler's return annotation in this process."""


class ClosedError(HoldfastError):
    """This TaskManager has been closed; make another one."""


class InvalidScheduleError(HoldfastError, ValueError):
    """A schedule cannot be accepted; nothing was written."""

    def __init__(self, message: str) -> None:
        """Cuts a long message in its middle: a rule may be very long, and the fault is named before and behind it."""
        super().__init__(message if len(message) <= 480 else f"{message[:240]} ... {message[-200:]}")


class UnknownScheduleError(HoldfastError):
    """No schedule with this id."""


class UnreadableScheduleError(HoldfastError):
    """The record of this schedule is gone or cannot be read; nothing was changed."""


class ScheduleBusyError(HoldfastError):
    """The schedule cannot do this now: its last task runs, or another caller has just changed it; nothing was
    written."""


class HandlerError(HoldfastError):
    """The handler cannot be found, imported or called; `traceback` is the user's, if there is one."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


class Retry(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler: run this task again, after `after` seconds (None: the usual back-off)."""

    def __init__(self, after: float | None = None, reason: str = "") -> None:
        super().__init__(reason or "the handler asked for a retry")
        self.after = after


class StopSchedule(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler in a task of a schedule: complete the task, and end the schedule."""


class UnsetSchedule(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler in a task of a schedule: complete the task, and delete the schedule."""


class Reject(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler: this task will never succeed; end it as rejected."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
