"""Merges the handler's lanes into the settings."""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import HandlerError
from holdfast.handler.handler import Handler
from holdfast_config import Settings
from holdfast_config.lanes import Lane


def settled(handler: Handler, settings: Settings, *, may_choose: bool) -> Settings:
    """The settings of a worker that runs this handler. Lanes and timeouts of the settings count before its own.

    `may_choose`: the handler may choose the lanes alone. Else settings that name none of its lanes are refused with
    HandlerError, as other processes must know the lanes, too.
    """
    if not handler.lanes:
        return settings
    if set(settings.lane_names).isdisjoint(lane.name for lane in handler.lanes):
        if not may_choose:
            named = ",".join(str(lane) for lane in handler.lanes)
            raise HandlerError(f"{handler.target} takes from lanes that the settings do not name: --lanes '{named}'")
        return settings.model_copy(update={"lanes": handler.lanes})
    return settings.model_copy(update={"lanes": tuple(_timed(lane, handler.lanes) for lane in settings.lanes)})


def _timed(lane: Lane, known: tuple[Lane, ...]) -> Lane:
    own = next((one.timeout for one in known if one.name == lane.name), None)
    return replace(lane, timeout=own) if lane.timeout is None else lane
