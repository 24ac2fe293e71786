"""What a child died of, from its wait status and what was known of it, and whether its tasks are charged with it.

A charge counts towards a task's dead letter. What the operator or the parent's own order ended is not charged; what
ended by itself is, as the task it held may be what killed it.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum

from holdfast.exits import ChildExit
from holdfastd.core.slots import Child, ChildKind, StopStage, Why


class Reason(StrEnum):
    REQUESTED = "requested"
    RECYCLED = "recycled"
    BOOT_FAILURE = "boot failure"
    EXIT = "exit"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out of memory"
    HUNG = "hung"
    HALTED = "stopped"
    FENCED = "fenced"
    STUCK = "stuck"
    ORPHANED = "orphaned"


EXPECTED = frozenset({Reason.REQUESTED, Reason.RECYCLED})
UNCHARGED = EXPECTED | {Reason.BOOT_FAILURE, Reason.FENCED, Reason.ORPHANED, Reason.HALTED}

_BY_EXIT: dict[int, Reason] = {
    ChildExit.BOOT_FAILED: Reason.BOOT_FAILURE,
    ChildExit.FENCED: Reason.FENCED,
    ChildExit.STUCK: Reason.STUCK,
    ChildExit.ORPHANED: Reason.ORPHANED,
}
_BY_ORDER = {
    Why.STOP: Reason.REQUESTED,
    Why.SCALE: Reason.REQUESTED,
    Why.RELOADED: Reason.REQUESTED,
    Why.RECYCLED: Reason.RECYCLED,
    Why.HUNG: Reason.HUNG,
    Why.BOOT: Reason.BOOT_FAILURE,
    Why.HALTED: Reason.HALTED,
}
_PRESSED = frozenset({-signal.SIGTERM, -signal.SIGABRT, -signal.SIGKILL})


@dataclass(frozen=True, slots=True)
class Cause:
    reason: Reason
    detail: str = ""

    @property
    def charged(self) -> bool:
        return self.reason not in UNCHARGED

    @property
    def ordered(self) -> bool:
        """An order has caused it, or the worker left of itself."""
        return self.reason in EXPECTED

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


def classify(child: Child, status: int, out_of_memory: bool) -> Cause:
    """`status`: the exit code, or minus the signal; `out_of_memory`: the kernel killed for memory just now."""
    if child.leaving is not None and _was_ordered(child, status):
        return Cause(_BY_ORDER[child.leaving.why], _order_detail(child, child.leaving.why, status))
    if child.boot_error is not None:
        return Cause(Reason.BOOT_FAILURE, child.boot_error.error)
    if status == -signal.SIGKILL and out_of_memory:
        return Cause(Reason.OUT_OF_MEMORY, "killed by the kernel")
    if status < 0:
        return Cause(Reason.SIGNAL, _signal_name(-status))
    if status == ChildExit.OK and child.drained:
        return Cause(Reason.REQUESTED, _own_accord(child))
    return Cause(_BY_EXIT.get(status, Reason.EXIT), f"status {status}")


def _own_accord(child: Child) -> str:
    return "no suspect waits" if child.slot.kind is ChildKind.QUARANTINE else "drained by a signal of its own"


def _was_ordered(child: Child, status: int) -> bool:
    """An order explains a clean exit, and a signal only if the parent has sent it."""
    assert child.leaving is not None
    if status == ChildExit.OK:
        return True
    pressed = child.leaving.stage >= StopStage.ABORTING or status == -signal.SIGTERM
    return pressed and status in _PRESSED


def _order_detail(child: Child, why: Why, status: int) -> str:
    told = child.worn if why is Why.RECYCLED else str(why)
    return told if status == ChildExit.OK else f"{told}, {_signal_name(-status)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
