"""Exit statuses of the command line and the service (those of sysexits.h where one fits), and of child processes."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses of the `supervisor` command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 69
    BUG = 70
    RUNNING = 73
    OUTPUT = 74
    CUT_OFF = 75
    PERMISSION = 77
    CONFIG = 78
    INTERRUPTED = 130  # as a shell reports an end by SIGINT
    READ_NO_MORE = 141  # as a shell reports an end by SIGPIPE: the command may have done a part of its work

    @property
    def meaning(self) -> str:
        """The text for this status in help and documentation."""
        return _MEANINGS[self]

    @classmethod
    def listed(cls) -> str:
        """All exit statuses in one sentence."""
        return "; ".join(f"{status.value} {status.meaning}" for status in cls)


_MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "failed",
    Exit.USAGE: "usage",
    Exit.UNAVAILABLE: "the store cannot be reached",
    Exit.BUG: "a bug",
    Exit.RUNNING: "another supervisor runs in this runtime directory",
    Exit.OUTPUT: "done, but standard output could not be written",
    Exit.CUT_OFF: "ended with tasks unfinished: by a drain, or by submit --wait-timeout",
    Exit.PERMISSION: "no permission",
    Exit.CONFIG: "configuration, or a handler that cannot be booted",
    Exit.INTERRUPTED: "interrupted",
    Exit.READ_NO_MORE: "standard output was closed by its reader",
}


class ChildExit(IntEnum):
    """Exit statuses with which a child process tells its parent why it ended."""

    OK = 0  # drained, or told to leave
    BUG = 70
    BOOT_FAILED = 78
    FENCED = 82  # the store called it dead: another process owns its tasks by now
    STUCK = 83  # a thread would not stop: its task can settle only after the end of the process
    UNAVAILABLE = 69  # preflight: the store cannot be reached
    ORPHANED = 86  # the parent is gone
    NOT_SHAREABLE = 87  # a loader: the import of the handler has effects that do not survive a fork
