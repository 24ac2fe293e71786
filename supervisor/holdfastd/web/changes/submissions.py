"""Submits a task that was typed into a form: a new one, or one that was edited."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from holdfast.errors import HoldfastError, InvalidTaskError, UnknownTaskError
from holdfastd.operations.errors import meaning_of
from holdfastd.operations.submit_tasks import SUBMIT_TASKS, SubmitTasks
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.pages.task_pages import edit_form_of, handler_of, new_id
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.shown_task import TaskCall, call_of
from holdfastd.web.views.submission_form import HANDLER, ORIGINAL, SubmissionForm, empty_form, typed_spec


async def _submit(asked: Asked) -> None:
    handler = await handler_of(asked.access, asked.fields.get(HANDLER, ""))
    call = await _call_of_original(asked.access, asked.fields.get(ORIGINAL, ""))
    spec = typed_spec(handler, asked.fields, call, asked.access.redaction)
    await SUBMIT_TASKS.carry_out(asked.doing, SubmitTasks([spec]))


async def _call_of_original(access: QueueAccess, original: str) -> TaskCall | None:
    return call_of(await access.manager.get_task(original)) if original else None


async def _show_again(request: Request, fields: Mapping[str, str], error: HoldfastError) -> Response:
    access = queue_of(request)
    form = await _form_again(access, fields)
    mistake = error if isinstance(error, InvalidTaskError) else None
    return page(
        request, "submit.html", meaning_of(error).status, form=form.again(fields, mistake, str(error)), service=None
    )


async def _form_again(access: QueueAccess, fields: Mapping[str, str]) -> SubmissionForm:
    """The form as it was shown. A task that is gone leaves what was typed."""
    original = fields.get(ORIGINAL, "")
    try:
        return await edit_form_of(access, original) if original else await _empty(access, fields)
    except (UnknownTaskError, InvalidTaskError):
        return await _empty(access, fields)


async def _empty(access: QueueAccess, fields: Mapping[str, str]) -> SubmissionForm:
    return empty_form(await handler_of(access, fields.get(HANDLER, "")), new_id())


SUBMISSIONS = (PageChange(f"/{SUBMIT_TASKS.name}", "task_id", "/task?id={}", _submit, _show_again, related=ORIGINAL),)
