"""The act of submitting: one task, or a list of tasks, in the fields of TaskSpec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.submission import refusal
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Submission
from holdfast.core.identity import first_message_id
from holdfast.errors import InvalidTaskError
from holdfastd.operations.act import Act, Doing

MOST_TASKS = 1000  # tasks in one request

TaskSpecs = Annotated[list[TaskSpec], Meta(min_length=1, max_length=MOST_TASKS)]


class SubmitTasks(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The tasks. All are checked before the first is written."""

    tasks: TaskSpecs


class TaskReceipt(TypedDict):
    """`answer`: new; duplicate (the task was submitted before); turn or pending (another producer made the task, and
    the submission is one more message for it)."""

    task_id: str
    answer: str


async def submit_tasks(doing: Doing, given: SubmitTasks) -> list[TaskReceipt]:
    """Submit one task, or a list of tasks."""
    specs = [_identified(spec) for spec in given.tasks]
    batch = [_prepared(doing, place, spec, len(specs)) for place, spec in enumerate(specs)]
    receipts = await doing.manager.submit(batch)
    doing.asked.subject = subject_of([each.task_id for each in receipts])
    errors = [error for one, receipt in zip(batch, receipts, strict=True) if (error := refusal(one, receipt))]
    if errors and len(specs) > 1:
        text = (
            f"{len(errors)} of {len(specs)} tasks were refused, and the others accepted; the first refusal: {errors[0]}"
        )
        raise type(errors[0])(text)
    if errors:
        raise errors[0]
    return [{"task_id": each.task_id, "answer": str(each.accepted)} for each in receipts]


def subject_of(task_ids: Sequence[str], count: int | None = None) -> str:
    """The tasks as Activity names them: `a1`, `a1 and 7 more`. `count`: the number of tasks if `task_ids` has only
    some."""
    others = (len(task_ids) if count is None else count) - 1
    return f"{task_ids[0]} and {others} more" if task_ids and others > 0 else "".join(task_ids[:1])


def _prepared(doing: Doing, place: int, spec: TaskSpec, count: int) -> Submission:
    try:
        return doing.manager.prepare(spec)
    except InvalidTaskError as error:
        if count > 1:
            error.add_note(f"[{place}]")
        raise


def _identified(spec: TaskSpec) -> TaskSpec:
    if spec.task_id is None or spec.message_id is not None or spec.key is not None:
        return spec
    return msgspec.structs.replace(spec, message_id=first_message_id(spec.task_id))


SUBMIT_TASKS = Act("tasks/submit", SubmitTasks, submit_tasks, "task_id")
