"""Task intake: one task, or a list of tasks, in the fields of TaskSpec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.submission import refusal
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.identity import first_message_id
from holdfast.errors import InvalidTaskError
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation

MOST_TASKS = 1000  # of one request


class TaskReceipt(TypedDict):
    """`answer`: new; duplicate, as it was submitted before; or, for a task that another producer has made, turn or
    pending: this is one more message for it."""

    task_id: str
    answer: str


TaskSpecs = Annotated[list[TaskSpec], Meta(min_length=1, max_length=MOST_TASKS)]


async def submit_tasks(call: ApiCall, body: TaskSpec | TaskSpecs) -> TaskReceipt | list[TaskReceipt]:
    """Submit one task, or a list of tasks.

    201 if there is a new one. The same task with the same id again is answered with 200, other content under its id
    with 409. All of a list are checked before the first is written.
    """
    if isinstance(body, TaskSpec):
        [receipt] = await _submit(call, [_identified(body)])
        call.asked.subject = receipt.task_id
        return _document(receipt)
    receipts = await _submit(call, [_identified(spec) for spec in body])
    call.asked.subject = f"{receipts[0].task_id} and {len(receipts) - 1} more"
    return [_document(receipt) for receipt in receipts]


async def _submit(call: ApiCall, specs: Sequence[TaskSpec]) -> Sequence[Receipt]:
    batch = [_prepared(call, place, spec, len(specs)) for place, spec in enumerate(specs)]
    receipts = await call.manager.submit(batch)
    call.status = 201 if any(each.accepted is Accepted.NEW for each in receipts) else 200
    errors = [error for one, receipt in zip(batch, receipts, strict=True) if (error := refusal(one, receipt))]
    if errors and len(specs) > 1:
        text = f"{len(errors)} of {len(specs)} tasks were refused, and the others accepted; the first: {errors[0]}"
        raise type(errors[0])(text)
    if errors:
        raise errors[0]
    return receipts


def _prepared(call: ApiCall, place: int, spec: TaskSpec, count: int) -> Submission:
    try:
        return call.manager.prepare(spec)
    except InvalidTaskError as error:
        if count > 1:
            error.add_note(f"[{place}]")
        raise


def _identified(spec: TaskSpec) -> TaskSpec:
    if spec.task_id is None or spec.message_id is not None or spec.key is not None:
        return spec
    return msgspec.structs.replace(spec, message_id=first_message_id(spec.task_id))


def _document(receipt: Receipt) -> TaskReceipt:
    return {"task_id": receipt.task_id, "answer": str(receipt.accepted)}


EXAMPLES = {
    "text": {"text": "hello"},
    "handler": {"name": "billing.send_statement", "kwargs": {"region": "eu"}, "task_id": "statement-7", "delay": 60},
    "list": [{"text": "one", "key": "import-7-1"}, {"text": "two", "key": "import-7-2"}],
}
INTAKE = (ApiOperation("POST", "/tasks", submit_tasks, "tasks/submit", (201, 200), EXAMPLES),)
