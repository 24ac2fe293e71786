"""Handlers raise these to end their job: instructions, not errors."""

from __future__ import annotations

from holdfast.errors import StopSchedule, UnsetSchedule


class StopWork(StopSchedule):
    """The job's schedule is STOP from now on."""


class UnsetJob(UnsetSchedule):
    """The job is removed."""
