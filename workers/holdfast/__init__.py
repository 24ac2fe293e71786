"""Holdfast: what handlers and producers import. Each name is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.app import create_broker
    from holdfast.client.flow import chain, gather
    from holdfast.client.manager import TaskManager
    from holdfast.client.queue_views import MissedEvents
    from holdfast.client.schedule_definition import ScheduleSpec
    from holdfast.client.submit_retries import SubmitRetries
    from holdfast.client.task_spec import TaskSpec
    from holdfast.core.outcomes import read_result
    from holdfast.errors import (
        HoldfastError,
        Reject,
        Retry,
        RunEnded,
        StopSchedule,
        TaskFailed,
        TaskRefused,
        UnsetSchedule,
    )
    from holdfast.handler.registry import Handlers
    from holdfast.handler.signature import ParentValues
    from holdfast.handler.task import Task
    from holdfast.store import open_store

__all__ = [
    "Task",
    "Handlers",
    "ParentValues",
    "Retry",
    "Reject",
    "StopSchedule",
    "UnsetSchedule",
    "RunEnded",
    "TaskFailed",
    "TaskRefused",
    "TaskManager",
    "TaskSpec",
    "ScheduleSpec",
    "SubmitRetries",
    "chain",
    "gather",
    "MissedEvents",
    "read_result",
    "create_broker",
    "open_store",
    "HoldfastError",
]

_HOMES = {
    "Task": "holdfast.handler.task",
    "Handlers": "holdfast.handler.registry",
    "ParentValues": "holdfast.handler.signature",
    "Retry": "holdfast.errors",
    "Reject": "holdfast.errors",
    "StopSchedule": "holdfast.errors",
    "UnsetSchedule": "holdfast.errors",
    "RunEnded": "holdfast.errors",
    "TaskFailed": "holdfast.errors",
    "TaskRefused": "holdfast.errors",
    "HoldfastError": "holdfast.errors",
    "TaskManager": "holdfast.client.manager",
    "TaskSpec": "holdfast.client.task_spec",
    "ScheduleSpec": "holdfast.client.schedule_definition",
    "SubmitRetries": "holdfast.client.submit_retries",
    "MissedEvents": "holdfast.client.queue_views",
    "chain": "holdfast.client.flow",
    "gather": "holdfast.client.flow",
    "read_result": "holdfast.core.outcomes",
    "create_broker": "holdfast.app",
    "open_store": "holdfast.store",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
