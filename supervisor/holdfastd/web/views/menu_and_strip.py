"""The frame around every page: the menu with counts, and one line that says whether anything is wrong.

The line names the finding that does the most harm. It has a button that repairs the problem, or a link to its page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request

from holdfast.core.counts import Counts
from holdfast.core.task_states import State
from holdfast.core.words import counted
from holdfast.errors import HoldfastError
from holdfastd.doctor.finding import Finding
from holdfastd.web.queue.cached_reports import CurrentProblems, QueueCounts


class MenuEntry(NamedTuple):
    """An entry of the menu. `key`: after the key g it opens the page. `icon`: a name in icons.html. `others`: paths of
    other pages under this entry. `level`: colour of the number beside the entry: warn or bad."""

    path: str
    title: str
    key: str
    icon: str
    others: tuple[str, ...] = ()
    level: str = ""

    def covers(self, path: str, query: Mapping[str, str]) -> bool:
        """True if the page with this path and query is under this entry."""
        own, _, state = self.path.partition("?state=")
        if path == own == "/tasks":
            return (query.get("state") == WAITS_FOR_ANSWER) == bool(state)
        return path in (own, *self.others) or (own != "/" and path.startswith(f"{own}/") and not state)


class MenuGroup(NamedTuple):
    title: str
    entries: tuple[MenuEntry, ...]


WAITS_FOR_ANSWER = str(State.INPUT_REQUIRED)

MENU = (
    MenuGroup("", (MenuEntry("/", "Overview", "o", "overview"),)),
    MenuGroup(
        "Work",
        (
            MenuEntry("/tasks", "Tasks", "t", "tasks", ("/task", "/bulk")),
            MenuEntry("/handlers", "Handlers", "h", "handlers", ("/handler", "/submit")),
            MenuEntry("/lanes", "Lanes", "l", "lanes", ("/lane",), "warn"),
            MenuEntry("/schedules", "Schedules", "s", "schedules", ("/schedule",)),
            MenuEntry("/batches", "Batches", "b", "batches", ("/batch",)),
        ),
    ),
    MenuGroup(
        "Set aside",
        (
            MenuEntry(f"/tasks?state={WAITS_FOR_ANSWER}", "Questions", "q", "questions", (), "warn"),
            MenuEntry("/dead", "Dead letters", "d", "dead", (), "bad"),
            MenuEntry("/unreadable", "Unreadable", "u", "unreadable", (), "bad"),
        ),
    ),
    MenuGroup(
        "System",
        (
            MenuEntry("/workers", "Workers", "w", "workers", ("/stacks",)),
            MenuEntry("/webhooks", "Webhooks", "k", "webhooks"),
            MenuEntry("/events", "Events", "e", "events"),
            MenuEntry("/activity", "Activity", "a", "activity"),
        ),
    ),
)

ENTRIES = tuple(entry for group in MENU for entry in group.entries)


class RemedyButton(NamedTuple):
    """A form with one button."""

    path: str
    title: str
    fields: dict[str, str]


class _Way(NamedTuple):
    """For a check of `supervisor doctor`: the page to link to, and the remedy. `look`: a pattern for the name of the
    check. `{}` stands for the group in `look`, such as the lane."""

    look: str
    title: str
    place: str
    look_at: str
    action: tuple[str, str, str] | None = None  # path, title, field of the name


_WAYS = (  # the most harmful first
    _Way(r"workers of all hosts", "Workers are silent", "/workers", "Workers"),
    _Way(r"stewards", "Workers have no steward", "/workers", "Workers"),
    _Way(r"workers of lane (.+)", "Nobody serves lane {}", "/lane?name={}", "Lane"),
    _Way(r"handler .+ in lane (.+)", "No worker has the handler", "/lane?name={}", "Lane"),
    _Way(r"a default handler in lane (.+)", "No worker has a default handler", "/lane?name={}", "Lane"),
    _Way(r"dead letters", "Dead letters", "/dead", "Look at them"),
    _Way(r"pause of lane (.+)", "Lane {} is paused", "/lane?name={}", "Lane", ("/lanes/resume", "Resume {}", "lane")),
    _Way(r"(?:halted|quiet) hosts", "A host claims nothing", "/workers", "Workers"),
    _Way(r"waiting tasks", "Tasks wait long", "/tasks?state=submitted", "Tasks"),
    _Way(r"unreadable entries", "Unreadable entries", "/unreadable", "Look at them"),
    _Way(r"lane (.+)", "Lane {}", "/lane?name={}", "Lane"),
    _Way(r"schedule (.+)", "Schedule {}", "/schedule?id={}", "Schedule"),
    _Way(r"clocks|versions", "Hosts differ", "/workers", "Workers"),
)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A finding with its page and its remedy. `level`: `problem` or `warning`. `rank`: a lower one does more harm.
    Findings about the Redis server itself, such as its slow log, come last."""

    rank: int
    level: str
    title: str
    found: str
    fix: str
    place: str = ""
    look_at: str = ""
    action: RemedyButton | None = None

    @classmethod
    def of(cls, finding: Finding) -> Wrong:
        for rank, way in enumerate(_WAYS):
            if match := re.fullmatch(way.look, finding.look):
                name = match[1] if match.groups() else ""
                quoted = urlencode({"": name})[1:]
                action = way.action and RemedyButton(way.action[0], way.action[1].format(name), {way.action[2]: name})
                title, place = way.title.format(name), way.place.format(quoted)
                return cls(rank, str(finding.level), title, finding.found, finding.fix, place, way.look_at, action)
        return cls(
            len(_WAYS), str(finding.level), f"{finding.look[:1].upper()}{finding.look[1:]}", finding.found, finding.fix
        )


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a page. `wrong`: the findings, the worst first. `waits`: the numbers in the menu, by icon. `says`:
    the line that the page shows if nothing is wrong."""

    wrong: tuple[Wrong, ...] = ()
    waits: Mapping[str, int] = field(default_factory=dict[str, int])
    says: str = ""

    @property
    def first(self) -> Wrong | None:
        return self.wrong[0] if self.wrong else None

    @property
    def others(self) -> int:
        return max(0, len(self.wrong) - 1)

    @property
    def level(self) -> str:
        return self.wrong[0].level if self.wrong else "fine"

    @property
    def waiting(self) -> int:
        return sum(self.waits.values())


AWAY = Frame((Wrong(0, "problem", "The store does not answer", "this page shows nothing until it does", ""),))


async def frame_of(problems: CurrentProblems, counts: QueueCounts) -> Frame:
    """The present frame, made from findings and counts that are kept for some seconds."""
    try:
        found, numbers = await problems.read(), await counts.read()
    except HoldfastError:
        return AWAY
    wrong = in_order(map(Wrong.of, found))
    return Frame(wrong, _waits(numbers, wrong), f"Nothing is wrong. {_work(numbers)}")


def in_order(wrong: Iterable[Wrong]) -> tuple[Wrong, ...]:
    """The findings in order: problems before warnings, the most harmful first."""
    return tuple(sorted(wrong, key=lambda each: (each.level != "problem", each.rank)))


def _waits(counts: Counts, wrong: tuple[Wrong, ...]) -> dict[str, int]:
    asks = counts.states.get(State.INPUT_REQUIRED, 0)  # those that the page lists
    paused = sum(1 for each in wrong if each.action and each.action.path == "/lanes/resume")
    return {"dead": counts.dead, "unreadable": counts.unreadable, "questions": asks, "lanes": paused}


def _work(counts: Counts) -> str:
    if not counts.workers:
        return "No worker runs: supervisor start."
    runs, waits = (counted(counts.states.get(state, 0), "task") for state in (State.WORKING, State.SUBMITTED))
    return f"{counted(counts.workers, 'worker')}; {runs} running, {waits} waiting."


def state_of(request: Request) -> Frame:
    """The frame that was read for this request; an empty frame if none was."""
    return getattr(request.state, "frame", Frame())
