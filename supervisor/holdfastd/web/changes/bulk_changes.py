"""The endpoints that begin, stop and go on with a bulk change; each is written down."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.client.wanted_tasks import WantedTasks, checked_wanted
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import BulkChange, BulkVerb, states_of
from holdfast.core.task_states import State
from holdfastd.web.activity_notes import note, origin
from holdfastd.web.bulk_work import BulkWork
from holdfastd.web.forms import read_form, visitor_of
from holdfastd.web.pages.task_filter import TaskFilter
from holdfastd.web.queue_access import queue_of


def asked_verb(fields: Mapping[str, str]) -> BulkVerb:
    """Raises HTTPException 400 for one that there is not."""
    given = fields.get("verb", "")
    if given not in set(BulkVerb):
        raise HTTPException(400, f"verb {given[:50]!r}: one of {', '.join(BulkVerb)} is expected")
    return BulkVerb(given)


def asked_states(verb: BulkVerb, wanted: TaskFilter) -> tuple[State, ...]:
    """Raises HTTPException 400 where the verb changes nothing in the state of the filter."""
    found = states_of(verb, [State(wanted.state)] if wanted.state else [])
    if not found:
        allowed = ", ".join(states_of(verb, []))
        raise HTTPException(400, f"{verb} changes no task that is {wanted.state}: choose {allowed}, or any state")
    return found


async def begin(request: Request) -> Response:
    """Begin the change that was confirmed."""
    fields = await read_form(request)
    wanted, verb = TaskFilter.of(fields), asked_verb(fields)
    asked = wanted.arguments
    asked.pop("state")
    change = BulkChange(
        change_id=secrets.token_hex(8),
        verb=verb,
        who=visitor_of(request).name,
        origin=origin(request),
        query=wanted.query,
        wanted=checked_wanted(asked_states(verb, wanted), cast("WantedTasks", asked)),
        text=wanted.text,
    )

    async def store_it() -> str:
        _work(request).carry_out(await queue_of(request).store.begin_bulk(change))
        return f"begun with {change.query}" if change.query else "begun"

    return await _noted(request, str(verb), change.change_id, store_it)


async def stop(request: Request) -> Response:
    change_id = (await read_form(request)).get("change_id", "")

    async def stop_it() -> str:
        stopped = await queue_of(request).store.stop_bulk(change_id)
        return "" if stopped else "refused: it does not run"

    return await _noted(request, "stop", change_id, stop_it)


async def go_on(request: Request) -> Response:
    change_id = (await read_form(request)).get("change_id", "")

    async def resume_it() -> str:
        change = await queue_of(request).store.resume_bulk(change_id)
        if change is not None:
            _work(request).carry_out(change)
        return "" if change else "refused: it runs, is done, or is not known"

    return await _noted(request, "go-on", change_id, resume_it)


async def _noted(request: Request, what: str, change_id: str, call: Callable[[], Awaitable[str]]) -> Response:
    """Write down what came of it. Raises HTTPException 409 for what was refused."""
    outcome = await call()
    who = visitor_of(request).name
    await note(queue_of(request), Activity(who, origin(request), f"bulk/{what}", change_id, outcome))
    if outcome.startswith("refused"):
        raise HTTPException(409, f"this change of many tasks: {outcome}")
    return RedirectResponse("/bulk", 303)


def _work(request: Request) -> BulkWork:
    work = request.app.state.bulk_work
    assert isinstance(work, BulkWork)
    return work
