"""The pages that every page links to, in their order."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """`key` goes there, after g; `one`: the path of the page of one of its things."""

    path: str
    title: str
    key: str
    one: str = ""

    def covers(self, path: str) -> bool:
        """True for the pages under this entry."""
        return path in (self.path, self.one) or (path.startswith(f"{self.path.rstrip('/')}/") and self.path != "/")


MENU = (
    Entry("/", "Overview", "o"),
    Entry("/lanes", "Lanes", "l", "/lane"),
    Entry("/tasks", "Tasks", "t", "/task"),
    Entry("/handlers", "Handlers", "h"),
    Entry("/workers", "Workers", "w", "/stacks"),
    Entry("/schedules", "Schedules", "s", "/schedule"),
    Entry("/batches", "Batches", "b", "/batch"),
    Entry("/dead", "Dead letters", "d"),
    Entry("/unreadable", "Unreadable", "u"),
    Entry("/webhooks", "Webhooks", "k"),
    Entry("/events", "Events", "e"),
    Entry("/activity", "Activity", "a"),
)
