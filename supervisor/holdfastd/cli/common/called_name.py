"""The name by which this command was called, also in the commands that its messages name."""

from __future__ import annotations

import sys

NAMES = ("supervisor", "holdfast")  # of this command
COMMANDS = (
    *(
        "batches",
        "check",
        "completion",
        "config",
        "control",
        "dead",
        "db",
        "demo",
        "dispatch",
        "doctor",
        "events",
        "init",
    ),
    *(
        "lanes",
        "queue",
        "quiet",
        "recover",
        "reload",
        "resume",
        "scale",
        "schedules",
        "service",
        "set",
        "start",
        "stats",
    ),
    *("status", "statuses", "stop", "store", "submit", "tasks", "tell", "top", "unset", "version", "why", "work"),
    *("web", "web-user", "workers", "COMMAND"),
)
_NO_ARTICLE = "(?<!the )(?<!The )(?<!a )(?<!A )"  # prose tells of the supervisor, not of its commands


def command_name() -> str:
    """The name by which this command was called; `supervisor` where it was called otherwise."""
    name = sys.argv[0].rpartition("/")[2]
    return name if name in NAMES else NAMES[0]


def as_called(text: str) -> str:
    """The text with this name in the commands that it tells the user to call."""
    name = command_name()
    if name == NAMES[0]:
        return text
    import re  # seldom needed here

    return re.sub(rf"{_NO_ARTICLE}\b{NAMES[0]} (?=({'|'.join(COMMANDS)})\b)", f"{name} ", text)
