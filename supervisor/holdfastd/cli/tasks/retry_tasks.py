"""Retries of tasks, for `tasks retry` and `dead retry`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.client.dead_letters import checked
from holdfast.client.manager import TaskManager
from holdfast.core.tasks import Retried
from holdfast.errors import CannotRetryError, UnknownTaskError
from holdfastd.cli.common import output
from holdfastd.cli.common.session import Session

REASON = "retried by an operator"
WORDS = {
    Retried.NEW: "runs again as {}",
    Retried.AGAIN: "was already retried as {}",
    Retried.DUE: "is due now",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result for one task: the task that runs, or None and the reason in `text`."""

    task_id: str
    word: str
    runs_as: str | None
    text: str

    @property
    def is_done(self) -> bool:
        return self.runs_as is not None


async def retry_all(manager: TaskManager, task_ids: Iterable[str], reason: str) -> list[Attempt]:
    """Each task by itself: a refusal for one does not affect the others."""
    return [await _retry(manager, task_id, reason) for task_id in task_ids]


async def _retry(manager: TaskManager, task_id: str, reason: str) -> Attempt:
    answer = await manager.ask_retry(task_id, reason)
    try:
        runs_as = checked(answer).task_id
    except (UnknownTaskError, CannotRetryError) as error:
        return Attempt(task_id, answer.word, None, str(error))
    return Attempt(task_id, answer.word, runs_as, f"{task_id} {WORDS[Retried(answer.word)].format(runs_as)}")


def show(session: Session, attempts: Iterable[Attempt], /) -> None:
    """Prints a line for each; refusals go to standard error."""
    for each in attempts:
        if session.json:
            output.line({"task_id": each.task_id, "answer": each.word, "runs_as": each.runs_as})
        elif each.is_done:
            output.text(each.text)
        else:
            output.note(each.text)
