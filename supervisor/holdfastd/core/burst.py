"""Ends a service that was started with --burst once no task is left to run.

The lanes must be empty at two successive checks, and a worker must have been ready: a handler that cannot be imported
has done no work.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.core.plurals import counted
from holdfast.ipc.channel import Left
from holdfastd.core import drain
from holdfastd.core.slots import ChildKind
from holdfastd.core.view import Burst, Step, View

LOOKS = 2


def lanes_counted(view: View, message: Left, now: float) -> Step:
    """The steward has counted the tasks that are left in the lanes of this pool."""
    burst = view.burst or Burst(message.ended)
    burst = replace(burst, empty=0 if message.left else burst.empty + 1)
    view = replace(view, burst=burst)
    if burst.empty < LOOKS or ChildKind.WORKER not in view.ready_kinds:
        return view, ()
    return drain.begin(view, now, closing_line=closing_line(burst, message))


def closing_line(burst: Burst, message: Left) -> str:
    """A line that says which tasks the burst has ended, and which it leaves for later."""
    grown = {state: total - burst.before.get(state, 0) for state, total in message.ended.items()}
    ended = {state: count for state, count in grown.items() if count > 0} or {"completed": 0}
    start = "nothing more can run now" if message.delayed or message.unserved else "nothing is left"
    line = f"{start}: " + ", ".join(f"{count} {state}" for state, count in ended.items())
    if message.delayed and message.due_in is not None:
        line += f"; {_stay(message.delayed)} delayed, the next is due in {message.due_in:.0f} s"
    if message.unserved:
        line += f"; {_stay(message.unserved)} for handlers that no live worker has: supervisor doctor names them"
    return line


def _stay(tasks: int) -> str:
    return counted(tasks, "task stays", "tasks stay")
