"""Changes of many tasks: begin, stop, go on."""

from __future__ import annotations

from holdfastd.operations.many_tasks import BEGIN_BULK, GO_ON_WITH_BULK, STOP_BULK
from holdfastd.web.changes.change import change_of
from holdfastd.web.pages.task_pages import typed_filter

BULK_CHANGES = (
    change_of(BEGIN_BULK, "/bulk", texts=typed_filter),
    change_of(STOP_BULK, "/bulk"),
    change_of(GO_ON_WITH_BULK, "/bulk"),
)
