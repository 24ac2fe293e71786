"""Tasks: a list by state, lane, handler and time."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.core.bulk_changes import BulkState, BulkVerb
from holdfast.core.task_states import State
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.queue.task_filter import PAGE, TaskFilter, found_tasks
from holdfastd.web.rendering import page

RECENT = 5  # bulk changes that are looked at for those that run
MOST_ROUNDS = 6  # pages that a script of the browser asks for by itself, some 200 ms of work
_ROUNDS = {str(number): number for number in range(1, MOST_ROUNDS + 1)}


async def tasks(request: Request) -> Response:
    access = queue_of(request)
    wanted = TaskFilter.of(request.query_params)
    if wanted.task_id:
        return RedirectResponse(f"/task?id={quote(wanted.task_id, safe='')}", 303)
    found = await found_tasks(access, wanted)
    rounds = _ROUNDS.get(request.query_params.get("round", ""), 1)
    return page(
        request,
        "tasks.html",
        wanted=wanted,
        found=found,
        found_so_far=wanted.found_before + len(found.tasks),
        searched_so_far=wanted.searched_before + found.searched,
        of=await request.app.state.counts.looked_through(wanted),
        goes_on=rounds + 1 if len(found.tasks) < PAGE and rounds < MOST_ROUNDS else None,
        states=[str(state) for state in State],
        verbs=[str(verb) for verb in BulkVerb],
        bulk=[each for each in await access.store.bulk_changes(RECENT) if each.state is BulkState.RUNNING],
    )
