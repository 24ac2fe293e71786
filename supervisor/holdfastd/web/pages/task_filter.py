"""The filter of the list of tasks, as its address holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from holdfast.core.task_states import State
from holdfast_config import durations


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Empty texts: any. `newer`, `older`: durations such as 5m, of the age of the task."""

    task_id: str = ""
    state: str = ""
    lane: str = ""
    name: str = ""
    newer: str = ""
    older: str = ""
    cursor: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> TaskFilter:
        """Raises HTTPException 400 for a value that is not allowed."""
        found = cls(**{field: query.get(field, "").strip() for field in cls.__dataclass_fields__})
        if found.state and found.state not in set(State):
            raise HTTPException(400, f"state {found.state[:50]!r}: one of {', '.join(State)} is expected")
        return found

    @property
    def arguments(self) -> dict[str, Any]:
        """As TaskManager.list_tasks takes them."""
        wanted: dict[str, Any] = {"state": self.state or None, "lane": self.lane or None, "name": self.name or None}
        return wanted | {"newer_than": _age("newer", self.newer), "older_than": _age("older", self.older)}


def _age(what: str, text: str) -> float | None:
    try:
        return durations.seconds(text) if text else None
    except ValueError as error:
        raise HTTPException(400, f"{what} {text[:50]!r}: {error}") from None
