"""Exit statuses: of the command line and the service (design: sysexits where one fits), and of child processes."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the `supervisor` command exits with."""

    OK = 0
    FAILED = 1  # the operation did not succeed
    USAGE = 2
    UNAVAILABLE = 69  # the store cannot be reached
    BUG = 70
    RUNNING = 73  # another supervisor holds the runtime directory
    OUTPUT = 74  # what was asked is done, but standard output could not be written
    CUT_OFF = 75  # drained, but some tasks were released unfinished
    PERMISSION = 77
    CONFIG = 78  # bad configuration, or the handler cannot be booted
    GAVE_UP = 79


class ChildExit(IntEnum):
    """What a child exits with; the parent reads its meaning from here."""

    OK = 0  # drained, or told to leave
    BUG = 70
    BOOT_FAILED = 78
    FENCED = 82  # told DEAD: another process owns its tasks by now
    STUCK = 83  # a thread would not stop: the process had to end for its task to settle
    UNAVAILABLE = 69  # preflight: the store cannot be reached
    ORPHANED = 86  # the parent is gone
