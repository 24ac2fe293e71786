"""Lanes: what waits in each, who serves it, its limits; and one lane, with the forms that change it."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.lanes import LaneState, LimitOrder
from holdfast.errors import HoldfastError
from holdfast_config.lanes import list_name
from holdfastd.documents import lane_documents
from holdfastd.documents.lane_documents import rate_words
from holdfastd.operations.lanes import knows_lane
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

LONGEST_HANDLER = 200


async def lanes(request: Request) -> Response:
    return await _lanes(request, {}, "")


async def lanes_again(request: Request, typed: Mapping[str, str], error: HoldfastError) -> Response:
    """The page with the rate of a handler that was refused."""
    return await _lanes(request, typed, str(error))


async def lane(request: Request) -> Response:
    return await _lane(request, request.query_params.get("name", ""), None, "")


async def lane_again(request: Request, typed: Mapping[str, str], error: HoldfastError) -> Response:
    """The page with limits that were refused."""
    return await _lane(request, typed.get("lane", ""), typed, str(error))


async def _lanes(request: Request, typed: Mapping[str, str], problem: str) -> Response:
    access = queue_of(request)
    found = await access.manager.lanes(*access.settings.lane_names)
    return page(
        request,
        "lanes.html",
        400 if problem else 200,
        lanes=found.lanes,
        now_ms=found.now_ms,
        handlers={
            name: rate_words(order) or "none" for name, order in found.handlers.items() if order.asked or order.told
        },
        typed=typed,
        problem=problem,
    )


async def _lane(request: Request, name: str, typed: Mapping[str, str] | None, problem: str) -> Response:
    access = queue_of(request)
    try:
        wanted = list_name(name)
    except ValueError as error:
        raise HTTPException(400, f"lane {name[:80]!r}: {error}") from None
    found = await access.manager.lanes(wanted)
    is_known = await knows_lane(access.store, access.settings, wanted)
    shown = next((each for each in found.lanes if each.name == wanted), None)
    if shown is None:
        raise HTTPException(404, f"no lane {wanted} in {access.queue}")
    (served,) = await access.store.service([(wanted, "")])
    return page(
        request,
        "lane.html",
        400 if problem else 200,
        lane=shown,
        now_ms=found.now_ms,
        living=found.living,
        servers=served.servers,
        is_known=is_known,
        more=max(0, served.able - len(served.servers)),
        typed=_limits(shown) if typed is None else typed,
        problem=problem,
    )


def _limits(lane: LaneState) -> dict[str, str]:
    """The limits that an operator has set, as the fields of the form."""
    rate = _asked_rate(lane.rate)
    return {"running": lane.limit.asked, "per_key": lane.keys.asked, **rate}


def _asked_rate(order: LimitOrder) -> dict[str, str]:
    if "/" not in order.asked:
        return {"rate": order.asked, "burst": ""}
    rate = lane_documents.read_rate(order.asked)
    return {"rate": str(rate), "burst": str(rate.burst)}
