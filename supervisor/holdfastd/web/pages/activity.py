"""Activity: the changes that were asked for on pages, over the API and of the agent, by whom, and from where."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.activity import Activity
from holdfastd.web.http.addresses import stream_position
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

PAGE = 100
SEARCHED = 1000  # changes that are read for one page


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """Parts of a name, a change and a subject; empty: any."""

    who: str
    change: str
    subject: str

    @property
    def is_any(self) -> bool:
        return not (self.who or self.change or self.subject)

    def admits(self, entry: Activity) -> bool:
        return self.who in entry.who and self.change in entry.change and self.subject in entry.subject


async def activity(request: Request) -> Response:
    query = request.query_params
    wanted = ActivityFilter(*(query.get(field, "").strip() for field in ("who", "change", "subject")))
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
        entries=shown,
        earlier=last[-1].position if last and (len(read) == limit or len(found) > PAGE) else "",
    )
