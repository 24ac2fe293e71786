"""All operations of the API."""

from __future__ import annotations

from holdfastd.web.api.batches import BATCHES
from holdfastd.web.api.bulk import BULK
from holdfastd.web.api.hosts import HOSTS
from holdfastd.web.api.lanes import LANES
from holdfastd.web.api.reports import REPORTS
from holdfastd.web.api.schedules import SCHEDULES
from holdfastd.web.api.set_aside import SET_ASIDE
from holdfastd.web.api.tasks import INTAKE, TASKS
from holdfastd.web.api.webhooks import WEBHOOKS

OPERATIONS = (*INTAKE, *TASKS, *BULK, *LANES, *HOSTS, *SCHEDULES, *BATCHES, *SET_ASIDE, *WEBHOOKS, *REPORTS)
