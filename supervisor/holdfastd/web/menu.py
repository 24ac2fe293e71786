"""The pages that every page links to, in their order."""

from __future__ import annotations

from typing import NamedTuple


class MenuEntry(NamedTuple):
    """`key` goes there, after g; `others`: paths of other pages under this entry."""

    path: str
    title: str
    key: str
    others: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """True for the pages under this entry."""
        return path in (self.path, *self.others) or (path.startswith(f"{self.path.rstrip('/')}/") and self.path != "/")


MENU = (
    MenuEntry("/", "Overview", "o"),
    MenuEntry("/lanes", "Lanes", "l", ("/lane",)),
    MenuEntry("/tasks", "Tasks", "t", ("/task", "/bulk")),
    MenuEntry("/handlers", "Handlers", "h", ("/handler", "/submit")),
    MenuEntry("/workers", "Workers", "w", ("/stacks",)),
    MenuEntry("/schedules", "Schedules", "s", ("/schedule",)),
    MenuEntry("/batches", "Batches", "b", ("/batch",)),
    MenuEntry("/dead", "Dead letters", "d"),
    MenuEntry("/unreadable", "Unreadable", "u"),
    MenuEntry("/webhooks", "Webhooks", "k"),
    MenuEntry("/events", "Events", "e"),
    MenuEntry("/activity", "Activity", "a"),
)
