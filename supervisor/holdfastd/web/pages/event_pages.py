"""The pages of events and of activity: what happened to tasks, and what operators changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.activity import Activity, Happening
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.trail import EVENTS
from holdfastd.web.live.event_feed import EventFeed, EventSelection
from holdfastd.web.queue.queue_access import queue_of, stream_position
from holdfastd.web.rendering import page
from holdfastd.web.views.shown_events import label, page_of, parts, rows, tone

LAST = 100  # events of a page
LAST_FOLDED = 250  # if the events of one run share a row
LOOKS = 8  # reads of the stream for one page
AT_ONCE = 250  # entries of one read; an entry may be an event of several tasks
USUAL = {  # kinds of events by the title of their filter
    "Failures": ("crashed", "retry", "dead-letter", "unserved", "expired", "refused", "parent-failed"),
    "Workers": ("worker-registered", "worker-died", "worker-doubts", "host-quiet", "host-resumed", "host-halted"),
    "Lanes": ("lane-paused", "lane-resumed", "lane-bound"),
    "Schedules": ("schedule-fired", "schedule-skipped", "schedule-missed", "schedule-paused", "schedule-resumed"),
    "Webhooks": ("webhook-told", "webhook-dropped"),
}
AT_ONCE_PLACED = 10  # entries of one read if the task of each event must be looked up


@dataclass(frozen=True, slots=True)
class FoundEvents:
    """A page of events, newest first. `newest`: the position of the stream's end. `before`: continues the list, empty
    on the last page."""

    events: list[Happening]
    newest: str
    before: str


async def events(request: Request) -> Response:
    selection = EventSelection.of(request.query_params)
    before = stream_position(request, "before")
    is_folded = not (selection.kinds or selection.task)
    found = await _found(request, selection, before, LAST_FOLDED if is_folded else LAST)
    places = request.app.state.feed.places
    await places.learn(found.events, LAST)
    await places.learn_workers(found.events)
    return page(
        request,
        "events.html",
        found=found,
        selection=selection,
        kinds=sorted(EVENTS),
        usual=USUAL,
        rows=rows(found.events, queue_of(request).redaction.text, places.workers, is_folded=is_folded),
        is_folded=is_folded,
        workers=places.workers,
        places=places.known,
        tone=tone,
        page_of=page_of,
        label=label,
        parts=parts,
        is_live=not before,
    )


async def _found(request: Request, selection: EventSelection, before: str, most: int) -> FoundEvents:
    store, feed = queue_of(request).store, request.app.state.feed
    assert isinstance(feed, EventFeed)
    size = AT_ONCE_PLACED if selection.needs_places else AT_ONCE
    events, newest = list[Happening](), ""
    for _ in range(LOOKS):
        looked = await store.events_before(before, size)
        newest = newest or (looked[0].position if looked else "0-0")
        if selection.needs_places:
            await feed.places.learn((each for each in looked if selection.concerns(each)), len(looked))
        for each in looked:
            if len(events) >= most and each.position != events[-1].position:
                return FoundEvents(events, newest, events[-1].position)
            if selection.matches(each, feed.places.known):
                events.append(each)
        before = looked[-1].position if looked else ""
        if not before:
            break
    return FoundEvents(events, newest, before)


# Activity: the changes that operators asked for by commands, pages, the API and the agent.

PAGE = 100
SEARCHED = 1000  # changes that are read for one page with a filter


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """Selects entries of Activity. A field is a text that the entry's field must contain; empty: any. `refused`: only
    changes that were refused."""

    who: str
    change: str
    subject: str
    refused: str

    @property
    def is_any(self) -> bool:
        return not (self.who or self.change or self.subject or self.refused)

    def admits(self, entry: Activity) -> bool:
        is_of = self.who in entry.who and self.change in entry.change and self.subject in entry.subject
        return is_of and (entry.is_refused or not self.refused)


# An entry as a sentence, made of the two parts of its name: `lanes/pause` of mail is "paused lane mail".

VERBS = {  # from the second part of a name to the verb of an order, and of a change that was made
    **{verb: (verb, f"{verb}ed") for verb in ("cancel", "seal", "limit", "clear", "recover", "clean", "halt")},
    **{verb: (verb, f"{verb}d") for verb in ("pause", "resume", "remove", "scale")},
    "retry": ("retry", "retried"),
    "submit": ("submit", "submitted"),
    "message": ("send a message to", "sent a message to"),
    "reset": ("reset the limits of", "reset the limits of"),
    "quiet": ("stop the claims of", "stopped the claims of"),
    "end-halt": ("end the halt of", "ended the halt of"),
    "set": ("set", "set"),
    "unset": ("unset", "unset"),
    "apply": ("apply a file of", "applied a file of"),
    "run": ("run", "ran"),
    "stacks": ("write the stacks of", "asked for the stacks of"),
    "begin": ("begin", "began"),
    "go-on": ("go on with", "went on with"),
    "stop": ("stop", "stopped"),
    "obliterate": ("delete", "deleted"),
    "remove-all": ("remove many", "removed many"),
    "retry-all": ("retry many", "retried many"),
}
NOUNS = {  # from the first part of a name to the noun for one thing and for all, and the page of one
    "tasks": ("task", "tasks", "/task?id={}"),
    "lanes": ("lane", "lanes", "/lane?name={}"),
    "handlers": ("handler", "handlers", "/handler?name={}"),
    "hosts": ("host", "all hosts", "/workers"),
    "workers": ("worker", "the workers", "/workers"),
    "schedules": ("schedule", "schedules", "/schedule?id={}"),
    "jobs": ("job", "jobs", "/schedule?id={}"),
    "batches": ("batch", "batches", "/batch?id={}"),
    "bulk": ("the change of many tasks", "changes of many tasks", "/bulk"),
    "dead": ("dead letter", "dead letters", "/dead"),
    "unreadable": ("unreadable entry", "unreadable entries", "/unreadable"),
    "webhooks": ("webhook", "webhooks", "/webhooks"),
    "queue": ("queue", "the queue", "/"),
}


class ChangeWords(NamedTuple):
    """An entry of Activity in words. `did`: the verb and the noun. `page`: the path of the page of the changed thing;
    empty if this thing is gone."""

    did: str
    page: str


def change_words(entry: Activity) -> ChangeWords:
    kind, _, verb = entry.change.partition("/")
    if kind not in NOUNS:
        return ChangeWords(entry.change, "")
    one, many, place = NOUNS[kind]
    asked, made = VERBS.get(verb, (verb, verb))
    did = f"asked to {asked}" if entry.is_refused else made
    if kind == "bulk" and verb in set(BulkVerb):
        return ChangeWords(f"{did} many tasks:", place)
    is_one = bool(entry.subject) and entry.subject != "*"
    is_gone = verb.startswith("remove") or entry.change.startswith("unreadable/") or ", " in entry.subject
    noun = one if is_one and not verb.endswith("-all") else many
    page = "" if is_gone or not is_one else place.format(quote(entry.subject, safe=""))
    return ChangeWords(f"{did} {noun}", page)


def whole_changes(entries: Sequence[Activity]) -> list[Activity]:
    """The entries, newest first, with the two entries of a finished change of many tasks in one: its filter and its
    counts."""
    ends = {entry.subject: entry for entry in entries if entry.change.removeprefix("bulk/") in set(BulkVerb)}
    begun = {entry.subject: entry for entry in entries if entry.change == "bulk/begin" and entry.subject in ends}
    kept = (entry for entry in entries if begun.get(entry.subject) is not entry)
    return [_with_filter(entry, begun.get(entry.subject)) for entry in kept]


def _with_filter(end: Activity, begun: Activity | None) -> Activity:
    filtered = begun.outcome.removeprefix("begun: ") if begun else ""
    return replace(end, outcome=f"{filtered}: {end.outcome.removeprefix('done: ')}") if filtered else end


async def activity(request: Request) -> Response:
    query = request.query_params
    wanted = ActivityFilter(*(query.get(field, "").strip() for field in ("who", "change", "subject", "refused")))
    before = stream_position(request, "before")
    limit = PAGE if wanted.is_any else SEARCHED
    read = await queue_of(request).store.activity_before(before, limit)
    found = [entry for entry in read if wanted.admits(entry)]
    shown = found[:PAGE]
    last = shown if len(found) > PAGE else read
    return page(
        request,
        "activity.html",
        wanted=wanted,
        kinds={f"{kind}/": f"all of {many}" for kind, (_, many, _) in NOUNS.items()},
        verbs={f"/{verb}": made for verb, (_, made) in sorted(VERBS.items(), key=lambda each: each[1][1])},
        words=change_words,
        entries=whole_changes(shown),
        earlier=last[-1].position if last and (len(read) == limit or len(found) > PAGE) else "",
    )
