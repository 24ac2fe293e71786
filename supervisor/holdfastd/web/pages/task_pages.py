"""The pages of tasks: one task, the list, the form that submits one, and bulk changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import quote
from uuid import uuid4

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.client.bulk_steps import asked_change, checked_verb
from holdfast.core.bulk_changes import BulkState, BulkVerb, states_of
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import read_trail
from holdfast.errors import HoldfastError, InvalidTaskError, UnknownTaskError
from holdfast.why.document import HistoryLine
from holdfast.why.outlook import waiting_reason
from holdfastd.documents import task_documents
from holdfastd.documents.task_list import (
    MOST_WORDS,
    TASK_COLUMNS,
    USUAL_COLUMNS,
    TaskCall,
    TaskRow,
    call_of,
    chosen_columns,
    first_call,
    read_rows,
)
from holdfastd.operations.error_statuses import status_of
from holdfastd.operations.many_tasks import BEGIN_BULK
from holdfastd.operations.reading import read_texts
from holdfastd.operations.submit_tasks import SUBMIT_TASKS
from holdfastd.web.access.forms import check_may, hint, visitor_of
from holdfastd.web.pages.find_page import place_of
from holdfastd.web.queue.found_tasks import (
    ChangeSample,
    TaskSearch,
    counted_meanwhile,
    filter_texts,
    found_tasks,
    sample_of,
)
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import PAYLOAD, page, problem_page
from holdfastd.web.views import shown_task
from holdfastd.web.views.shown_task import MessageExchange, StoryStep, StreamPiece, exchange
from holdfastd.web.views.submission_form import FROM, SubmissionForm, edit_form, empty_form

SHOWN = 100  # lines of the history that a page shows, unless the user asks for all
TURNS = 10
PARTS = 500  # of a stream
CHILDREN = 50
RELATIVES = 12  # tasks before it, and behind it, that the page of a task shows
OF_RELATIVE = "task,handler,arguments,state,wait,duration,reason"
NEWEST = 1 << 52  # a position behind all parts
ASKS = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED})


async def task(
    request: Request, typed: Mapping[str, str] | None = None, error: HoldfastError | None = None
) -> Response:
    """The page of one task. `typed`: the fields of a refused message; `error`: why it was refused."""
    access = queue_of(request)
    task_id = request.query_params.get("id", "") if typed is None else typed.get("task_id", "")
    try:
        record = await access.manager.get_task(task_id)
        why = await access.manager.why(task_id, settings=access.settings)
    except (UnknownTaskError, InvalidTaskError) as unknown:
        return problem_page(request, status_of(unknown), "No such task", str(unknown))
    is_whole = bool(request.query_params.get("all"))
    timeline = why["timeline"]
    now_ms = await access.store.clock_ms()
    steps = await _steps(access, task_id, timeline, PAYLOAD if is_whole else shown_task.VALUE)
    told = shown_task.story(record, timeline, steps, record.finished_ms or now_ms, with_ids=is_whole)
    earlier: Sequence[bytes] = ()
    if record.turn > 1:
        earlier, _ = await access.store.earlier(task_id, NEWEST)
    call, begun = call_of(record.operation), call_of(earlier[0] if earlier else record.operation)
    parents, children = [each["task_id"] for each in why["parents"]], await access.store.children(task_id, CHILDREN)
    before = await _relatives(access, parents or record.waits_for)
    here = f"?id={quote(task_id, safe='')}"
    shown_why = access.redaction.value({name: each for name, each in why.items() if name != "timeline"})
    return page(
        request,
        "task.html",
        status_of(error),
        path="/task",
        here=here,
        all=f"/task{here}&all=1",
        is_whole=is_whole,
        task=record,
        now=shown_why["now"].removeprefix(record.state).lstrip() or shown_why["now"],
        why=shown_why,
        story=told if is_whole else shown_task.last_lines(told, SHOWN),
        shown=SHOWN,
        is_whole_story=is_whole or len(timeline) <= SHOWN,
        lines=len(timeline),
        picture=shown_task.picture(record, timeline, now_ms, [each.task for each in before]),
        document=access.redaction.value(task_documents.whole(record)),
        turns=_turns(earlier, record, is_whole),
        parts=await _parts(access, task_id),
        parents=before,
        parents_count=len(parents or record.waits_for),
        children=await _relatives(access, children[1]),
        children_count=children[0],
        relative_columns=chosen_columns([OF_RELATIVE]),
        actions=shown_task.allowed(record),
        retry=await access.store.get(record.retried_as, payloads=False) if record.retried_as else None,
        is_over=record.state in TERMINAL,
        asks=record.state in ASKS,
        takes_messages=shown_task.takes_messages(record),
        brief=begun.brief(access.redaction.value) if begun else "",
        most_words=MOST_WORDS,
        edited_from=str((call.metadata if call else {}).get(FROM) or ""),
        can_edit=call is not None,
        message_id=str(uuid4()),
        typed=typed or {},
        problem=str(error or ""),
    )


async def _steps(access: QueueAccess, task_id: str, timeline: Sequence[HistoryLine], most: int) -> dict[int, StoryStep]:
    """The last SHOWN recorded steps by their places, as many as one answer of the store holds; `most` bytes of each
    value."""
    number = sum(1 for entry in timeline if entry["event"] == "step")
    found, _ = await access.store.steps(task_id, max(0, number - SHOWN)) if number else ((), None)
    return {step.place: StoryStep.of(step, most) for step in found}


def _turns(earlier: Sequence[bytes], record: TaskRecord, is_whole: bool) -> list[MessageExchange]:
    """The turns of a task. Of the earlier turns only the last TURNS are shown, unless `is_whole` is set."""
    shown = shown_task.exchanges(earlier if is_whole else earlier[-2 * TURNS :])
    return [*shown, exchange(record.operation, None)]


async def _relatives(access: QueueAccess, task_ids: Sequence[str]) -> list[TaskRow]:
    """The first tasks before or behind a task in its flow, as rows. Tasks that are gone are left out."""
    found = await asyncio.gather(*(access.store.get(each, payloads=False) for each in task_ids[:RELATIVES]))
    return await read_rows(access.store, [each for each in found if each], access.redaction.value)


async def _parts(access: QueueAccess, task_id: str) -> list[StreamPiece]:
    """The last parts that the task has emitted, joined to pieces: consecutive texts of one run make one piece."""
    end = await access.store.emitted_parts(task_id, NEWEST)
    if not end.last:
        return []
    return shown_task.pieces((await access.store.emitted_parts(task_id, max(0, end.last - PARTS))).parts[-PARTS:])


# Tasks: a list by state, lane, handler and time.

PAGE = 50  # tasks
MOST_RUNNING = 200  # tasks among which the page finds those that run longest
USUAL_FILTERS = {
    "Failed in 24 h": TaskSearch(state=[State.FAILED], newer="1d"),
    "Running longest": TaskSearch(state=[State.WORKING], longest=True),
    "Waits for a person": TaskSearch(state=[State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.SUSPENDED]),
    "Waits for a worker": TaskSearch(state=[State.SUBMITTED]),
    "Waits for a time or tasks": TaskSearch(state=[State.DELAYED, State.WAITING]),
}
RECENT = 5  # newest bulk changes; the page shows those of them that run
MOST_ROUNDS = 6  # pages that the script in the browser loads by itself, some 200 ms of work


async def task_by_path(request: Request) -> Response:
    """To the page of a task, from the address that the API has for it."""
    return _to_task(request.path_params["task_id"])


def _to_task(task_id: str) -> Response:
    return RedirectResponse(f"/task?id={quote(task_id, safe='')}", 303)


async def tasks(request: Request) -> Response:
    access = queue_of(request)
    if task_id := request.query_params.get("task_id", "").strip():
        return _to_task(task_id)
    wanted, chosen = _search(request), request.query_params.getlist("columns")
    if wanted.state == [State.INPUT_REQUIRED] and not chosen:
        return await _questions(request, wanted)
    columns = chosen_columns(["task", *chosen] if chosen else [])
    found = await found_tasks(access, wanted, MOST_RUNNING if wanted.longest else PAGE, wanted.cursor)
    is_empty = not (found.tasks or found.cursor or wanted.found)
    if is_empty:
        await hint(request, wanted)
    rows = await read_rows(access.store, _youngest_first(found.tasks), access.redaction.value)
    if wanted.longest:
        rows = sorted(rows, key=lambda row: -row.times["ran_ms"])[:PAGE]
    goes_on = _round(request, MOST_ROUNDS)
    return page(
        request,
        "tasks.html",
        wanted=wanted,
        found=found,
        rows=rows,
        place=await place_of(access, wanted.text) if is_empty and wanted.text else "",
        columns=columns,
        usual_columns=USUAL_COLUMNS,
        all_columns=TASK_COLUMNS,
        usual=USUAL_FILTERS,
        found_so_far=wanted.found + len(found.tasks),
        searched_so_far=wanted.searched + found.searched,
        of=await request.app.state.counts.looked_through(wanted),
        goes_on=goes_on if len(rows) < PAGE else None,
        states=[str(state) for state in State],
        verbs=[str(verb) for verb in BulkVerb if states_of(verb, wanted.state)],
        bulk=[each for each in await access.store.bulk_changes(RECENT) if each.state is BulkState.RUNNING],
    )


def _youngest_first(found: Sequence[TaskRecord]) -> list[TaskRecord]:
    """The tasks of one page of the list, by state as they were found; those that have ended by their age, which the
    list shows. The store gives them by their end."""
    place = {task.task_id: number for number, task in enumerate(found)}
    return sorted(
        found, key=lambda task: (0, -task.created_ms) if task.state in TERMINAL else (-1, place[task.task_id])
    )


QUESTIONS = 20  # of one page


async def _questions(request: Request, wanted: TaskSearch) -> Response:
    """The tasks that ask for an answer, those first that asked first, each with its question."""
    access = queue_of(request)
    found = await found_tasks(access, wanted, QUESTIONS, wanted.cursor, newest_first=False)
    whole = await asyncio.gather(*(access.store.get(each.task_id) for each in found.tasks))
    asking = [task for task in whole if task and task.state is State.INPUT_REQUIRED]
    return page(
        request,
        "questions.html",
        wanted=wanted,
        found=found,
        of=await request.app.state.counts.looked_through(wanted),
        questions=[_question(access, task) for task in asking],
        ids=[str(uuid4()) for _ in asking],
    )


def _question(access: QueueAccess, task: TaskRecord) -> tuple[TaskRecord, object, int, str]:
    """A task that asks, its question, the time at which it asked, and its arguments in brief; without secrets."""
    steps, call = read_trail(task.trail), call_of(task.operation)
    question = access.redaction.value(task_documents.whole(task))["result"]
    return (
        task,
        question,
        steps[-1].at_ms if steps else task.created_ms,
        call.brief(access.redaction.value) if call else "",
    )


def _round(request: Request, most: int) -> int | None:
    """The number of the next page of the list, which the script loads by itself. None after `most` pages."""
    given = request.query_params.get("round", "")
    number = int(given) if given.isascii() and given.isdigit() and len(given) < 5 else 1
    return number + 1 if number < most else None


def _search(request: Request) -> TaskSearch:
    """The filter of tasks in the query of the page's URL. Raises InvalidArgumentError."""
    fields = {**request.query_params, "state": ",".join(request.query_params.getlist("state"))}
    return read_texts(filter_texts(fields, TaskSearch), TaskSearch)


