"""The form that submits a task: of a handler (`/submit?name=…`), or of a task that is edited (`/submit?task=…`)."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.published_handlers import PublishedHandler
from holdfast.errors import InvalidTaskError, UnknownTaskError
from holdfast.why.outlook import waiting_reason
from holdfastd.web.access.forms import visitor_of
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.submission_form import SubmissionForm, edit_form, empty_form
from holdfastd.web.views.task_call import TaskCall, call_of

LONGEST_ORIGINAL = 100  # characters of its id that the id of an edited task begins with


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


async def handler_of(access: QueueAccess, name: str) -> PublishedHandler:
    """As its workers have published it, without hidden defaults; by its name alone where none has."""
    found = await access.store.published_handler(name)
    return PublishedHandler(name) if found is None else access.redaction.handler(found)


def new_id(original: str = "") -> str:
    """The id of the task of a form: sent twice, the form is one task."""
    return f"{original[:LONGEST_ORIGINAL]}.e{uuid4().hex[:8]}" if original else str(uuid4())


async def edit_form_of(access: QueueAccess, original: str) -> SubmissionForm:
    """The form with the call of a task. Raises UnknownTaskError, and InvalidTaskError if its operation is no run."""
    task = await access.manager.get_task(original)
    call = call_of(task)
    if call is None:
        raise InvalidTaskError(f"the operation of task {original} cannot be edited: it is no readable run")
    options = {"lane": task.lane, "max_attempts": str(task.max_attempts or "")}
    return edit_form(await handler_of(access, call.name), new_id(original), _hidden(call, access), original, options)


def _hidden(call: TaskCall, access: QueueAccess) -> TaskCall:
    hide = access.redaction.value
    return replace(call, kwargs=hide(call.kwargs), text=hide(call.text), data=hide(call.data))
