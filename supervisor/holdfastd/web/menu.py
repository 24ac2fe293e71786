"""The pages that every page links to, in their order."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    path: str
    title: str
    key: str  # goes there, after g


MENU = (
    Entry("/", "Overview", "o"),
    Entry("/lanes", "Lanes", "l"),
    Entry("/tasks", "Tasks", "t"),
    Entry("/handlers", "Handlers", "h"),
    Entry("/workers", "Workers", "w"),
    Entry("/schedules", "Schedules", "s"),
    Entry("/dead", "Dead letters", "d"),
    Entry("/unreadable", "Unreadable", "u"),
    Entry("/events", "Events", "e"),
    Entry("/activity", "Activity", "a"),
)