# The form that submits a task: for a handler (`/submit?name=…`), or with the values of a task (`/submit?task=…`).

EXAMPLES = 5  # last tasks of the handler, whose arguments can be copied
LONGEST_ORIGINAL = 100  # characters of the original task's id with which the new id begins


async def submit(request: Request) -> Response:
    access = queue_of(request)
    check_may(visitor_of(request), SUBMIT_TASKS)
    task_id = request.query_params.get("task", "")
    try:
        if task_id:
            form = await edit_form_of(access, task_id)
        else:
            form = await form_of(access, request.query_params.get("name", ""))
    except (UnknownTaskError, InvalidTaskError) as error:
        return problem_page(request, status_of(error), "No such task", str(error))
    name = form.handler.name
    state = await access.manager.service(form.handler.lane or access.queue, name[:200])
    latest = TaskSearch(state=[*State], name=name)
    tasks = (await found_tasks(access, latest, EXAMPLES, "")).tasks if name and not form.original else ()
    return page(
        request,
        "submit.html",
        form=form,
        service=waiting_reason(state),
        examples=await read_rows(access.store, tasks, access.redaction.value),
    )


async def form_of(access: QueueAccess, name: str) -> SubmissionForm:
    """The empty form of a handler."""
    return empty_form(await handler_of(access, name), new_id())


