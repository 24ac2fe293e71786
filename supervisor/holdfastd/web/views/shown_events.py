"""Events as a person reads them: a sentence, a colour by meaning, and the page of the event's subject."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from holdfast.core.trail import LAYOUTS, Chronicle, read_step
from holdfast.core.words import counted
from holdfast.why import history
from holdfast.why.times import moment

_INCARNATION = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24}\b")
_NAMED = re.compile(r"(\bworker [0-9a-f]{8}\b|\btask [\w.-]*@[\w.-]+)", re.ASCII)
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


def sentence(event: str, detail: str, at_ms: int = 0) -> str:
    """An event as a sentence that stands beside its badge, in the words of `supervisor why`. A word that the badge has
    already is left out. `detail`: without secrets. `at_ms`: the moment of the event."""
    if event in LAYOUTS:
        found = _INCARNATION.sub(r"\1", history.words(read_step(f"{at_ms} {event} {detail}"), _KNOWN))
    else:
        found = _WORDS[event](detail) if event in _WORDS else detail
    badge = label(event, detail)
    verb = f"{badge} " if badge.endswith("ed") else ""  # not the noun of "step 6 is recorded"
    return found.removeprefix(f"{badge}: ").removeprefix(verb).removesuffix(f" {badge}")


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
