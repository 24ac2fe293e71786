"""Worker classes that run jobs, and Bike, through which programs set and read jobs.

`work(jobid)` runs a job. `queue_names()` returns the lanes from which the worker takes jobs. `Bike` sets, shows and
removes jobs without async, for programs and for `work` itself: `bike.set("JOB1:A", "NOW")`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.client.arguments import check_seconds
from holdfast.client.manager import TaskManager
from holdfast.core.cadence.moments import read_moment
from holdfast.core.messages import Message, text_of
from holdfast.core.plain_json import shown
from holdfast.core.schedule_records import Put
from holdfast.errors import HandlerError, InvalidScheduleError, InvalidTaskError, StopSchedule, UnsetSchedule
from holdfast.handler.failures import summary, user_traceback
from holdfast.handler.handler import Handler, Provider, callee
from holdfast.sync import TaskManager as SyncManager
from holdfast.timeline import jobs
from holdfast_config import Settings, load
from holdfast_config.lanes import Lane, by_occurrence

if TYPE_CHECKING:
    from typing import Self


R = TypeVar("R")


class Bike:
    """Sets, shows and removes jobs. Use a Bike as a context manager, or close it.

    Pass settings, as in `Bike(load({"config": "x.conf"}))`. Without settings, a Bike loads them from the environment
    and the usual files, such as `.redbike.conf`.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        settings = load(timeline=True) if settings is None else settings
        if not isinstance(settings, Settings):  # pyright: ignore[reportUnnecessaryIsInstance]  # Redbike takes a worker
            raise TypeError(
                f"Bike({shown(settings)}): the Settings of holdfast_config.load(…) are expected, or nothing"
            )
        self._manager = SyncManager(
            settings.redis, database=settings.postgres, max_message_bytes=settings.max_message_bytes
        )

    def set(self, jobid: str, schedule: str | None, after: float | None = None) -> int | None:
        """Set the schedule of a job: a recurrence rule, NOW, AT:<time>, CONTINUE or STOP. Returns the next run in Unix
        seconds; None if there is none. The schedule None removes the job, like `unset`.

        `after` (Unix seconds): runs of a rule up to this moment are skipped; the default is now. Raises
        InvalidScheduleError.
        """
        if schedule is None:
            self.unset(jobid)
            return None
        try:
            moment = None if after is None else read_moment(f"{after}", "UTC")
        except InvalidScheduleError as error:
            raise InvalidScheduleError(f"after: {error}") from None
        put: Put = self._ask(jobs.set_job, jobid, schedule, moment)
        return None if put.expected is None else put.expected // 1000

    def unset(self, jobid: str) -> None:
        """Remove a job. A run that has begun is completed. Raises UnknownScheduleError."""
        self._ask(jobs.unset_job, jobid)

    def tell(self, jobid: str) -> dict[str, object]:
        """The status, the schedule and the next run of a job, as a dict. Raises UnknownScheduleError."""
        job: jobs.JobAnswer = self._ask(jobs.tell_job, jobid)
        return job.document

    def statuses(self) -> dict[str, str]:
        """The status of every job by its id. A status is a text `EVENT:TIMESTAMP`."""
        return {job.jobid: str(job.status) for job in self._all()}

    def schedules(self) -> dict[str, str]:
        """The schedule of every job by its id, without jobs whose schedule has no text."""
        return {job.jobid: job.schedule for job in self._all() if job.schedule is not None}

    def close(self) -> None:
        self._manager.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, question: Callable[..., Coroutine[Any, Any, R]], *words: Any) -> R:
        background = self._manager._running()  # pyright: ignore[reportPrivateUsage]  # a friend of that class
        return background.call(question, background.served, *words)

    def _all(self) -> list[jobs.JobAnswer]:
        async def gather(manager: TaskManager) -> list[jobs.JobAnswer]:
            answers: AsyncGenerator[jobs.JobAnswer] = jobs.jobs(manager)
            return [job async for job in answers]

        return self._ask(gather)


# `work` raises these exceptions to end its job. They are no errors.


class StopWork(StopSchedule):
    """Raised by `work`: set the job's schedule to STOP."""


class UnsetJob(UnsetSchedule):
    """Raised by `work`: remove the job."""


class Worker(Provider):
    """Base class of workers that run jobs. A subclass defines `work` and `queue_names`."""

    _settings: Settings | None = None

    def work(self, jobid: str) -> Any:
        """Run the job; returns the result of the run.

        If a CONTINUE job returns a whole number, the job runs again after this number of seconds. Raise StopWork or
        UnsetJob to end the job. Any other exception ends the job, too.
        """
        raise NotImplementedError(f"{type(self).__name__} has no work(jobid)")

    def queue_names(self) -> Sequence[str]:
        """The lanes from which this worker takes jobs. A lane that is named twice has the weight 2."""
        raise NotImplementedError(f"{type(self).__name__} has no queue_names()")

    def timeout(self, queue: str) -> float | None:
        """The seconds that a run of a job of the lane `queue` may take. None: the default."""
        del queue
        return None

    @cached_property
    def bike(self) -> Bike:
        """A Bike for the queue of this worker, for calls such as `self.bike.set(jobid, schedule)`."""
        return Bike(self._settings or load(timeline=True))

    def __handler__(self, target: str, settings: Settings | None) -> Handler:
        """The handler that workers run for this object. `target`: its name in errors. Raises HandlerError."""
        self._settings = settings
        return Handler(target, callee(_runner(self.work), target, named=False), lanes=self._lanes(target))

    def _lanes(self, target: str) -> tuple[Lane, ...]:
        try:
            lanes = tuple(by_occurrence(map(str, self.queue_names())))
            timed = tuple(replace(lane, timeout=self._seconds(lane.name)) for lane in lanes)
        except (InvalidTaskError, ValueError) as error:
            raise HandlerError(f"{target}: queue_names() or timeout(queue) is wrong: {error}") from None
        except BaseException as error:  # border to the user's code
            text = f"{target}: queue_names() or timeout(queue) failed: {summary(error)}"
            raise HandlerError(text, user_traceback(error)) from error
        if not timed:
            raise HandlerError(f"{target}: queue_names() names no lane")
        return timed

    def _seconds(self, queue: str) -> float | None:
        seconds = self.timeout(queue)
        if seconds is None:
            return None
        check_seconds(f"timeout of {queue}", seconds, positive=True)
        return float(seconds)


class RoundRobin(Worker):
    """A worker whose argument names its lanes, for example `A:A:B`: while both lanes hold jobs, it takes two from A for
    one from B."""

    def __init__(self, initstring: str) -> None:
        self.initstring = str(initstring)

    def queue_names(self) -> Sequence[str]:
        return self.initstring.split(":")


def _runner(work: Callable[[str], Any]) -> Callable[..., Any]:
    def run(messages: list[Message]) -> Any:
        return work(text_of(messages[-1]["parts"]) if messages else "")

    return run
