"""Finds the cause of a child's death from its wait status. The cause decides whether the death is a crash.

A crash counts for the tasks that the worker ran; after `max_crashes` a task becomes a dead letter. A death that the
operator or the parent has ordered is no crash. Any other death is one, because a running task may have caused it.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum

from holdfast.exits import ChildExit
from holdfastd.core.slots import Child, ChildKind, Leaving, StopStage, Why


class Reason(StrEnum):
    REQUESTED = "requested"
    RECYCLED = "recycled"
    BOOT_FAILURE = "boot failure"
    EXIT = "exit"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out of memory"
    HUNG = "hung"
    SIGSTOPPED = "stopped"
    FENCED = "fenced"
    STUCK = "stuck"
    ORPHANED = "orphaned"


EXPECTED = frozenset({Reason.REQUESTED, Reason.RECYCLED})
UNCHARGED = EXPECTED | {Reason.BOOT_FAILURE, Reason.FENCED, Reason.ORPHANED, Reason.SIGSTOPPED}

_BY_EXIT: dict[int, Reason] = {
    ChildExit.BOOT_FAILED: Reason.BOOT_FAILURE,
    ChildExit.FENCED: Reason.FENCED,
    ChildExit.STUCK: Reason.STUCK,
    ChildExit.ORPHANED: Reason.ORPHANED,
}
_BY_ORDER = {
    **dict.fromkeys((Why.STOP, Why.SCALE, Why.RELOADED), Reason.REQUESTED),
    Why.RECYCLED: Reason.RECYCLED,
    Why.HUNG: Reason.HUNG,
    Why.BOOT: Reason.BOOT_FAILURE,
    Why.SIGSTOPPED: Reason.SIGSTOPPED,
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
        """True if an order caused the death, or the worker left by itself."""
        return self.reason in EXPECTED

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


def classify(child: Child, status: int, out_of_memory: bool) -> Cause:
    """The cause of a death. `status`: the exit code, or the negative number of the signal. `out_of_memory`: the kernel
    has just killed a process for lack of memory."""
    if child.leaving is not None and _was_ordered(child.leaving, status):
        why = child.leaving.why
        detail = child.recycle_reason if why is Why.RECYCLED else str(why)
        return Cause(_BY_ORDER[why], detail if status == ChildExit.OK else f"{detail}, {_signal_name(-status)}")
    if child.boot_error is not None:
        return Cause(Reason.BOOT_FAILURE, child.boot_error.error)
    if status == -signal.SIGKILL and out_of_memory:
        return Cause(Reason.OUT_OF_MEMORY, "killed by the kernel")
    if status < 0:
        return Cause(Reason.SIGNAL, _signal_name(-status))
    if status == ChildExit.OK and child.drained:
        is_idle = child.slot.kind is ChildKind.QUARANTINE
        return Cause(Reason.REQUESTED, "no suspect waits" if is_idle else "drained by a signal sent to it")
    return Cause(_BY_EXIT.get(status, Reason.EXIT), f"status {status}")


def _was_ordered(leaving: Leaving, status: int) -> bool:
    """True if the child died because it was ordered to leave: a clean exit, or a signal that the parent has sent."""
    pressed = leaving.stage >= StopStage.ABORTING or status == -signal.SIGTERM
    return status == ChildExit.OK or (pressed and status in _PRESSED)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
