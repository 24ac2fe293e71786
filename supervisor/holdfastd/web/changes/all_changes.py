"""All changes that pages can ask for: each is an act, and the page that shows what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from holdfast.errors import HoldfastError, InvalidTaskError, UnknownScheduleError, UnknownTaskError
from holdfastd.operations.batches import CANCEL_BATCH, SEAL_BATCH
from holdfastd.operations.dead import REMOVE_DEAD
from holdfastd.operations.errors import meaning_of
from holdfastd.operations.hosts import QUIET_HOSTS, RESUME_HOSTS
from holdfastd.operations.lanes import LIMIT_HANDLER, LIMIT_LANE, PAUSE_LANE, RESET_HANDLER, RESUME_LANE
from holdfastd.operations.many_tasks import BEGIN_BULK, GO_ON_WITH_BULK, STOP_BULK, BeginBulk
from holdfastd.operations.schedules import (
    PAUSE_SCHEDULE,
    REMOVE_SCHEDULE,
    RESUME_SCHEDULE,
    RUN_SCHEDULE,
    SET_SCHEDULE,
    SetSchedule,
)
from holdfastd.operations.submit_tasks import SUBMIT_TASKS, SubmitTasks
from holdfastd.operations.tasks import (
    CANCEL_TASK,
    PAUSE_TASK,
    REMOVE_TASK,
    RESUME_TASK,
    RETRY_TASK,
    SEND_MESSAGE,
)
from holdfastd.operations.unreadable import REMOVE_UNREADABLE, RETRY_UNREADABLE
from holdfastd.operations.webhooks import GIVE_UP_WEBHOOK, RETRY_WEBHOOK
from holdfastd.operations.workers import SCALE_WORKERS, WRITE_STACKS
from holdfastd.web.changes.change import Asked, PageChange, change_of
from holdfastd.web.pages import queue_pages
from holdfastd.web.pages.schedule_pages import form_again, stored_spec
from holdfastd.web.pages.task_pages import edit_form_of, handler_of, new_id, shown_again
from holdfastd.web.queue.found_tasks import filter_texts
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.argument_fields import read_json
from holdfastd.web.views.schedule_form import spec_of
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


TASK = "/task?id={}"


def _message(fields: Mapping[str, str]) -> Mapping[str, object]:
    """The text of the form is a text, or JSON. The id of the form makes it one message, sent twice."""
    others = {name: text for name, text in fields.items() if name not in ("text", "json")}
    text = fields.get("text", "").replace("\r\n", "\n")
    if not fields.get("json") or not text.strip():
        return {**others, "text": text}
    try:
        return {**others, "data": read_json(text)}
    except ValueError as error:
        raise InvalidTaskError(str(error)) from None


TASK_CHANGES = (
    change_of(CANCEL_TASK, TASK),
    change_of(PAUSE_TASK, TASK),
    change_of(RESUME_TASK, TASK),
    change_of(SEND_MESSAGE, TASK, shown_again, _message),
    change_of(RETRY_TASK, TASK),
    change_of(REMOVE_TASK, "/tasks"),
    *SUBMISSIONS,
)


BULK_CHANGES = (
    change_of(BEGIN_BULK, "/bulk", texts=partial(filter_texts, kind=BeginBulk)),
    change_of(STOP_BULK, "/bulk"),
    change_of(GO_ON_WITH_BULK, "/bulk"),
)


LIMITS = ("running", "per_key", "rate")


def _limits(fields: Mapping[str, str]) -> Mapping[str, object]:
    """A field that is empty: the settings say this limit again."""
    empty = [name for name in LIMITS if not fields.get(name, "").strip()]
    return {**{name: text.strip() for name, text in fields.items()}, "reset": empty}


async def _limit_handler(asked: Asked) -> None:
    fields = {name: text.strip() for name, text in asked.fields.items() if text.strip()}
    if "rate" in fields:
        await LIMIT_HANDLER.carry_out(asked.doing, LIMIT_HANDLER.read_texts(fields))
    else:
        await RESET_HANDLER.carry_out(asked.doing, RESET_HANDLER.read_texts({"handler": asked.subject}))


LANE_CHANGES = (
    change_of(PAUSE_LANE, "/lane?name={}"),
    change_of(RESUME_LANE, "/lane?name={}"),
    change_of(LIMIT_LANE, "/lane?name={}", queue_pages.lane_again, _limits),
    PageChange("/handlers/limit", "handler", "/lanes", _limit_handler, queue_pages.lanes_again),
)


HOST_CHANGES = (
    change_of(QUIET_HOSTS, "/workers"),
    change_of(RESUME_HOSTS, "/workers"),
    change_of(SCALE_WORKERS, "/workers"),
    change_of(WRITE_STACKS, "/stacks?worker={}"),
)


SCHEDULE = "/schedule?id={}"


async def _set(asked: Asked) -> None:
    """Values that the form has hidden come back as they are stored. The form for a new one changes none that exists."""
    stored, is_new = dict[str, object](), not asked.fields.get("known")
    if not is_new:
        with suppress(UnknownScheduleError):
            stored = stored_spec(await asked.manager.schedules.get(asked.subject))
    spec = spec_of(asked.fields, stored, asked.access.redaction.value(stored))
    await SET_SCHEDULE.carry_out(asked.doing, SetSchedule(asked.subject, spec, is_new=is_new))


SCHEDULE_CHANGES = (
    PageChange(f"/{SET_SCHEDULE.name}", SET_SCHEDULE.subject, SCHEDULE, _set, form_again),
    change_of(RUN_SCHEDULE, SCHEDULE),
    change_of(PAUSE_SCHEDULE, SCHEDULE),
    change_of(RESUME_SCHEDULE, SCHEDULE),
    change_of(REMOVE_SCHEDULE, "/schedules"),
)


BATCH_CHANGES = (change_of(SEAL_BATCH, "/batch?id={}"), change_of(CANCEL_BATCH, "/batch?id={}"))


SET_ASIDE_CHANGES = (
    change_of(REMOVE_DEAD, "/dead"),
    change_of(RETRY_UNREADABLE, "/unreadable"),
    change_of(REMOVE_UNREADABLE, "/unreadable"),
)


WEBHOOK_CHANGES = (change_of(RETRY_WEBHOOK, "/webhooks"), change_of(GIVE_UP_WEBHOOK, "/webhooks"))

CHANGES = (
    *(*TASK_CHANGES, *BULK_CHANGES, *LANE_CHANGES, *HOST_CHANGES, *SCHEDULE_CHANGES),
    *(*BATCH_CHANGES, *SET_ASIDE_CHANGES, *WEBHOOK_CHANGES),
)
