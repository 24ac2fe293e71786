"""The parts that a task has emitted in this run, as the artifact of its turn until the handler has returned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from holdfast.core.emitted_parts import EmittedPart
from holdfast.core.messages import Part, data_part, text_part
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.store.protocol import Store
from holdfastd.a2a.agent_task import AgentArtifact, AgentTask
from holdfastd.a2a.parts import shown_parts

BEHIND_ALL = (1 << 53) - 1  # a position


async def with_emitted(store: Store, record: TaskRecord, task: AgentTask) -> AgentTask:
    """The task with what its run has emitted, if it runs, or has completed and returned nothing."""
    artifact_id = AgentArtifact.of_turn(record.turn, ()).artifact_id
    if record.state not in (State.WORKING, State.COMPLETED) or artifact_id in {
        each.artifact_id for each in task.artifacts
    }:
        return task
    emitted = await emitted_behind(store, record.task_id, 0)
    position = emitted[-1].position if emitted else 0
    parts = parts_of(part for part in emitted if part.run == record.runs)
    artifacts = [*task.artifacts, AgentArtifact.of_turn(record.turn, parts)] if parts else task.artifacts
    return replace(task, artifacts=artifacts, position=position, run=record.runs if parts else 0)


async def emitted_behind(store: Store, task_id: str, position: int) -> list[EmittedPart]:
    """All parts that are kept behind a position."""
    found: list[EmittedPart] = []
    while True:
        page = await store.emitted_parts(task_id, position)
        found += page.parts
        if page.is_whole or not page.parts:
            return found
        position = page.parts[-1].position


async def last_position(store: Store, task_id: str) -> int:
    return (await store.emitted_parts(task_id, BEHIND_ALL)).last


def parts_of(emitted: Iterable[EmittedPart]) -> list[Part]:
    """As parts of an artifact; texts that follow each other are one."""
    parts: list[Part] = []
    for each in emitted:
        if not isinstance(each.value, str):
            parts += shown_parts([data_part(each.value)])
        elif parts and parts[-1]["kind"] == "text":
            parts[-1] = text_part(parts[-1]["text"] + each.value)
        else:
            parts.append(text_part(each.value))
    return parts
