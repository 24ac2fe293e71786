"""Changes of the tasks that were chosen in a list, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.bulk_steps import checked_verb
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.words import counted
from holdfast.errors import HoldfastError
from holdfastd.operations.act import Act, Doing, Face
from holdfastd.operations.tasks import CANCEL_TASK, REMOVE_TASK, RETRY_TASK
from holdfastd.web.access.forms import doing, noted, read_form
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

MOST = 100  # tasks of one form
ACTS: dict[BulkVerb, Act[Any, Any]] = {
    BulkVerb.CANCEL: CANCEL_TASK,
    BulkVerb.RETRY: RETRY_TASK,
    BulkVerb.REMOVE: REMOVE_TASK,
}


async def change_chosen(request: Request) -> Response:
    """Change each chosen task, and show the refusals."""
    async with noted(request, "tasks/chosen") as asked:
        form = await read_form(request)
        ids = list(dict.fromkeys(form.every("task_id")))
        asked.change, asked.subject = f"tasks/{form.last('verb')}", ", ".join(ids)
        verb = checked_verb(form.last("verb"))
        fields = form.allowed(ACTS[verb])
        if not 1 <= len(ids) <= MOST:
            raise HTTPException(400, f"{counted(len(ids), 'task')} chosen: choose 1 to {MOST}")
        refused = await _change(doing(queue_of(request), asked, Face.WEB), ACTS[verb], ids)
        asked.refusal = f"{len(refused)} refused: {'; '.join(refused)}" if refused else ""
    back = fields.get("back", "")
    return page(request, "chosen.html", verb=verb, changed=len(ids) - len(refused), refused=refused, back=back)


async def _change(doing: Doing, act: Act[Any, Any], ids: Sequence[str]) -> list[str]:
    """Change the tasks; returns the refusals, one sentence for each."""
    refused = list[str]()
    for task_id in ids:
        try:
            await act.carry_out(doing, act.read_texts({act.subject: task_id}))
        except HoldfastError as error:
            refused.append(str(error))
    return refused
