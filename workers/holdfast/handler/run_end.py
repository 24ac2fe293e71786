"""The end of a run that `task.sleep` or `task.question` has ended.

They keep the outcome in the notes of the run and raise RunEnded. It has to come out of the handler: one that catches it
and goes on has done work that the next run does again.
"""

from __future__ import annotations

from typing import cast

from holdfast.core.outcomes import Failure, Outcome, Raised
from holdfast.errors import RunEnded
from holdfast.handler.failures import outcome_of_error
from holdfast.handler.run_notes import RunNotes
from holdfast_config.error_text import is_error, members_of

SWALLOWED = (
    "the handler has caught the RunEnded of task.sleep or task.question and returned: code that catches BaseException, "
    "or returns in a finally, must let it pass"
)


def outcome_of_raised(error: BaseException, notes: RunNotes) -> Outcome:
    """The outcome of a handler that raised `error`. A task group raises RunEnded among others: those count."""
    ended_by = notes.ended_by()
    rest = error if ended_by is None else _without_ending(error)
    return ended_by if ended_by is not None and rest is None else outcome_of_error(rest or error)


def _without_ending(error: BaseException) -> BaseException | None:
    if is_error(error, RunEnded):
        return None
    if not members_of(error):
        return error
    try:
        return cast("BaseExceptionGroup[BaseException]", error).split(RunEnded)[1]
    except BaseException:  # the class of a group is the user's
        return error


def outcome_of_returned(outcome: Outcome, notes: RunNotes) -> Outcome:
    """The outcome of a handler that returned a value, with that outcome."""
    ended_by = notes.ended_by()
    if ended_by is None:
        return outcome
    return ended_by if isinstance(ended_by, Raised) else Raised(Failure("RunEndedError", SWALLOWED), final=True)
