"""A task as clients of an agent see it, and the changes that a stream tells of, in no version's words.

Parts are those that handlers get: {"kind": "text", "text": …}, {"kind": "data", "data": …} and
{"kind": "file", "file": {"bytes" (base64) or "uri": …, "name": …, "mime_type": …}}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.core.messages import Part
from holdfast.core.task_states import TERMINAL, State
from holdfastd.a2a.push_target import PushTarget

AT_REST = TERMINAL | {State.INPUT_REQUIRED, State.AUTH_REQUIRED}  # a stream ends here


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """`role`: user or agent; `references`: ids of other tasks that it is about."""

    message_id: str
    parts: Sequence[Part]
    role: str = "user"
    context_id: str = ""
    task_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    references: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AgentArtifact:
    """All that a turn of a task has brought about."""

    artifact_id: str
    parts: Sequence[Part]

    @classmethod
    def of_turn(cls, turn: int, parts: Sequence[Part]) -> AgentArtifact:
        return cls(f"turn-{turn}", parts)


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """`at_ms`: when it came to this state, by the store's clock; `message`: what the agent says of it."""

    state: State
    at_ms: int
    message: AgentMessage | None = None


@dataclass(frozen=True, slots=True)
class AgentTask:
    """`position`, `run`: of the last emitted part that its artifacts hold; 0: they hold none."""

    task_id: str
    context_id: str
    status: AgentStatus
    artifacts: Sequence[AgentArtifact] = ()
    history: Sequence[AgentMessage] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    position: int = 0
    run: int = 0

    def shortened(self, history_length: int | None) -> AgentTask:
        """With the last messages of its history; None: with all."""
        if history_length is None or history_length >= len(self.history):
            return self
        return replace(self, history=self.history[len(self.history) - history_length :])


@dataclass(frozen=True, slots=True)
class StatusChange:
    task_id: str
    context_id: str
    status: AgentStatus

    @property
    def is_last(self) -> bool:
        """True if the stream ends with it."""
        return self.status.state in AT_REST


@dataclass(frozen=True, slots=True)
class ArtifactChange:
    """`append`: these parts come behind those that were told of before, else in their place; `is_whole`: no more of
    them come."""

    task_id: str
    context_id: str
    artifact: AgentArtifact
    append: bool = False
    is_whole: bool = False


Told = AgentTask | StatusChange | ArtifactChange


@dataclass(frozen=True, slots=True)
class Sending:
    """A message to send. `waits`: answer when the task rests; `target`: to be told of the task."""

    message: AgentMessage
    waits: bool = True
    history_length: int | None = None
    target: PushTarget | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The tasks that a list is to hold; times in milliseconds."""

    context_id: str = ""
    states: Sequence[State] = ()
    size: int = 50
    token: str = ""
    history_length: int | None = None
    since_ms: int | None = None
    with_artifacts: bool = False
