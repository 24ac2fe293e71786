"""A burst: the service works until nothing is left, and ends. A look that finds nothing counts only if the next one
finds nothing either, and only once a worker was ready: a handler that cannot be booted is no work done.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.core.plurals import counted
from holdfast.ipc.channel import Left
from holdfastd.core import drain
from holdfastd.core.slots import ChildKind
from holdfastd.core.view import Burst, Step, View

LOOKS = 2


def looked(view: View, message: Left, now: float) -> Step:
    """The steward has looked into the lanes of this pool."""
    burst = view.burst or Burst(message.ended)
    burst = replace(burst, empty=0 if message.left else burst.empty + 1)
    view = replace(view, burst=burst)
    if burst.empty < LOOKS or ChildKind.WORKER not in view.reached:
        return view, ()
    return drain.begin(view, now, last_words=last_words(burst, message))


def last_words(burst: Burst, message: Left) -> str:
    """What the run has done, and what it leaves for later."""
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
