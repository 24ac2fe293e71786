"""Events as a person reads them: a sentence, a colour by meaning, and the page of the event's subject."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from holdfast.core.activity import Happening
from holdfast.core.trail import LAYOUTS, Chronicle, read_step
from holdfast.core.words import counted
from holdfast.core.worker_records import WorkerKind, WorkerRecord
from holdfast.why import history
from holdfast.why.times import moment, span

_INCARNATION = re.compile(r"\bworker ([0-9a-f]{32})\b")
_NAMED = re.compile(r"(\bworker (?:[0-9a-f]{8}|\d+(?: on [^ ,;]+)?)|\btask [\w.-]*@[\w.-]+)", re.ASCII)
_KNOWN = history.TaskHistory()

# Colours by meaning, as in docs/dashboard-design.md. Other events are grey.
_TONES = {
    "runs": "claimed worker-registered",
    "good": "cleared ready resumed lane-resumed host-resumed host-halt-ended schedule-resumed webhook-told batch-ended",
    "bad": "crashed recovered retry dead-letter unserved expired refused parent-failed suspected worker-died "
    "webhook-dropped schedule-missed",
    "warn": "suspended pause-asked unknown-handler lane-paused host-quiet host-halted schedule-paused worker-doubts "
    "schedule-skipped",
    "later": "delayed waits sleep defer message-waits schedule-waits",
}
_TONE_OF = {event: tone for tone, events in _TONES.items() for event in events.split()}
_ENDS = {"completed": "good", "input-required": "warn", "auth-required": "warn"}  # others have failed

_BOUNDS = {
    "limit": "limit of running tasks",
    "keys": "limit per concurrency key",
    "rate": "rate",
    "name": "rate of the handler",
    "end": "end that producers push at",
}
_PAGES = {
    "worker-": "/workers",
    "host-": "/workers",
    "webhook-set": "/webhooks",
    "lane-": "/lane?name={}",
    "schedule-": "/schedule?id={}",
    "batch-": "/batch?id={}",
}
NOT_OF_TASKS = (*_PAGES, "requested")


def tone(event: str, detail: str) -> str:
    """The colour of an event: runs, good, bad, warn, later or rest."""
    if event == "settled":
        return _ENDS.get(detail.partition(" ")[0], "bad")
    if event == "schedule-ended":
        return _ENDS.get(detail.rpartition(" ")[2], "bad")
    return _TONE_OF.get(event, "rest")


def label(event: str, detail: str) -> str:
    """The word on the badge of an event: the state for the end of a turn, else the kind of the event."""
    return detail.partition(" ")[0] if event == "settled" and detail else event


def page_of(event: str, subject: str) -> str:
    """The page of the event's subject; empty if it has none, such as a removed task."""
    place = next((page for start, page in _PAGES.items() if event.startswith(start)), "/task?id={}")
    gone = event in ("removed", "schedule-removed", "requested") or not subject
    return "" if gone else place.format(quote(subject, safe=""))


def parts(text: str) -> list[tuple[str, str]]:
    """A sentence in parts, each with the page that it leads to: a worker, or the task of a schedule."""
    pieces = enumerate(_NAMED.split(text))
    return [(each, _page_named(each) if place % 2 else "") for place, each in pieces if each]


def _page_named(text: str) -> str:
    kind, _, name = text.partition(" ")
    return "/workers" if kind == "worker" else f"/task?id={quote(name, safe='')}"


def sentence(event: str, detail: str, at_ms: int = 0, workers: Mapping[str, str] = {}) -> str:
    """An event as a sentence that stands beside its badge, in the words of `supervisor why`. A word that the badge has
    already is left out. `detail`: without secrets. `at_ms`: the moment of the event. `workers`: names of workers, by
    incarnation."""
    if event in LAYOUTS:
        step = read_step(f"{at_ms} {event} {detail}")
        if event == "delayed" and step.due_ms:
            return f"for {span(step.due_ms - at_ms)}"
        words = history.words(step, _KNOWN).removesuffix(", delivery 1").removeprefix("turn 1 ")
        found = _INCARNATION.sub(lambda match: workers.get(match[1]) or f"worker {match[1][: history.SHOWN]}", words)
    else:
        found = _WORDS[event](detail) if event in _WORDS else detail
    badge = label(event, detail)
    verb = f"{badge} " if badge.endswith("ed") else ""  # not the noun of "step 6 is recorded"
    return "" if found == badge else found.removeprefix(f"{badge}: ").removeprefix(verb).removesuffix(f" {badge}")


def brief_names(workers: Mapping[str, WorkerRecord | None]) -> dict[str, str]:
    """Short names of workers, by incarnation: `worker 1`. With workers of several hosts: `worker 1 on web-2`. A worker
    without a record has no name."""
    known = {each: worker for each, worker in workers.items() if worker}
    is_one_host = len({worker.host for worker in known.values()}) == 1
    return {
        each: f"{'quarantine ' if worker.kind == WorkerKind.QUARANTINE else ''}worker {worker.slot}"
        f"{'' if is_one_host else f' on {worker.host}'}"
        for each, worker in known.items()
    }


