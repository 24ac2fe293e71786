"""Changes of a schedule: set, run now, pause, resume, remove."""

from __future__ import annotations

from contextlib import suppress

from holdfast.errors import UnknownScheduleError
from holdfastd.operations.schedules import (
    PAUSE_SCHEDULE,
    REMOVE_SCHEDULE,
    RESUME_SCHEDULE,
    RUN_SCHEDULE,
    SET_SCHEDULE,
    SetSchedule,
)
from holdfastd.web.changes.change import Asked, PageChange, change_of
from holdfastd.web.pages.schedule_pages import form_again, stored_spec
from holdfastd.web.views.schedule_form import spec_of

SCHEDULE = "/schedule?id={}"


async def _set(asked: Asked) -> None:
    """Values that the form has hidden come back as they are stored. The form for a new one changes none that exists."""
    stored, is_new = dict[str, object](), not asked.fields.get("known")
    if not is_new:
        with suppress(UnknownScheduleError):
            stored = stored_spec(await asked.manager.schedules.get(asked.subject))
    spec = spec_of(asked.fields, stored, asked.access.redaction.value(stored))
    await SET_SCHEDULE.carry_out(asked.doing, SetSchedule(asked.subject, spec, is_new=is_new))


SCHEDULE_CHANGES = (
    PageChange(f"/{SET_SCHEDULE.name}", SET_SCHEDULE.subject, SCHEDULE, _set, form_again),
    change_of(RUN_SCHEDULE, SCHEDULE),
    change_of(PAUSE_SCHEDULE, SCHEDULE),
    change_of(RESUME_SCHEDULE, SCHEDULE),
    change_of(REMOVE_SCHEDULE, "/schedules"),
)
