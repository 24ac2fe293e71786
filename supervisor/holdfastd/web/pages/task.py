"""One task: a picture of its history, what was said and what came of it, and the changes that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import HoldfastError, InvalidTaskError, UnknownTaskError
from holdfastd.documents import task_documents
from holdfastd.operations.errors import meaning_of
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views.conversation import MessageExchange, exchange, exchanges
from holdfastd.web.views.submission_form import FROM
from holdfastd.web.views.task_actions import allowed, takes_messages
from holdfastd.web.views.task_call import call_of
from holdfastd.web.views.task_picture import picture

SHOWN = 100  # lines of the history, unless all are asked for
TURNS = 10
PARTS = 20
CHILDREN = 50
NEWEST = 1 << 52  # a position behind all parts
ASKS = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED})


async def task(request: Request) -> Response:
    return await shown_task(request, request.query_params.get("id", ""))


async def shown_again(request: Request, fields: Mapping[str, str], error: HoldfastError) -> Response:
    """The page with a message that was refused, as it was typed."""
    return await shown_task(request, fields.get("task_id", ""), fields, error)


async def shown_task(
    request: Request, task_id: str, typed: Mapping[str, str] | None = None, error: HoldfastError | None = None
) -> Response:
    access = queue_of(request)
    try:
        record = await access.manager.get_task(task_id)
        why = await access.manager.why(task_id, settings=access.settings)
    except (UnknownTaskError, InvalidTaskError) as unknown:
        return page(request, "problem.html", 404, title="No such task", problem=str(unknown))
    is_whole = bool(request.query_params.get("all"))
    timeline = why["timeline"]
    call, here = call_of(record), f"?id={quote(task_id, safe='')}"
    return page(
        request,
        "task.html",
        meaning_of(error).status if error else 200,
        path="/task",
        here=here,
        all=f"/task{here}&all=1",
        is_whole=is_whole,
        task=record,
        why=access.redaction.value({name: each for name, each in why.items() if name != "timeline"}),
        timeline=timeline if is_whole else timeline[-SHOWN:],
        lines=len(timeline),
        picture=picture(record, timeline, await access.store.clock_ms()),
        document=access.redaction.value(task_documents.whole(record)),
        turns=await _turns(access, record, is_whole),
        parts=await _parts(access, task_id),
        children=await access.store.children(task_id, CHILDREN),
        actions=allowed(record),
        is_over=record.state in TERMINAL,
        asks=record.state in ASKS,
        takes_messages=takes_messages(record),
        edited_from=str((call.metadata if call else {}).get(FROM) or ""),
        can_edit=call is not None,
        message_id=str(uuid4()),
        typed=typed or {},
        problem=str(error or ""),
    )


async def _turns(access: QueueAccess, record: TaskRecord, is_whole: bool) -> list[MessageExchange]:
    """Those before the present one are kept as its history; the newest of them, unless all are asked for."""
    items: Sequence[bytes] = ()
    if record.turn > 1:
        items, _ = await access.store.earlier(record.task_id, NEWEST)
    earlier = exchanges(items if is_whole else items[-2 * TURNS :])
    return [*earlier, exchange(record.operation, None)]


async def _parts(access: QueueAccess, task_id: str) -> list[Any]:
    """The last parts that it has emitted."""
    end = await access.store.emitted_parts(task_id, NEWEST)
    if not end.last:
        return []
    return list((await access.store.emitted_parts(task_id, max(0, end.last - PARTS))).parts)[-PARTS:]
