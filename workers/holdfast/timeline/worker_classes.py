"""Worker classes: `work(jobid)` runs a job, `queue_names()` names the lanes to take from, and how often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from holdfast.client.arguments import check_seconds
from holdfast.core.messages import Message, text_of
from holdfast.errors import HandlerError, InvalidTaskError
from holdfast.handler.failures import summary, user_traceback
from holdfast.handler.handler import Handler, Provider, callee
from holdfast.timeline.bike import Bike
from holdfast_config import Settings, load
from holdfast_config.lanes import Lane, by_occurrence


class Worker(Provider):
    """Base class of workers that run jobs. A subclass defines `work` and `queue_names`."""

    _settings: Settings | None = None

    def work(self, jobid: str) -> Any:
        """Run the job; the value is the run's result.

        For a CONTINUE, a whole number is the seconds until it runs again. Raise StopWork or UnsetJob to end the job;
        any other exception ends it, too.
        """
        raise NotImplementedError(f"{type(self).__name__} has no work(jobid)")

    def queue_names(self) -> Sequence[str]:
        """The lanes to take from; a lane that is named twice has weight 2."""
        raise NotImplementedError(f"{type(self).__name__} has no queue_names()")

    def timeout(self, queue: str) -> float | None:
        """Seconds that a run of this lane's jobs may take; None: the default."""
        del queue
        return None

    @cached_property
    def bike(self) -> Bike:
        """The jobs of the queue that this worker takes from, for `self.bike.set(jobid, schedule)`."""
        return Bike(self._settings or load(timeline=True))

    def __handler__(self, target: str, settings: Settings | None) -> Handler:
        """The handler that a pool runs. Raises HandlerError."""
        self._settings = settings
        return Handler(target, callee(_runner(self.work), target, named=False), lanes=self._lanes(target))

    def _lanes(self, target: str) -> tuple[Lane, ...]:
        try:
            lanes = tuple(by_occurrence(map(str, self.queue_names())))
            timed = tuple(replace(lane, timeout=self._seconds(lane.name)) for lane in lanes)
        except (InvalidTaskError, ValueError) as error:
            raise HandlerError(f"{target}: queue_names() and timeout(queue): {error}") from None
        except BaseException as error:  # border to the user's code
            raise HandlerError(f"{target}: {summary(error)}", user_traceback(error)) from error
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
    """Takes from the lanes of `A:A:B`, in this proportion: while both hold jobs, two from A and one from B."""

    def __init__(self, initstring: str) -> None:
        self.initstring = str(initstring)

    def queue_names(self) -> Sequence[str]:
        return self.initstring.split(":")


def _runner(work: Callable[[str], Any]) -> Callable[..., Any]:
    def run(messages: list[Message]) -> Any:
        return work(text_of(messages[-1]["parts"]) if messages else "")

    return run
