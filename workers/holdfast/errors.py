"""One tree of errors; each class's docstring says what it means, its message names what, which value and what to do."""

from __future__ import annotations


class HoldfastError(Exception):
    """Anything Holdfast raises on purpose."""


class StoreError(HoldfastError):
    """The store did not do what was asked."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached or answers that it cannot serve now; try again."""


class ConnectionLimitError(StoreUnavailableError):
    """All connections that this process may open are in use, which says nothing about the store; try again."""


class LedgerUnavailableError(StoreUnavailableError):
    """PostgreSQL, which keeps the tasks beside Redis, cannot be reached or cannot serve now; try again."""


class StoreRefusedError(StoreError):
    """The store is not fit for the promise (too old, evicting, another schema); it says how to mend that."""


class MissingPackageError(StoreRefusedError, ValueError):
    """A package that is needed is not installed; the message says which."""


class MissingFrameworkError(HoldfastError, ImportError):
    """A part of Holdfast is for a framework that is not installed; the message says how to install both."""


class UnservedTasksError(StoreError):
    """Tasks were given to a store in memory that nobody has served: they end with it."""


class StoreFullError(StoreError):
    """The store is out of memory and refused a submit; nothing was written."""


class MessageConflictError(HoldfastError):
    """This message id was used before with other content; nothing was written."""


class TaskEndedError(HoldfastError):
    """The task has ended and takes no more messages; nothing was written."""


class UnreadableRecordError(StoreError):
    """The record of a task holds what no Holdfast writes: somebody else has changed it in the store."""


class TooManyMessagesError(HoldfastError):
    """As many messages wait for this task as may; nothing was written. Send it again when some have had their turn."""


class CannotRetryError(HoldfastError):
    """The task cannot be retried as it is; nothing was written."""


class TaskOpenError(HoldfastError):
    """The task has not ended, and so cannot be removed; nothing was deleted."""


class QueueBusyError(HoldfastError):
    """Workers take from the queue; nothing was deleted."""


class StepError(HoldfastError):
    """A step of a task cannot be run or recorded; the message names it. Steps that were recorded before stay."""


class StepMismatchError(StepError):
    """The handler has come to another step than the one that is recorded at this place: an earlier run took another
    way, or ran other code."""


class ParentResultError(HoldfastError):
    """The result of a parent cannot be had: it has not ended, its result is too large to be read, or was deleted."""


class RunEnded(BaseException):
    """Ends this run of a handler, which has come to `task.sleep` or `task.question`.

    It is no Exception, so that `except Exception` lets it pass. Code that catches BaseException raises it again."""


class UnknownTaskError(HoldfastError):
    """No task with this id."""


class UnknownBatchError(HoldfastError):
    """No batch with this id."""


class BatchConflictError(HoldfastError):
    """This id of a batch was used before with other tasks, or one of its tasks is there already and is not of this
    batch; the message names it. Nothing was written for it."""


class BatchClosedError(HoldfastError):
    """An operator has sealed or canceled this batch before all its tasks had come; nothing was written."""


class InvalidTaskError(HoldfastError, ValueError):
    """An argument cannot be accepted; nothing was written."""


class LaneTypeError(StoreRefusedError, InvalidTaskError):
    """The key of this lane holds something else than a list; the message names it. Nothing was written."""


class AmbiguousManagerError(HoldfastError):
    """Several brokers are open in this event loop, and none is around this code; nothing was written."""


class WouldBlockError(HoldfastError):
    """A call without async was made in a coroutine, whose event loop it would hold up; nothing was written."""


class ForkedProcessError(HoldfastError):
    """A process that a handler has forked called its worker, which only the handler can; nothing was written."""


class NotDueError(HoldfastError, TimeoutError):
    """A test waits for a task that cannot end at the test's time; the message says when it is due."""


class TaskFailed(HoldfastError):  # noqa: N818 - named as the state it tells of
    """A task that was waited for has failed, was rejected or was canceled. `type` and `traceback` are those of the
    exception in the worker, empty if there is none."""

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
    """A task that was waited for was accepted while Redis was away, and Redis could not take it then: it is rejected.

    `word` says why: a value of `Accepted`, as `duplicate` or `no-parent`. `duplicate_of`: the task that held its unique
    key. `type` is `TaskRefused`."""

    word: str = ""
    duplicate_of: str = ""


class ReturnedValueError(HoldfastError, ValueError):
    """The value that a handler returned does not fit the return annotation that this process has for the handler."""


class ClosedError(HoldfastError):
    """This TaskManager has been closed; make another one."""


class InvalidScheduleError(HoldfastError, ValueError):
    """A schedule cannot be accepted; nothing was written."""

    def __init__(self, message: str) -> None:
        """A rule may be very long: what is wrong with it stands before and behind it."""
        super().__init__(message if len(message) <= 480 else f"{message[:240]} ... {message[-200:]}")


class UnknownScheduleError(HoldfastError):
    """No schedule with this id."""


class UnreadableScheduleError(HoldfastError):
    """The record of this schedule is gone or cannot be read; nothing was changed."""


class ScheduleBusyError(HoldfastError):
    """The schedule cannot do this now: its last task runs, or somebody else changed it; nothing was written."""


class HandlerError(HoldfastError):
    """The handler cannot be found, imported or called; `traceback` is the user's, if there is one."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback


class Retry(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler: run this again, after `after` seconds (None: the usual back-off)."""

    def __init__(self, after: float | None = None, reason: str = "") -> None:
        super().__init__(reason or "the handler asked for a retry")
        self.after = after


class StopSchedule(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler that a schedule runs: the task is completed, the schedule fires no more."""


class UnsetSchedule(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler that a schedule runs: the task is completed, the schedule is forgotten."""


class Reject(HoldfastError):  # noqa: N818 - handlers raise it as an instruction, not as an error
    """Raised by a handler: this task will never succeed; end it as rejected."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
