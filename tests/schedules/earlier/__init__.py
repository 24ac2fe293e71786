"""The schedules of an earlier version: its scripts as they were, and a steward of it.

It kept the history of X in `schedule:X:history`, and its fires of `a:b` had the task ids that those of `a@b` had.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.core.tasks import Submission

_HERE = Path(__file__).parent

SCRIPTS = {path.stem: path.read_text() for path in _HERE.glob("*.lua")}


class EarlierFiring(ScheduleFirer):
    def make(self, record: ScheduleRecord, task_id: str) -> Submission:
        moment = task_id.rpartition("@")[2]
        return super().make(record, f"{record.definition.schedule_id.replace(':', '@')}@{moment}")