def worker_of(event: Happening) -> str:
    """The incarnation of the worker that an event names; empty if it names none."""
    if event.event.startswith("worker-"):
        return event.subject
    return read_step(f"0 {event.event} {event.detail}").incarnation if event.event in ("claimed", "settled") else ""


def ran_by(event: Happening, workers: Mapping[str, str]) -> str:
    """Which worker ran the turn that an event ends: `by worker 1`. Empty for another event."""
    worker = worker_of(event) if event.event == "settled" else ""
    return f"by {workers.get(worker) or f'worker {worker[: history.SHOWN]}'}" if worker else ""


# Events of one run of a task are one row: from the newer event to those that join its row if they come just before it.
BEGINS = ("accepted", "promoted", "ready")
JOINS = {
    "claimed": BEGINS,
    "step": ("step", "claimed"),
    "settled": ("step", "claimed"),
    "retry": ("step", "claimed"),
    "delayed": ("retry",),
}


@dataclass(frozen=True, slots=True)
class EventRow:
    """A row of the list of events. `events`: of one task, the newest first. `hide` removes secrets. `workers`: names of
    workers, by incarnation."""

    events: list[Happening]
    hide: Callable[[str], str]
    workers: Mapping[str, str]

    @property
    def head(self) -> Happening:
        """The event that the row shows: a retry rather than the delay that belongs to it."""
        return next((each for each in self.events if each.event != "delayed"), self.events[0])

    @property
    def claim(self) -> Happening | None:
        return next((each for each in self.events if each.event == "claimed"), None)

    @property
    def by(self) -> str:
        """Which worker has claimed the task, and how long the task waited before; empty without the claim."""
        claim, first = self.claim, self.events[-1]
        if claim is None:
            return ""
        waited = f"; waited {span(claim.at_ms - first.at_ms)}" if first.event in BEGINS else ""
        return self._sentence(claim) + waited

    @property
    def words(self) -> str:
        """The sentence of the head, then how long the run took, and on which worker. The length is known if
        the claim is among the events."""
        head, claim, newest = self.head, self.claim, self.events[0]
        if head is claim:
            return self.by
        took = f"in {span(head.at_ms - claim.at_ms)} " if claim and head.event != "step" else ""
        again = f"again in {self._sentence(newest).removeprefix('for ')}" if head is not newest else ""
        by = self.by or ran_by(head, self.workers)
        return "; ".join(filter(None, (self._sentence(head), took + by, again)))

    def _sentence(self, event: Happening) -> str:
        return sentence(event.event, self.hide(event.detail), event.at_ms, self.workers)


def rows(
    events: Iterable[Happening], hide: Callable[[str], str], workers: Mapping[str, str], *, is_folded: bool
) -> list[EventRow]:
    """The rows of these events, which come newest first. `is_folded`: events of one run share a row."""
    found, of_task = list[EventRow](), dict[str, EventRow]()
    for each in events:
        newer = of_task.get(each.subject) if is_folded else None
        if newer and each.event in JOINS.get(newer.events[-1].event, ()):
            newer.events.append(each)
        else:
            of_task[each.subject] = row = EventRow([each], hide, workers)
            found.append(row)
    return found


def _fired(what: str) -> Callable[[str], str]:
    def words(detail: str) -> str:
        planned, task, rest = [*detail.split(" ", 2), "", ""][:3]
        when = f" for {moment(int(planned))}" if planned.isdigit() and not task else ""
        return f"{what}{when}{f': task {task}' if task else ''}{f', {rest}' if rest.strip() else ''}"

    return words


def _bound(detail: str) -> str:
    name, _, value = detail.partition(" ")
    return f"its {_BOUNDS.get(name, name)} is {value or 'that of the settings'}"


def _told_by(what: str) -> Callable[[str], str]:
    def words(detail: str) -> str:
        by, _, reason = detail.partition(" ")
        return f"{what} by {by}{history.because(reason)}"

    return words


def _died(detail: str) -> str:
    cause, _, held = detail.rpartition(" ")
    return f"died: {cause}; it had {counted(int(held), 'task')}" if held.isdigit() else f"died: {detail}"


def _registered(detail: str) -> str:
    host, _, pid = detail.rpartition(" ")
    return f"began on {host}, pid {pid}"


_WORDS: dict[str, Callable[[str], str]] = {
    "accepted": lambda detail: f"accepted: {history.ORIGINS.get(detail, f'submitted by {detail}')}",
    "removed": lambda _: "removed",
    "worker-registered": _registered,
    "worker-died": _died,
    "webhook-set": lambda _: "the queue's webhook was set or removed",
    "webhook-moved": lambda _: "its webhook has another URL",
    "webhook-told": lambda _: "its webhook was delivered",
    "webhook-dropped": lambda why: f"its webhook was given up: {why}",
    "lane-paused": lambda why: f"paused{history.because(why)}",
    "lane-resumed": lambda _: "resumed",
    "lane-bound": _bound,
    "host-quiet": _told_by("quieted"),
    "host-resumed": _told_by("resumed"),
    "batch-sealed": lambda detail: f"sealed with {detail.replace(' ', ' tasks by ', 1)}",
    "batch-ended": lambda detail: f"ended with {detail} tasks",
    **{f"schedule-{what}": _fired(what.replace("-", " ")) for what in Chronicle},
}
