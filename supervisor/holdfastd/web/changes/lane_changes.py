"""Changes of lanes, and of the limits of lanes and handlers."""

from __future__ import annotations

from collections.abc import Mapping

from holdfastd.operations.lanes import LIMIT_HANDLER, LIMIT_LANE, PAUSE_LANE, RESET_HANDLER, RESUME_LANE
from holdfastd.web.changes.change import Asked, PageChange, change_of
from holdfastd.web.pages import queue_pages

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
