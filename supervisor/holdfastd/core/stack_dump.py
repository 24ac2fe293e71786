"""Handles SIGUSR1: logs the state of all processes in one line, then has the children write their stacks.

The children write one after the other, because all of them write to the same stream. The store and booting children are
left out, because the signal would end them.
"""

from __future__ import annotations

import signal
from dataclasses import replace

from holdfastd.core.commands import Kill, Log
from holdfastd.core.slots import Child, ChildKind, Slot
from holdfastd.core.view import Step, View

PAUSE = 0.05  # seconds that one process has to write its stacks


def asked(view: View, now: float) -> Step:
    """Log the state of all processes, and note which children have to write their stacks."""
    children = sorted(view.children(), key=lambda child: child.slot)
    shows = (child.slot for child in children if _can_show(child))
    waiting = tuple(dict.fromkeys((*view.to_dump, *shows)))
    return replace(view, to_dump=waiting, dump_at=now), (Log("info", "state", _state(view, children, now)),)


def proceed(view: View, now: float) -> Step:
    """If it is time, have the next child write its stacks."""
    if not view.to_dump or now < view.dump_at:
        return view, ()
    slot, *rest = view.to_dump
    view = replace(view, to_dump=tuple(rest), dump_at=now + PAUSE)
    child = view.child(slot)
    if child is None or not _can_show(child):
        return view, ()
    return view, (Log.about(child, "info", "the stacks of this process follow"), Kill(slot, signal.SIGUSR1))


def worker_of(view: View, incarnation: str) -> Child | None:
    """The worker with this incarnation; None if it is not known, or cannot write its stacks to its memory now."""
    return next((child for child in view.claiming() if child.incarnation == incarnation and _can_show(child)), None)


def to_memory(view: View, slot: Slot) -> Step:
    """Have one worker write its stacks to its memory. A client of the control socket reads them there."""
    child = view.child(slot)
    return view, (Kill(slot, signal.SIGUSR2),) if child is not None and _can_show(child) else ()


def _can_show(child: Child) -> bool:
    return child.slot.kind is not ChildKind.STORE and child.ready_at is not None


def _state(view: View, children: list[Child], now: float) -> dict[str, object]:
    return {
        "target": view.target,
        "draining": view.stopping is not None,
        "held_back": view.breaker.cause,
        "deaths": view.death_count,
        "unrecovered": len(view.unacknowledged),
        "processes": [_process(child, now) for child in children],
    }


def _process(child: Child, now: float) -> dict[str, object]:
    return {
        "slot": str(child.slot),
        "pid": child.pid,
        "state": str(child.phase),
        "running": list(child.running),
        "settled": child.settled,
        "silent": round(child.silence(now), 1),
        "degraded": child.degraded,
    }