async def handler_of(access: QueueAccess, name: str) -> PublishedHandler:
    """The handler as workers have published it, without secret defaults. If no worker has, a handler with only the
    name."""
    found = await access.store.published_handler(name)
    return PublishedHandler(name) if found is None else access.redaction.handler(found)


def new_id(original: str = "") -> str:
    """The id of the task that a form submits. The form has the id, so a form that is sent twice makes one task."""
    return f"{original[:LONGEST_ORIGINAL]}.e{uuid4().hex[:8]}" if original else str(uuid4())


async def edit_form_of(access: QueueAccess, original: str) -> SubmissionForm:
    """The form filled with the call of a task. Raises UnknownTaskError, and InvalidTaskError if the task's operation is
    not a readable run."""
    task = await access.manager.get_task(original)
    call = await first_call(access.store, task)
    if call is None:
        raise InvalidTaskError(f"the operation of task {original} cannot be edited: it is not a readable run")
    options = {"lane": task.lane, "max_attempts": str(task.max_attempts or "")}
    return edit_form(await handler_of(access, call.name), new_id(original), _hidden(call, access), original, options)


def _hidden(call: TaskCall, access: QueueAccess) -> TaskCall:
    hide = access.redaction.value
    return replace(call, kwargs=hide(call.kwargs), text=hide(call.text), data=hide(call.data))


