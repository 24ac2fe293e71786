"""All errors of Holdfast, in one class tree. The docstring of a class says what the error means. Its message names what
failed, which value and what to do."""

from __future__ import annotations


class HoldfastError(Exception):
    """The base class of all errors that Holdfast raises on purpose."""


class StoreError(HoldfastError):
    """The store did not carry out the call."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached, or answers that it cannot serve now. Try again later."""


class ConnectionLimitError(StoreUnavailableError):
    """All connections that this process may open are in use; the store may be fine. Try again."""


class LedgerUnavailableError(StoreUnavailableError):
    """PostgreSQL, which keeps the tasks beside Redis, cannot be reached or cannot serve now; try again."""


class StoreRefusedError(StoreError):
    """Holdfast cannot keep its promise on this store: it is too old, evicts keys, or has another schema. The message
    says how to mend this."""


class MissingPackageError(StoreRefusedError, ValueError):
    """A package that Holdfast needs is not installed; the message names it."""


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
    """As many messages wait for this task as are allowed; nothing was written. Send the message again later."""


class CannotRetryError(HoldfastError):
    """This task cannot be retried now; the message says why. Nothing was written."""


class TaskOpenError(HoldfastError):
    """A task that has not ended cannot be removed; nothing was deleted."""


class QueueBusyError(HoldfastError):
    """Workers still take tasks from the queue; nothing was deleted."""


class StepError(HoldfastError):
    """A step of a task cannot be run or recorded; the message names the step. Steps that were recorded before stay."""


class StepMismatchError(StepError):
    """The handler begins another step than the one recorded at this place: an earlier run came to its steps in another
    order, or ran other code."""


class ParentResultError(HoldfastError):
    """The result of a parent cannot be read: the parent has not ended, or its result is too large or was deleted."""


class RunEnded(BaseException):
    """Ends this run of a handler, because the handler called `task.sleep` or `task.question`.

    RunEnded is no subclass of Exception, so `except Exception` lets it pass. Code that catches BaseException must raise
    it again.
    """


class UnknownTaskError(HoldfastError):
    """There is no task with this id."""


class UnknownBatchError(HoldfastError):
    """There is no batch with this id."""


class BatchConflictError(HoldfastError):
    """This batch id was used before with other tasks, or a task of this batch exists already outside of it. The message
    names the conflict. Nothing was written for the batch."""


class BatchClosedError(HoldfastError):
    """An operator sealed or canceled this batch before all its tasks were submitted; nothing was written."""


class InvalidTaskError(HoldfastError, ValueError):
    """An argument cannot be accepted; nothing was written."""


class LaneTypeError(StoreRefusedError, InvalidTaskError):
    """The Redis key of this lane holds a value that is no list; the message names the key. Nothing was written."""


class AmbiguousManagerError(HoldfastError):
    """Several brokers are open in this event loop, and this code runs in the block of none of them; nothing was
    written."""


class WouldBlockError(HoldfastError):
    """A call without async was made in a coroutine and would block its event loop; nothing was written."""


class ForkedProcessError(HoldfastError):
    """A process that a handler has forked called the worker; only the handler itself can do this. Nothing was
    written."""


class NotDueError(HoldfastError, TimeoutError):
    """A test waits for a task that is due only later than the test's clock says; the message says when."""


class TaskFailed(HoldfastError):  # noqa: N818 - named as the state it tells of
    """The awaited task has failed, was rejected or was canceled. `type` and `traceback` belong to the exception in the
    worker; both are empty if there was none. The text of this error has no traceback, so that an answer to a client may
    contain the text."""

    def __init__(self, task_id: str, state: str, reason: str, type: str = "", traceback: str = "") -> None:  # noqa: A002 - as in records
        super().__init__(task_id, state, reason, type, traceback)
        self.task_id, self.state, self.reason = task_id, state, reason
        self.type, self.traceback = type, traceback

    def __str__(self) -> str:
        """The task's state and error, without the worker's traceback."""
        error = f"{self.type}: {self.reason}" if self.type else self.reason
        return f"task {self.task_id} {self.state}: {error}"


class TaskRefused(TaskFailed):
    """The ledger accepted the awaited task while Redis was away, but Redis could not take it later, so it was rejected.
    `word` says why: a value of `Accepted`, for example `duplicate` or `no-parent`. `duplicate_of`: the task that held
    its unique key. `type` is `TaskRefused`."""

    word: str = ""
    duplicate_of: str = ""


class ReturnedValueError(HoldfastError, ValueError):
    """The value that a handler returned does not fit the handler's return annotation in this process."""


class ClosedError(HoldfastError):
    """This TaskManager has been closed; make another one."""


class InvalidScheduleError(HoldfastError, ValueError):
    """A schedule cannot be accepted; nothing was written."""

    def __init__(self, message: str) -> None:
        """Cut a long message in its middle. A rule may be very long, and the message names the fault before and behind
        it."""
        super().__init__(message if len(message) <= 480 else f"{message[:240]} ... {message[-200:]}")


class UnknownScheduleError(HoldfastError):
    """There is no schedule with this id."""


class UnreadableScheduleError(HoldfastError):
    """The record of this schedule is gone or cannot be read; nothing was changed."""


class ScheduleBusyError(HoldfastError):
    """The schedule cannot carry out this order now: its last task still runs, or another caller has just changed it.
    Nothing was written."""


class HandlerError(HoldfastError):
    """The handler cannot be found, imported or called. `traceback`: the traceback of the user's code; empty if there is
    none."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


class Retry(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler: run this task again after `after` seconds. None: after the pause of the settings, which
    doubles with each retry."""

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
