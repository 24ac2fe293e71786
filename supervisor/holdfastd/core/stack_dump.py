"""SIGUSR1: what the parent knows of each process, in one line, then the stacks of those that can show them.

One after the other, as all write to the same place. Never the store, which would end, nor a child that still boots.
"""

from __future__ import annotations

import signal
from dataclasses import replace

from holdfastd.core.commands import Kill, Say
from holdfastd.core.slots import Child, ChildKind, Slot
from holdfastd.core.view import Step, View

PAUSE = 0.05  # seconds for one process to write its stacks


def asked(view: View, now: float) -> Step:
    """Tell the state, and have the stacks follow."""
    children = sorted((seat for seat in view.seats.values() if isinstance(seat, Child)), key=lambda child: child.slot)
    shows = (child.slot for child in children if _can_show(child))
    waiting = tuple(dict.fromkeys((*view.to_dump, *shows)))
    return replace(view, to_dump=waiting, dump_at=now), (Say("info", "state", _state(view, children, now)),)


def proceed(view: View, now: float) -> Step:
    """The next one, if it is time."""
    if not view.to_dump or now < view.dump_at:
        return view, ()
    slot, *rest = view.to_dump
    view = replace(view, to_dump=tuple(rest), dump_at=now + PAUSE)
    child = view.child(slot)
    if child is None or not _can_show(child):
        return view, ()
    return view, (Say("info", "stacks follow", {"slot": str(slot), "pid": child.pid}), Kill(slot, signal.SIGUSR1))


def _can_show(child: Child) -> bool:
    return child.slot.kind is not ChildKind.STORE and child.ready_at is not None


def _state(view: View, children: list[Child], now: float) -> dict[str, object]:
    return {
        "target": view.target,
        "draining": view.stopping is not None,
        "held_back": view.breaker.cause,
        "deaths": view.died,
        "unrecovered": len(view.untold),
        "processes": [_process(child, now) for child in children],
    }


def _process(child: Child, now: float) -> dict[str, object]:
    return {
        "slot": str(child.slot),
        "pid": child.pid,
        "state": str(child.phase),
        "running": list(child.running),
        "settled": child.settled,
        "silent": _silence(child.slot, now - child.heard),
        "degraded": child.degraded,
    }


def _silence(slot: Slot, seconds: float) -> float:
    """The store speaks to nobody."""
    return 0.0 if slot.kind is ChildKind.STORE else round(seconds, 1)
