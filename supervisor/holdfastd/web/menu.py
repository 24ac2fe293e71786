"""The pages that every page links to, in their order."""

from __future__ import annotations

from typing import NamedTuple


class MenuEntry(NamedTuple):
    """`key` goes there, after g; `one`: the path of the page of one of its things."""

    path: str
    title: str
    key: str
    one: str = ""

    def covers(self, path: str) -> bool:
        """True for the pages under this entry."""
        return path in (self.path, self.one) or (path.startswith(f"{self.path.rstrip('/')}/") and self.path != "/")


MENU = (
    MenuEntry("/", "Overview", "o"),
    MenuEntry("/lanes", "Lanes", "l", "/lane"),
    MenuEntry("/tasks", "Tasks", "t", "/task"),
    MenuEntry("/handlers", "Handlers", "h", "/handler"),
    MenuEntry("/workers", "Workers", "w", "/stacks"),
    MenuEntry("/schedules", "Schedules", "s", "/schedule"),
    MenuEntry("/batches", "Batches", "b", "/batch"),
    MenuEntry("/dead", "Dead letters", "d"),
    MenuEntry("/unreadable", "Unreadable", "u"),
    MenuEntry("/webhooks", "Webhooks", "k"),
    MenuEntry("/events", "Events", "e"),
    MenuEntry("/activity", "Activity", "a"),
)
