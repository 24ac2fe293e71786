"""Changes of the tasks that were chosen in a list, one by one."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.bulk_steps import checked_verb
from holdfast.client.manager import TaskManager
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.task_states import State
from holdfast.core.words import counted
from holdfast.errors import HoldfastError
from holdfastd.web.access.forms import noted, read_form
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

MOST = 100  # tasks of one form


async def change_chosen(request: Request) -> Response:
    """Change each of them, and say what was refused."""
    async with noted(request, "tasks/chosen") as asked:
        form = await read_form(request)
        ids = list(dict.fromkeys(form.every("task_id")))
        asked.change, asked.subject = f"tasks/{form.last('verb')}", ", ".join(ids)
        fields = form.allowed()
        verb = checked_verb(fields.get("verb", ""))
        if not 1 <= len(ids) <= MOST:
            raise HTTPException(400, f"{counted(len(ids), 'task')} chosen: choose 1 to {MOST}")
        by = f"by {asked.who} on the web, from {asked.origin}"
        refused = await _change(queue_of(request).manager, verb, ids, by)
        asked.refusal = f"{len(refused)} refused: {'; '.join(refused)}" if refused else ""
    back = fields.get("back", "")
    return page(request, "chosen.html", verb=verb, changed=len(ids) - len(refused), refused=refused, back=back)


async def _change(manager: TaskManager, verb: BulkVerb, ids: Sequence[str], by: str) -> list[str]:
    """The refusals, each a sentence."""
    refused = list[str]()
    for task_id in ids:
        try:
            match verb:
                case BulkVerb.CANCEL:
                    state = await manager.cancel_task(task_id, f"canceled {by}")
                    refused += [f"task {task_id} has ended before: it is {state}"] if state != State.CANCELED else []
                case BulkVerb.RETRY:
                    await manager.retry_task(task_id, f"retried {by}")
                case BulkVerb.REMOVE:
                    await manager.remove_task(task_id)
        except HoldfastError as error:
            refused.append(str(error))
    return refused
