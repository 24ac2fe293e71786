"""All changes that the application offers."""

from __future__ import annotations

from holdfastd.web.changes.batch_changes import BATCH_CHANGES
from holdfastd.web.changes.bulk_changes import BULK_CHANGES
from holdfastd.web.changes.host_changes import HOST_CHANGES
from holdfastd.web.changes.lane_changes import LANE_CHANGES
from holdfastd.web.changes.schedule_changes import SCHEDULE_CHANGES
from holdfastd.web.changes.set_aside_changes import SET_ASIDE_CHANGES
from holdfastd.web.changes.task_changes import TASK_CHANGES
from holdfastd.web.changes.webhook_changes import WEBHOOK_CHANGES

CHANGES = (
    *(*TASK_CHANGES, *BULK_CHANGES, *LANE_CHANGES, *HOST_CHANGES, *SCHEDULE_CHANGES),
    *(*BATCH_CHANGES, *SET_ASIDE_CHANGES, *WEBHOOK_CHANGES),
)
