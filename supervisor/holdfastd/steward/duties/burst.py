"""What a burst has left: the steward looks, the parent decides when the service has done its work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.core.task_states import TERMINAL, State
from holdfast.ipc.channel import Left
from holdfast.store.protocol import Store
from holdfastd.steward.duty import Duty

EVERY = 0.2  # seconds: a job that is done should not be kept long


def burst(store: Store, lanes: Sequence[str], tell: Callable[[Left], None]) -> Duty:
    """Look into these lanes, and tell."""

    async def turn() -> float:
        left, due_in, unserved = await store.left(lanes)
        counts = await store.counts()  # after the look: whatever it found ended is counted
        ended = {str(state): counts.counters[state] for state in sorted(TERMINAL)}
        delayed = counts.states[State.DELAYED]
        tell(Left(left, ended, delayed, None if due_in is None else due_in / 1000, unserved))
        return EVERY

    return Duty("burst", turn)
