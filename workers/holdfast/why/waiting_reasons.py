"""The reasons why tasks of a lane and a handler wait, in words. Pure."""

from __future__ import annotations

from holdfast.core.plurals import counted
from holdfast.core.served import ServedState


def waiting_reason(state: ServedState) -> str:
    """The reasons and their remedies, the lane's pause first; empty if a worker can claim them."""
    return "; ".join(filter(None, (pause_reason(state), missing_worker(state))))


def pause_reason(state: ServedState) -> str:
    if state.paused is None:
        return ""
    return f"lane {state.lane} is paused ({state.paused}): supervisor lanes resume {state.lane}"


def missing_worker(state: ServedState) -> str:
    if not state.living:
        return "no worker runs: supervisor start"
    if not state.in_lane:
        others = counted(state.living, "live worker")
        return f"no live worker serves lane {state.lane} ({others} of other lanes): add it to --lanes"
    return "" if state.able else f"{missing(state.lane, state.name)} ({counted(state.in_lane, 'live worker')} there)"


def missing(lane: str, name: str) -> str:
    wanted = f"handler {name}" if name else "a default handler"
    return f"no live worker of lane {lane} has {wanted}"


def served_by(state: ServedState) -> str:
    """The workers that can run them."""
    others = state.able - len(state.servers)
    return ", ".join(state.servers) + (f" and {others} more" if others > 0 else "")
