"""The call that a task makes, read back from its operation, so that it can be edited and submitted again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from holdfast.core import envelope
from holdfast.core.envelope import Run, UnreadableError
from holdfast.core.messages import Part, text_of
from holdfast.core.tasks import TaskRecord

LARGEST = 16 << 20  # bytes of an operation that is read


@dataclass(frozen=True, slots=True)
class TaskCall:
    """`name`: of the handler, empty for none; `text`, `data`: of a message; `left_out`: kinds of parts that a form
    cannot hold."""

    name: str = ""
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""
    data: Any = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    context_id: str | None = None
    left_out: tuple[str, ...] = ()


def call_of(task: TaskRecord) -> TaskCall | None:
    """The call of the present turn; None where its operation is no readable run."""
    try:
        run = envelope.read(task.operation or b"", LARGEST)
    except UnreadableError:
        return None
    if not isinstance(run, Run) or not run.messages:
        return None
    parts = run.messages[-1]["parts"]
    data = [each for each in parts if _is_data(each)]
    named = run.name or ""
    held = data[:1] if named or len(data) == 1 else []
    left = [each for each in parts if each not in held and not isinstance(each.get("text"), str)]
    return TaskCall(
        name=named,
        kwargs=run.kwargs,
        text=text_of(parts),
        data=None if named or not held else held[0]["data"],
        metadata=run.metadata,
        context_id=run.context_id,
        left_out=tuple(dict.fromkeys(str(each.get("kind", "unknown"))[:40] for each in left)),
    )


def _is_data(part: Part) -> bool:
    return part.get("kind") == "data" and "data" in part
