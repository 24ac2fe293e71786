"""Changes of the tasks that were chosen in a list, one by one."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.bulk_filter import checked_verb
from holdfast.client.manager import TaskManager
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.plurals import counted
from holdfast.core.task_states import State
from holdfast.errors import HoldfastError
from holdfastd.web.access.forms import read_fields, visitor_of
from holdfastd.web.queue.activity_notes import note, origin
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

MOST = 100  # tasks of one form


async def change_chosen(request: Request) -> Response:
    """Change each of them, and say what was refused."""
    fields = await read_fields(request)
    verb, ids = (
        checked_verb(dict(fields).get("verb", "")),
        list(dict.fromkeys(value for name, value in fields if name == "task_id")),
    )
    if not 1 <= len(ids) <= MOST:
        raise HTTPException(400, f"{counted(len(ids), 'task')} chosen: choose 1 to {MOST}")
    access, who, where = queue_of(request), visitor_of(request).name, origin(request)
    refused = await _change(access.manager, verb, ids, f"by {who} on the web, from {where}")
    activity = Activity(who, where, f"tasks/{verb}", ", ".join(ids))
    if refused:
        activity = activity.refused(f"{len(refused)} refused: {'; '.join(refused)}")
    await note(access, activity)
    back = dict(fields).get("back", "")
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
