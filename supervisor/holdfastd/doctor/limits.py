"""The limits on processes, descriptors and memory, against what so many workers need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfastd.doctor.finding import Finding, Look

OTHERS = 10  # processes and threads beside the workers: parent, steward, the embedded store with its threads
PARENTS_FILES = 64  # descriptors of the parent, beside those for each child
FILES_A_CHILD = 2  # a channel and a pidfd
CHILDS_FILES = 64  # of a worker, beside its connections
WORKER_BYTES = 16 << 20  # an idle worker; what the handler needs comes on top
OTHERS_BYTES = 48 << 20
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Need:
    """What is to run. `threads` of one worker beside its loop: those of a handler that runs in threads."""

    workers: int
    connections: int
    threads: int


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """Of the supervisor if it is `running`, else of this command. None: there is no such limit, or it is not seen.

    `files` and `processes` (of the user, who has `processes_now`) are soft limits; the others are the control group's.
    """

    files: int | None
    processes: int | None
    processes_now: int
    group_processes: int | None
    group_processes_now: int
    group_memory: int | None
    running: bool = False

    @property
    def whom(self) -> str:
        return "the supervisor" if self.running else "this command"


def judge(limits: LimitFacts, need: Need) -> Iterator[Finding]:
    yield from _judge_files(limits, need)
    user = Look("limits", f"processes of the user (RLIMIT_NPROC) of {limits.whom}")
    group = Look("limits", f"processes of the control group (pids.max) of {limits.whom}")
    fix = "raise LimitNPROC= in the unit, or ulimit -u"
    taken = 0 if limits.running else limits.processes_now  # of one that runs, they are those that are needed
    yield from _judge_processes(user, limits.processes, taken, need, fix)
    fix = "raise TasksMax= in the unit, or the container's limit"
    taken = 0 if limits.running else limits.group_processes_now
    yield from _judge_processes(group, limits.group_processes, taken, need, fix)
    yield from _judge_memory(limits, need)


def _judge_files(limits: LimitFacts, need: Need) -> Iterator[Finding]:
    look = Look("limits", f"open files (RLIMIT_NOFILE) of {limits.whom}")
    wanted = max(PARENTS_FILES + FILES_A_CHILD * need.workers, CHILDS_FILES + need.connections)
    if limits.files is None or limits.files >= wanted:
        yield look.ok(f"{_limit(limits.files)}; --workers {need.workers} needs {wanted}")
    else:
        found = f"{limits.files}, and --workers {need.workers} needs {wanted}"
        yield look.problem(found, f"set LimitNOFILE={2 * wanted} in the unit, or ulimit -n {2 * wanted}")


def _judge_processes(look: Look, limit: int | None, taken: int, need: Need, fix: str) -> Iterator[Finding]:
    """A fork that fails is tried again, so a tight limit shows as workers that never come."""
    if limit is None:
        yield look.ok("no limit")
        return
    least = need.workers + OTHERS
    most = least + need.workers * need.threads
    found = f"{limit}, of which {taken} are taken; --workers {need.workers} needs {least}"
    if taken + least > limit:
        yield look.problem(found, fix)
    elif taken + most > limit:
        yield look.warning(f"{found}, and {most} with the threads that the handler runs in", fix)
    else:
        yield look.ok(found)


def _judge_memory(limits: LimitFacts, need: Need) -> Iterator[Finding]:
    look = Look("limits", f"memory of the control group (memory.max) of {limits.whom}")
    if limits.group_memory is None:
        yield look.ok("no limit")
        return
    wanted = OTHERS_BYTES + WORKER_BYTES * need.workers
    found = (
        f"{limits.group_memory // MEBIBYTE} MiB; --workers {need.workers} needs about {wanted // MEBIBYTE} MiB "
        "while idle, and the handler's own memory comes on top"
    )
    if wanted > limits.group_memory:
        yield look.problem(found, "raise MemoryMax= in the unit, or the container's limit, or run fewer workers")
    elif 2 * wanted > limits.group_memory:
        yield look.warning(found, "raise MemoryMax= in the unit, or the container's limit, or run fewer workers")
    else:
        yield look.ok(found)


def _limit(value: int | None) -> str:
    return "no limit" if value is None else str(value)
