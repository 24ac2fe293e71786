"""Workers: those of all hosts, and those that have died within a day."""

from __future__ import annotations

from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page


async def workers(request: Request) -> Response:
    access = queue_of(request)
    found = sorted(await access.manager.workers(), key=lambda worker: (worker.host, worker.slot))
    living = [worker for worker in found if worker.state != "dead"]
    return page(
        request,
        "workers.html",
        hosts=[(host, list(each)) for host, each in groupby(living, key=lambda worker: worker.host)],
        dead=sorted((worker for worker in found if worker.state == "dead"), key=lambda worker: -(worker.died_ms or 0)),
        quiet=await access.store.quiet_hosts(),
    )
