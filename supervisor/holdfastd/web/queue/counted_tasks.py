"""The number of tasks that a filter finds, as far as they are counted while a reader waits."""

from __future__ import annotations

import time
from contextlib import aclosing

from starlette.requests import Request

from holdfast.client.bulk_steps import BulkSteps
from holdfast.client.counted_tasks import CountedTasks, counted_tasks
from holdfast.core.bulk_changes import BulkChange
from holdfastd.web.queue.found_tasks import LONGEST
from holdfastd.web.queue.queue_access import queue_of


async def counted_meanwhile(request: Request, change: BulkChange, before: CountedTasks) -> CountedTasks:
    access = queue_of(request)
    known = None if access.settings.postgres else (await request.app.state.counts.read()).states
    steps = BulkSteps(access.store, access.manager.retries, access.redaction.value)
    until, count = time.monotonic() + LONGEST, before
    async with aclosing(counted_tasks(steps, change, known, before)) as counts:
        async for each in counts:
            count = each
            if time.monotonic() >= until:
                break
    return count
