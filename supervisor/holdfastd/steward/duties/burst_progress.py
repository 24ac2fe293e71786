"""Reports to the parent how many tasks a burst has left; the parent decides when the service ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.core.task_states import TERMINAL, State
from holdfast.ipc.channel import Left
from holdfast.store.protocol import Store
from holdfastd.steward.duty import Duty

EVERY = 0.2  # seconds: a finished burst should end soon


def burst_progress(store: Store, lanes: Sequence[str], tell: Callable[[Left], None]) -> Duty:
    """Count the tasks left in these lanes, and report them with `tell`."""

    async def run_once() -> float:
        left, due_in, unserved = await store.left(lanes)
        counts = await store.counts()  # read after the lanes, so that tasks that ended meanwhile are counted
        ended = {str(state): counts.counters[state] for state in sorted(TERMINAL)}
        delayed = counts.states[State.DELAYED]
        tell(Left(left, ended, delayed, None if due_in is None else due_in / 1000, unserved))
        return EVERY

    return Duty("burst progress", run_once)