# Bulk changes: the page that shows the number of tasks and asks for confirmation, and the list of bulk changes.

LISTED = 50  # bulk changes of the list
EXPLAINED = 3  # of them: the newest that changed nothing, for which the page says why
OF_CHANGE = "task,handler,arguments,state,age,reason"
MOST_COUNTS = 400  # pages that the script in the browser loads by itself, some ten seconds of work


async def confirm(request: Request) -> Response:
    """The page that shows how many tasks a filter finds, before the user confirms their change."""
    check_may(visitor_of(request), BEGIN_BULK)
    wanted, verb = _search(request), checked_verb(request.query_params.get("verb", ""))
    change = asked_change(verb, wanted)
    count = await counted_meanwhile(request, change, wanted.before)
    access = queue_of(request)
    sample = await sample_of(access, change) if "round" not in request.query_params else ChangeSample()
    if not (count.found or count.cursor):
        await hint(request, wanted)
    return page(
        request,
        "bulk_confirm.html",
        wanted=wanted,
        others=msgspec.structs.replace(wanted, error=None),
        rows=await read_rows(access.store, sample.first, access.redaction.value),
        columns=chosen_columns([OF_CHANGE]),
        verb=verb,
        count=count,
        sample=sample,
        goes_on=_round(request, MOST_COUNTS),
    )


async def bulk(request: Request) -> Response:
    access = queue_of(request)
    now_ms = await access.store.clock_ms()
    changes = [(each, str(each.state_at(now_ms))) for each in await access.store.bulk_changes(LISTED)]
    idle = [each for each, state in changes if state == "done" and not each.changed and not each.refused]
    samples = {each.change_id: await sample_of(access, each) for each in idle[:EXPLAINED]}
    return page(request, "bulk.html", changes=changes, samples=samples)
