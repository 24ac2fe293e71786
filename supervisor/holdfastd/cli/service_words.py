"""Why tasks of a lane and a handler's name do not start now, in words. Pure."""

from __future__ import annotations

from holdfast.core.service import ServiceState


def obstacle(state: ServiceState) -> str:
    """What keeps them from starting, and what to do; empty where a worker can take them."""
    if state.paused is not None:
        return f"lane {state.lane} is paused ({state.paused}): supervisor lanes resume {state.lane}"
    if not state.living:
        return "no worker is there to take it: supervisor start"
    if not state.in_lane:
        return f"no live worker serves lane {state.lane} ({_count(state.living)} of other lanes): add it to --lanes"
    return "" if state.able else f"{missing(state.lane, state.name)} ({_count(state.in_lane)} there)"


def missing(lane: str, name: str) -> str:
    wanted = f"handler {name}" if name else "a default handler"
    return f"no live worker of lane {lane} has {wanted}"


def served_by(state: ServiceState) -> str:
    """Who can run them."""
    others = state.able - len(state.servers)
    return ", ".join(state.servers) + (f" and {others} more" if others > 0 else "")


def _count(workers: int) -> str:
    return "1 live worker" if workers == 1 else f"{workers} live workers"
