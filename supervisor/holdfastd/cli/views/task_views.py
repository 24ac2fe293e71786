"""Tasks as the command line shows them: documents for JSON, cells for tables, results as text."""

from __future__ import annotations

from holdfast.core.outcomes import read_result
from holdfast.core.tasks import Retried, TaskRecord
from holdfast.core.words import duration
from holdfastd.cli.common.output import readable
from holdfastd.cli.common.tables import TableFit
from holdfastd.operations.tasks import RetriedTask

FIT = TableFit(
    ids=("task",),
    texts=("reason", "name"),
    drop=("turn", "deliveries", "crashes", "attempts", "lane", "reason", "name", "age"),
)
COLUMNS = ("task", "state", "lane", "age", "turn", "attempts", "deliveries", "crashes", "name", "reason")


def summary(task: TaskRecord, now_ms: int) -> tuple[object, ...]:
    """The cells under COLUMNS."""
    age = duration((now_ms - task.created_ms) / 1000)
    state = f"{task.state} (dead letter)" if task.dead else str(task.state)
    counts = (task.turn, task.attempts, task.deliveries, task.crashes)
    return (task.task_id, state, task.lane, age, *counts, task.name, task.reason)


def failure(task: TaskRecord) -> list[str]:
    """The last error as lines: its traceback if there is one."""
    error = read_result(task.result).error
    match error:
        case None:
            return []
        case {"traceback": str(traceback)} if traceback:
            return ["error", *(f"  {line}" for line in traceback.splitlines())]
        case _:
            return [f"error        {readable(error)}"]


def outcome_line(task: TaskRecord) -> str:
    """The result of a task on one line."""
    return f"{task.task_id} {task.state}: {task.reason or readable(read_result(task.result).value)}"


RETRIED = {Retried.NEW: "runs again as {}", Retried.AGAIN: "was already retried as {}", Retried.DUE: "is due now"}


def retried_words(answer: RetriedTask) -> str:
    return f"{answer['task_id']} {RETRIED[answer['answer']].format(answer['runs_as'])}"
