"""The changes that pages can ask for. A change has an act, a reader of its form, and the page that shows the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.client.bulk_steps import checked_verb
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.words import counted
from holdfast.errors import HoldfastError, InvalidTaskError, UnknownScheduleError, UnknownTaskError
from holdfastd.documents.task_list import first_call
from holdfastd.operations import (
    batches,
    dead,
    hosts,
    lanes,
    many_tasks,
    schedules,
    submit_tasks,
    tasks,
    unreadable,
    webhooks,
    workers,
)
from holdfastd.operations.act import Act, Face
from holdfastd.operations.error_statuses import meaning_of
from holdfastd.web.access.forms import doing, noted, read_form
from holdfastd.web.pages import queue_pages, schedule_pages, task_pages
from holdfastd.web.queue.found_tasks import bulk_work_of, filter_texts
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.schedule_form import spec_of, with_arguments
from holdfastd.web.views.submission_form import HANDLER, ORIGINAL, SubmissionForm, is_unchecked, read_json, typed_spec

Fields = Mapping[str, str]
Texts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PageChange:
    """A change that a page can ask for. `page`: URL of the page that shows the subject afterwards; `{}` stands for the
    subject's id. `again`: shows the form again with its fields and the error of a refused change; None: only the error
    is shown. `read`: makes the act's arguments of the fields. `related`: the field with the id that the subject was
    made from; empty for none."""

    act: Act[Any, Any]
    page: str
    again: Callable[[Request, Fields, HoldfastError], Awaitable[Response]] | None
    read: Callable[[QueueAccess, Fields], Awaitable[Any]]
    related: str = ""

    @property
    def path(self) -> str:
        return f"/{self.act.name}"

    async def answer(self, request: Request) -> Response:
        """The endpoint that carries out this change and answers the request."""
        fields, access = dict[str, str](), queue_of(request)
        try:
            async with noted(request, self.act.name) as asked:
                form = await read_form(request)
                asked.subject, asked.related = form.last(self.act.subject), form.last(self.related)
                fields = form.allowed(self.act)
                given = await self.read(access, fields)
                await self.act.carry_out(doing(access, asked, Face.WEB, bulk_work_of(request).start), given)
        except HoldfastError as error:
            if self.again is None:
                raise
            return await self.again(request, fields, error)
        return RedirectResponse(self.page.format(quote(asked.subject, safe="")), 303)


def change_of(
    act: Act[Any, Any],
    page: str,
    again: Callable[[Request, Fields, HoldfastError], Awaitable[Response]] | None = None,
    texts: Callable[[Fields], Texts] = dict,
) -> PageChange:
    """Make the change whose form has the arguments of the act as its fields. An empty field counts as not given, unless
    `texts` gives it a value."""

    async def read(_: QueueAccess, fields: Fields) -> object:
        return act.read_texts({name: text for name, text in texts(fields).items() if text != ""})

    return PageChange(act, page, again, read)


async def _read_submission(access: QueueAccess, fields: Fields) -> submit_tasks.SubmitTasks:
    handler, original = await task_pages.handler_of(access, fields.get(HANDLER, "")), fields.get(ORIGINAL, "")
    call = await first_call(access.store, await access.manager.get_task(original)) if original else None
    return submit_tasks.SubmitTasks([typed_spec(handler, fields, call, access.redaction)], is_unchecked(fields))


async def _submission_again(request: Request, fields: Fields, error: HoldfastError) -> Response:
    form = await _submission_form(queue_of(request), fields)
    mistake = error if isinstance(error, InvalidTaskError) else None
    again = form.again(fields, mistake, str(error))
    return page(request, "submit.html", meaning_of(error).status, form=again, service=None, examples=())


async def _submission_form(access: QueueAccess, fields: Fields) -> SubmissionForm:
    """The form as the page showed it. If the task to edit is gone, this is the empty form of the handler."""
    with suppress(UnknownTaskError, InvalidTaskError):
        if original := fields.get(ORIGINAL, ""):
            return await task_pages.edit_form_of(access, original)
    return await task_pages.form_of(access, fields.get(HANDLER, ""))


def _message(fields: Fields) -> Texts:
    """The fields of the form of a message: `text` is read as JSON if `json` is checked. The form has a message id, so a
    form that is sent twice sends one message."""
    others = {name: text for name, text in fields.items() if name not in ("text", "json")}
    text = fields.get("text", "").replace("\r\n", "\n")
    if not fields.get("json") or not text.strip():
        return {**others, "text": text}
    try:
        return {**others, "data": read_json(text)}
    except ValueError as error:
        raise InvalidTaskError(str(error)) from None


def _limits(*names: str) -> Callable[[Fields], Texts]:
    """Reads a form of limits. An empty field removes the limit that operators have set."""

    def texts(fields: Fields) -> Texts:
        typed = {name: text.strip() for name, text in fields.items()}
        return {**typed, "reset": [name for name in names if not typed.get(name)]}

    return texts


async def _read_schedule(access: QueueAccess, fields: Fields) -> schedules.SetSchedule:
    """The schedule that a form sets. Values that the form showed as hidden keep their stored values. A form for a new
    schedule does not change an existing one."""
    name, stored, is_new = fields.get(schedules.SET_SCHEDULE.subject, ""), dict[str, object](), not fields.get("known")
    if not is_new:
        with suppress(UnknownScheduleError):
            stored = schedule_pages.stored_spec(await access.manager.schedules.get(name))
    handler = await task_pages.handler_of(access, fields.get("name", "").strip())
    spec = spec_of(with_arguments(handler, fields), stored, access.redaction)
    return schedules.SetSchedule(name, spec, is_new=is_new, unchecked=is_unchecked(fields))


TASK = "/task?id={}"
LANE = "/lane?name={}"
SCHEDULE = "/schedule?id={}"
BATCH = "/batch?id={}"

CHANGES = (
    change_of(tasks.CANCEL_TASK, TASK),
    change_of(tasks.PAUSE_TASK, TASK),
    change_of(tasks.RESUME_TASK, TASK),
    change_of(tasks.SEND_MESSAGE, TASK, task_pages.task, _message),
    change_of(tasks.RETRY_TASK, TASK),
    change_of(tasks.REMOVE_TASK, "/tasks"),
    PageChange(submit_tasks.SUBMIT_TASKS, TASK, _submission_again, _read_submission, ORIGINAL),
    change_of(many_tasks.BEGIN_BULK, "/bulk", texts=partial(filter_texts, kind=many_tasks.BeginBulk)),
    change_of(many_tasks.STOP_BULK, "/bulk"),
    change_of(many_tasks.GO_ON_WITH_BULK, "/bulk"),
    change_of(lanes.PAUSE_LANE, LANE),
    change_of(lanes.RESUME_LANE, LANE),
    change_of(lanes.LIMIT_LANE, LANE, queue_pages.lane, _limits("running", "per_key", "rate")),
    change_of(lanes.LIMIT_HANDLER, "/lanes", queue_pages.lanes, _limits("rate")),
    change_of(hosts.QUIET_HOSTS, "/workers"),
    change_of(hosts.RESUME_HOSTS, "/workers"),
    change_of(workers.SCALE_WORKERS, "/workers"),
    change_of(workers.WRITE_STACKS, "/stacks?worker={}"),
    PageChange(schedules.SET_SCHEDULE, SCHEDULE, schedule_pages.form, _read_schedule),
    change_of(schedules.RUN_SCHEDULE, SCHEDULE),
    change_of(schedules.PAUSE_SCHEDULE, SCHEDULE),
    change_of(schedules.RESUME_SCHEDULE, SCHEDULE),
    change_of(schedules.REMOVE_SCHEDULE, "/schedules"),
    change_of(batches.SEAL_BATCH, BATCH),
    change_of(batches.CANCEL_BATCH, BATCH),
    change_of(dead.REMOVE_DEAD, "/dead"),
    change_of(unreadable.RETRY_UNREADABLE, "/unreadable"),
    change_of(unreadable.RETRY_ALL_UNREADABLE, "/unreadable"),
    change_of(unreadable.REMOVE_UNREADABLE, "/unreadable"),
    change_of(unreadable.REMOVE_ALL_UNREADABLE, "/unreadable"),
    change_of(webhooks.RETRY_WEBHOOK, "/webhooks"),
    change_of(webhooks.RETRY_ALL_WEBHOOKS, "/webhooks"),
    change_of(webhooks.GIVE_UP_WEBHOOK, "/webhooks"),
)


# One change for all tasks that the user has chosen in a list.

MOST = 100  # tasks of one form
ACTS: dict[BulkVerb, Act[Any, Any]] = {
    BulkVerb.CANCEL: tasks.CANCEL_TASK,
    BulkVerb.RETRY: tasks.RETRY_TASK,
    BulkVerb.REMOVE: tasks.REMOVE_TASK,
}


async def change_chosen(request: Request) -> Response:
    """Change each chosen task, and show the refusals. Each task has its own entry in Activity, as with a command."""
    async with noted(request, "tasks/chosen") as asked:
        form = await read_form(request)
        ids = list(dict.fromkeys(form.every("task_id")))
        asked.subject = submit_tasks.named(ids[0] if ids else "", len(ids))
        verb = checked_verb(form.last("verb"))
        act, asked.change = ACTS[verb], ACTS[verb].name
        fields, refused = form.allowed(act), list[str]()
        if not 1 <= len(ids) <= MOST:
            raise HTTPException(400, f"{counted(len(ids), 'task')} are chosen: choose 1 to {MOST}")
        asked.change = ""  # from here on, each task is a change of its own
    for task_id in ids:
        try:
            async with noted(request, act.name, task_id) as asked:
                await act.carry_out(doing(queue_of(request), asked, Face.WEB), act.read_texts({act.subject: task_id}))
        except HoldfastError as error:
            refused.append(str(error))
    back = fields.get("back", "")
    return page(request, "chosen.html", verb=verb, changed=len(ids) - len(refused), refused=refused, back=back)
