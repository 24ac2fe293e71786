"""Hosts that are quiet or halted: their workers finish their running tasks and claim none."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.words import duration

ALL_HOSTS = "*"
_HALT = "halt "


@dataclass(frozen=True, slots=True)
class Quiet:
    """An order to a host, or to ALL_HOSTS, to claim no tasks: its moment (ms), its author and its reason.

    With `is_halt`, the host's supervisors also create no tasks of schedules, and `since_ms` also identifies the halt:
    each halt has a higher value than all halts before it.
    """

    host: str
    since_ms: int
    by: str
    reason: str
    is_halt: bool = False

    @property
    def is_all(self) -> bool:
        return self.host == ALL_HOSTS

    @property
    def ordered(self) -> str:
        """The order in words: its author and its reason. If the reason already names the author, the reason alone."""
        return self.reason if self.by in self.reason else f"by order of {self.by} ({self.reason})"

    def counts_for(self, host: str) -> bool:
        """True if the order is for this host."""
        return self.host in (ALL_HOSTS, host)


@dataclass(frozen=True, slots=True)
class HaltScope:
    """The halts that a process must obey: halts of its host and halts of all hosts, if their number is above `seen`.

    `seen`: for a process that may start during a halt, the number of the last halt; 0: every halt counts. `ends`: the
    process ends at such a halt, and logs this itself.
    """

    host: str
    seen: int = 0
    ends: bool = False


@dataclass(frozen=True, slots=True)
class QuietOrder:
    """The store's answer to an order. `is_new`: the same order was not given before. `workers`: the number of workers
    that the order concerns."""

    is_new: bool
    workers: int


def halt_mark(host: str) -> str:
    """The name under which the store keeps the halt of this host (ALL_HOSTS: of all hosts), among the quiet hosts."""
    return f"{_HALT}{host}"


def halted_host(mark: str) -> str | None:
    """The host of a halt, from the name under which the store keeps it; None if the name is that of a quiet host."""
    return mark.removeprefix(_HALT) if mark.startswith(_HALT) else None


# Describes quiet and halted hosts for people.


def quiet_line(mark: Quiet, now_ms: int, seen: int = 0) -> str:
    """One line that says which host is quiet or halted, for how long, by whom, and how to end this. `seen`: halts up to
    this number do not apply to this process; 0: all halts apply."""
    ago = duration(max(0, now_ms - mark.since_ms) / 1000)
    spite = "; this process runs nevertheless" if mark.is_halt and mark.since_ms <= seen else ""
    word = "HALTED" if mark.is_halt else "QUIET"
    return f"{word} for {ago}: {who(mark)}; {mark.ordered}; to end it: {remedy(mark)}{spite}"


def who(mark: Quiet) -> str:
    if mark.is_halt:
        of = "of any host" if mark.is_all else f"of host {mark.host}"
        return f"no pool {of} claims a task or makes a fire"
    return "no host claims a task" if mark.is_all else f"host {mark.host} claims no task"


def remedy(mark: Quiet) -> str:
    """The command that ends the quiet or the halt."""
    command = "supervisor control RESUME" if mark.is_halt else "supervisor resume"
    return command if mark.is_all else f"{command} --host {mark.host}"
