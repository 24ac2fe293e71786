"""Submits a task that was typed into a form: a new one, or one that was edited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import uuid4

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.published_handlers import PublishedHandler
from holdfast.errors import HoldfastError, InvalidTaskError, UnknownTaskError
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.errors import status_of
from holdfastd.web.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.submission_form import HANDLER, ORIGINAL, SubmissionForm, edit_form, empty_form, typed_spec
from holdfastd.web.views.task_call import TaskCall, call_of

LONGEST_ORIGINAL = 100  # characters of its id that the id of an edited task begins with


async def handler_of(access: QueueAccess, name: str) -> PublishedHandler:
    """As its workers have published it, without hidden defaults; by its name alone where none has."""
    found = await access.store.published_handler(name)
    if found is None:
        return PublishedHandler(name)
    return msgspec.structs.replace(found, arguments=access.redaction.schema(found.arguments))


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


async def _submit(asked: Asked) -> None:
    handler = await handler_of(asked.access, asked.fields.get(HANDLER, ""))
    call = await _call_of_original(asked.access, asked.fields.get(ORIGINAL, ""))
    await asked.manager.submitter.run(typed_spec(handler, asked.fields, call, asked.access.redaction))


async def _call_of_original(access: QueueAccess, original: str) -> TaskCall | None:
    return call_of(await access.manager.get_task(original)) if original else None


async def _show_again(request: Request, fields: Mapping[str, str], error: HoldfastError) -> Response:
    access = queue_of(request)
    form = await _form_again(access, fields)
    mistake = error if isinstance(error, InvalidTaskError) else None
    return page(request, "submit.html", status_of(error), form=form.again(fields, mistake, str(error)), service=None)


async def _form_again(access: QueueAccess, fields: Mapping[str, str]) -> SubmissionForm:
    """The form as it was shown. A task that is gone leaves what was typed."""
    original = fields.get(ORIGINAL, "")
    try:
        return await edit_form_of(access, original) if original else await _empty(access, fields)
    except (UnknownTaskError, InvalidTaskError):
        return await _empty(access, fields)


async def _empty(access: QueueAccess, fields: Mapping[str, str]) -> SubmissionForm:
    return empty_form(await handler_of(access, fields.get(HANDLER, "")), new_id())


SUBMISSIONS = (PageChange("/tasks/submit", "task_id", "/task?id={}", _submit, _show_again, related=ORIGINAL),)
