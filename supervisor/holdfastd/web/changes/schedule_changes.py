"""Changes of a schedule: set, run now, pause, resume, remove."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

from holdfast.core.cadence.moments import read_moment
from holdfast.errors import InvalidScheduleError, UnknownScheduleError
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.pages.schedules import form_again, stored_spec
from holdfastd.web.views.schedule_form import spec_of


async def _set(asked: Asked) -> None:
    """As `supervisor schedules set`; the form for a new one changes none that exists."""
    schedules, schedule_id = asked.manager.schedules, asked.subject
    record = None
    with suppress(UnknownScheduleError):
        record = await schedules.get(schedule_id)
    if record is not None and not asked.fields.get("known"):
        raise InvalidScheduleError(f"schedule {schedule_id} exists already: edit it, or choose another id")
    stored = {} if record is None else stored_spec(record)
    await schedules.put(schedule_id, spec_of(asked.fields, stored, asked.access.redaction.value(stored)), again=True)


async def _run(asked: Asked) -> None:
    await asked.manager.schedules.run(asked.subject)


async def _pause(asked: Asked) -> None:
    text = asked.fields.get("until", "").strip()
    until = datetime.fromtimestamp(read_moment(text, "UTC") / 1000, UTC) if text else None
    await asked.manager.schedules.pause(asked.subject, asked.reason("paused"), until)


async def _resume(asked: Asked) -> None:
    await asked.manager.schedules.resume(asked.subject)


async def _remove(asked: Asked) -> None:
    await asked.manager.schedules.remove(asked.subject)


SCHEDULE_CHANGES = (
    PageChange("/schedules/set", "schedule_id", "/schedule?id={}", _set, form_again),
    PageChange("/schedules/run", "schedule_id", "/schedule?id={}", _run),
    PageChange("/schedules/pause", "schedule_id", "/schedule?id={}", _pause),
    PageChange("/schedules/resume", "schedule_id", "/schedule?id={}", _resume),
    PageChange("/schedules/remove", "schedule_id", "/schedules", _remove),
)
