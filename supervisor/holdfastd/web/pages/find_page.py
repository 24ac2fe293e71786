"""The search box on every page: it finds a task, a batch, a schedule, a lane, a handler, or a text in tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.core.identity import is_task_id
from holdfast.errors import HoldfastError, StoreError, UnreadableRecordError
from holdfastd.operations.lanes import shown_lane
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

SHORTEST = 8  # least number of characters of the beginning of an id
STEP, STEPS = 2000, 50  # keys that the store looks at in one call for the rest of an id; calls at most


async def find(request: Request) -> Response:
    """Go to the page of the thing with exactly this name or id. If there is none, list the tasks that contain the
    text."""
    text = request.query_params.get("text", "").strip()
    access = queue_of(request)
    for look in (_task, _batch, _schedule, _lane, _handler, _beginning) if text else ():
        if path := await look(access, text):
            return RedirectResponse(path, 303)
    return RedirectResponse(f"/tasks?{urlencode({'text': text})}" if text else "/tasks", 303)


async def _task(access: QueueAccess, text: str) -> str:
    if not is_task_id(text):
        return ""
    try:
        known = await access.store.get(text, payloads=False) is not None
    except UnreadableRecordError:
        known = True
    return f"/task?{urlencode({'id': text})}" if known else ""


async def _beginning(access: QueueAccess, text: str) -> str:
    """The path of the only task whose id begins with this text. A store of very many keys is not searched to its end:
    then the answer is empty, because another id may begin so, too."""
    if not is_task_id(text) or len(text) < SHORTEST:
        return ""
    found, cursor = set[str](), ""
    for _ in range(STEPS):
        step = await access.store.task_ids(text, cursor, STEP)
        found.update(step.ids)
        cursor = step.cursor
        if not cursor or len(found) > 1:
            break
    return f"/task?{urlencode({'id': min(found)})}" if len(found) == 1 and not cursor else ""


async def _batch(access: QueueAccess, text: str) -> str:
    return f"/batch?{urlencode({'id': text})}" if await _exists(lambda: access.manager.batch(text).record()) else ""


async def _schedule(access: QueueAccess, text: str) -> str:
    return f"/schedule?{urlencode({'id': text})}" if await _exists(lambda: access.manager.schedules.get(text)) else ""


async def _lane(access: QueueAccess, text: str) -> str:
    known = await _exists(lambda: shown_lane(access.store, access.settings, text))
    return f"/lane?{urlencode({'name': text})}" if known else ""


async def _exists(ask: Callable[[], Awaitable[object]]) -> bool:
    """True if `ask` finds the thing. False if there is no such thing, or the text is not a possible name."""
    try:
        await ask()
    except StoreError:
        raise
    except HoldfastError:
        return False
    return True


async def _handler(access: QueueAccess, text: str) -> str:
    known = any(each.name == text for each in await access.store.published_handlers())
    return f"/handler?{urlencode({'name': text})}" if known else ""
