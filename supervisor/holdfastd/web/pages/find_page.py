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
    if place := await place_of(access, text):
        return RedirectResponse(place, 303)
    if task_id := await _only_beginning(access, text):
        return RedirectResponse(f"/task?{urlencode({'id': task_id})}", 303)
    return RedirectResponse(f"/tasks?{urlencode({'text': text})}" if text else "/tasks", 303)


async def place_of(access: QueueAccess, text: str) -> str:
    """The page of the thing with exactly this name or id. Empty if there is none."""
    for path, field, is_known in LOOKS if text else ():
        if await is_known(access, text):
            return f"{path}?{urlencode({field: text})}"
    return ""


async def _is_task(access: QueueAccess, text: str) -> bool:
    try:
        return is_task_id(text) and await access.store.get(text, payloads=False) is not None
    except UnreadableRecordError:
        return True


async def _is_batch(access: QueueAccess, text: str) -> bool:
    return await _exists(lambda: access.manager.batch(text).record())


async def _is_schedule(access: QueueAccess, text: str) -> bool:
    return await _exists(lambda: access.manager.schedules.get(text))


async def _is_lane(access: QueueAccess, text: str) -> bool:
    return await _exists(lambda: shown_lane(access.store, access.settings, text))


async def _is_handler(access: QueueAccess, text: str) -> bool:
    return any(each.name == text for each in await access.store.published_handlers())


LOOKS = (  # page, field of its query, and whether it has a thing of this name
    ("/task", "id", _is_task),
    ("/batch", "id", _is_batch),
    ("/schedule", "id", _is_schedule),
    ("/lane", "name", _is_lane),
    ("/handler", "name", _is_handler),
)


async def _exists(ask: Callable[[], Awaitable[object]]) -> bool:
    """True if `ask` finds the thing. False if there is no such thing, or the text is not a possible name."""
    try:
        await ask()
    except StoreError:
        raise
    except HoldfastError:
        return False
    return True


async def _only_beginning(access: QueueAccess, text: str) -> str:
    """The only task id that begins with this text; empty if there is none, or if another id may begin with it, too. A
    store with very many keys is not searched to its end."""
    if not is_task_id(text) or len(text) < SHORTEST:
        return ""
    found, cursor = set[str](), ""
    for _ in range(STEPS):
        step = await access.store.task_ids(text, cursor, STEP)
        found.update(step.ids)
        cursor = step.cursor
        if not cursor or len(found) > 1:
            break
    return min(found) if len(found) == 1 and not cursor else ""
