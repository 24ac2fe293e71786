"""The form that submits a task: of a handler (`/submit?name=…`), or of a task that is edited (`/submit?task=…`)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfast.errors import InvalidTaskError, UnknownTaskError
from holdfast.why.waiting_reasons import waiting_reason
from holdfastd.web.changes.submissions import edit_form_of, handler_of, new_id
from holdfastd.web.forms import visitor_of
from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.submission_form import SubmissionForm, empty_form


async def submit(request: Request) -> Response:
    access = queue_of(request)
    if not visitor_of(request).may_change:
        return page(request, "problem.html", 403, title="Refused", problem="a viewer may submit nothing")
    task_id = request.query_params.get("task", "")
    try:
        if task_id:
            form = await edit_form_of(access, task_id)
        else:
            form = await form_of(request, request.query_params.get("name", ""))
    except (UnknownTaskError, InvalidTaskError) as error:
        return page(request, "problem.html", 404, title="No such task", problem=str(error))
    state = await access.manager.service(form.handler.lane or access.queue, form.handler.name[:200])
    return page(request, "submit.html", form=form, service=waiting_reason(state))


async def form_of(request: Request, name: str) -> SubmissionForm:
    """The empty form of a handler."""
    return empty_form(await handler_of(queue_of(request), name), new_id())
