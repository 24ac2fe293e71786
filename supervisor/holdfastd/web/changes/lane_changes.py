"""Changes of a lane: pause, resume, limits."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.client.limit_texts import count_limit, rate_limit
from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast_config.lanes import list_name
from holdfastd.web.access.forms import BadFieldError
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.pages import lanes


async def _pause(asked: Asked) -> None:
    await asked.manager.pause_queue(asked.subject, asked.reason("paused"))


async def _resume(asked: Asked) -> None:
    await asked.manager.resume_queue(asked.subject)


async def _limit(asked: Asked) -> None:
    """An empty field removes the operator's limit, so that of the settings applies again."""
    lane = _checked("lane", asked.subject, list_name)
    limits = (
        LaneLimit(LaneBound.LIMIT, lane, _given(asked, "running", count_limit)),
        LaneLimit(LaneBound.KEYS, lane, _given(asked, "per_key", count_limit)),
        LaneLimit(LaneBound.RATE, lane, _rate(asked)),
    )
    await asked.access.store.bound(limits)


async def _limit_handler(asked: Asked) -> None:
    if not asked.subject or len(asked.subject) > lanes.LONGEST_HANDLER:
        raise BadFieldError(f"handler: a name of 1 to {lanes.LONGEST_HANDLER} characters is expected")
    await asked.access.store.bound([LaneLimit(LaneBound.NAME, asked.subject, _rate(asked))])


def _rate(asked: Asked) -> str:
    return _given(asked, "rate", lambda text: rate_limit(text, asked.fields.get("burst", "")))


def _given(asked: Asked, field: str, read: Callable[[str], str]) -> str:
    text = asked.fields.get(field, "").strip()
    return _checked(field, text, read) if text else ""


def _checked(field: str, text: str, read: Callable[[str], str]) -> str:
    try:
        return read(text)
    except ValueError as error:
        raise BadFieldError(f"{field.replace('_', ' ')}: {error}") from None


LANE_CHANGES = (
    PageChange("/lanes/pause", "lane", "/lane?name={}", _pause),
    PageChange("/lanes/resume", "lane", "/lane?name={}", _resume),
    PageChange("/lanes/limit", "lane", "/lane?name={}", _limit, lanes.lane_again),
    PageChange("/lanes/limit-handler", "handler", "/lanes", _limit_handler, lanes.lanes_again),
)
