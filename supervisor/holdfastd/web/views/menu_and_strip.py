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
from holdfastd.doctor.finding import Finding, Level
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

    def is_above(self, path: str, query: Mapping[str, str]) -> bool:
        """True if the page with this path and query is under this entry, and not the page of the entry itself."""
        return self.covers(path, query) and path != self.path.partition("?")[0]


class MenuGroup(NamedTuple):
    title: str
    entries: tuple[MenuEntry, ...]


WAITS_FOR_ANSWER = str(State.INPUT_REQUIRED)

MENU = (
    MenuGroup("", (MenuEntry("/", "Overview", "o", "overview", ("/checks",)),)),
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
    """A form with one button, which repairs a problem."""

    path: str
    title: str
    fields: dict[str, str]


class _Way(NamedTuple):
    """Says for a check of `supervisor doctor` which page to link to, and what repairs the problem. `look`: a regular
    expression for the name of the check. In the other fields `{}` stands for what the group in `look` has matched, for
    example the lane."""

    look: str
    title: str
    place: str
    look_at: str
    action: tuple[str, str, str] | None = None  # path, title, field of the name


_RESUME_LANE = "/lanes/resume"
_RESUME_HOSTS = "/hosts/resume"
_WAYS = (  # the most harmful first
    _Way(r"deaths", "Workers die", "/workers", "See deaths"),
    _Way(r"workers of all hosts", "Workers are silent", "/workers", "See workers"),
    _Way(r"stewards", "Workers have no steward", "/workers", "See workers"),
    _Way(r"state", "The supervisor of this host", "/workers", "See workers"),
    _Way(r"workers of lane (.+)", "Nobody serves lane {}", "/lane?name={}", "See lane"),
    _Way(r"handler .+ in lane (.+)", "No worker has the handler", "/lane?name={}", "See lane"),
    _Way(r"a default handler in lane (.+)", "No worker has a default handler", "/lane?name={}", "See lane"),
    _Way(r"quarantine", "Suspects wait", "/workers", "See workers"),
    _Way(r"dead letters", "Dead letters", "/dead", "Look at them"),
    _Way(r"pause of lane (.+)", "Lane {} is paused", "/lane?name={}", "See lane", (_RESUME_LANE, "Resume {}", "lane")),
    _Way(r"quiet hosts", "All hosts claim nothing", "/workers", "See workers", (_RESUME_HOSTS, "Resume all hosts", "")),
    _Way(r"quiet host (.+)", "Host {} claims nothing", "/workers", "See workers", (_RESUME_HOSTS, "Resume {}", "host")),
    _Way(r"halted hosts?(?: .+)?", "Hosts are halted", "/workers", "See workers"),
    _Way(r"waiting tasks", "Tasks wait long", "/tasks?state=submitted", "See tasks"),
    _Way(r"unreadable entries", "Unreadable entries", "/unreadable", "Look at them"),
    _Way(r"lane (.+)", "Lane {}", "/lane?name={}", "See lane"),
    _Way(r"schedule (.+)", "Schedule {}", "/schedule?id={}", "See schedule"),
    _Way(r"clocks|versions", "Hosts differ", "/workers", "See workers"),
)
_SUBJECTS = {"redis": "Redis", "postgresql": "PostgreSQL"}  # other checks: the page of all checks says what to do


@dataclass(frozen=True, slots=True)
class Wrong:
    """A finding with its page and its remedy. `level`: as in the finding. `rank`: a lower one does more harm. Findings
    about the Redis server itself, such as its slow log, come last."""

    rank: int
    level: str
    title: str
    found: str
    fix: str
    place: str
    look_at: str
    action: RemedyButton | None = None

    @classmethod
    def of(cls, finding: Finding) -> Wrong:
        level, found, fix = str(finding.level), finding.found, finding.fix
        for rank, way in enumerate(_WAYS):
            if match := re.fullmatch(way.look, finding.look):
                name = match[1] if match.groups() else ""
                quoted = urlencode({"": name})[1:]
                title, place = way.title.format(name), way.place.format(quoted)
                return cls(rank, level, title, found, fix, place, way.look_at, _button(way, name))
        subject = _SUBJECTS.get(finding.subject, finding.subject.capitalize())
        title, last = f"{subject}: {finding.look}", finding.look == "slow log"
        return cls(len(_WAYS) + last, level, title, found, fix, f"/checks#{anchor_of(finding)}", "What to do")


def _button(way: _Way, name: str) -> RemedyButton | None:
    if way.action is None:
        return None
    path, title, field_name = way.action
    return RemedyButton(path, title.format(name), {field_name: name} if field_name else {})


def anchor_of(finding: Finding) -> str:
    """The anchor of a check on the page of all checks."""
    return re.sub(r"[^a-z0-9]+", "-", f"{finding.subject} {finding.look}".lower())


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a page. `wrong`: the findings, the worst first. `waits`: the numbers in the menu, by the icon of the
    entry. `says`: the line that the page shows if nothing is wrong."""

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

    @property
    def summary(self) -> str:
        """The number of findings, for a page that shows them all: `2 problems, 4 warnings`."""
        problems = sum(each.level == Level.PROBLEM for each in self.wrong)
        numbers = (problems, "problem"), (len(self.wrong) - problems, "warning")
        return ", ".join(counted(number, word) for number, word in numbers if number)

    def tone(self, entry: MenuEntry) -> str:
        """The colour of the number beside an entry of the menu. The number of lanes is red if work stands still."""
        stops = entry.icon == "lanes" and any(each.level == Level.PROBLEM for each in _of_lanes(self.wrong))
        return "bad" if stops else entry.level


_AWAY = "The store does not answer", "this page shows nothing until it does", ""
AWAY = Frame((Wrong(0, "problem", *_AWAY, "/", "Try again"),))


async def frame_of(request: Request) -> Frame:
    """The present frame of a page (its menu, and the line about problems). It is made from findings and counts that are
    kept for some seconds."""
    problems: CurrentProblems = request.app.state.problems
    counts: QueueCounts = request.app.state.counts
    try:
        found, numbers = await problems.wrong(), await counts.read()
    except HoldfastError:
        return AWAY
    wrong = in_order(map(Wrong.of, found))
    return Frame(wrong, _waits(numbers, wrong), f"Nothing is wrong. {_work(numbers)}")


def in_order(wrong: Iterable[Wrong]) -> tuple[Wrong, ...]:
    """The findings in order: problems before warnings, the most harmful first."""
    return tuple(sorted(wrong, key=lambda each: (each.level != Level.PROBLEM, each.rank)))


def _waits(counts: Counts, wrong: tuple[Wrong, ...]) -> dict[str, int]:
    asks = counts.states.get(State.INPUT_REQUIRED, 0)  # those that the page lists
    lanes = len({each.place for each in _of_lanes(wrong)})
    return {"dead": counts.dead, "unreadable": counts.unreadable, "questions": asks, "lanes": lanes}


def _of_lanes(wrong: tuple[Wrong, ...]) -> list[Wrong]:
    """The findings whose page is that of a lane."""
    return [each for each in wrong if each.place.startswith("/lane?")]


def _work(counts: Counts) -> str:
    if not counts.workers:
        return "No worker runs: supervisor start."
    runs, waits = (counted(counts.states.get(state, 0), "task") for state in (State.WORKING, State.SUBMITTED))
    return f"{counted(counts.workers, 'worker')}; {runs} running, {waits} waiting."


def state_of(request: Request) -> Frame:
    """The frame (menu and line about problems) that was read for the page of this request. An empty frame if none was
    read."""
    return getattr(request.state, "frame", Frame())
