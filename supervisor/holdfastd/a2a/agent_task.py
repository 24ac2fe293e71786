"""A task as clients of an agent see it, and the changes that a stream tells of, in no version's words.

Parts are those that handlers get: {"kind": "text", "text": …}, {"kind": "data", "data": …} and
{"kind": "file", "file": {"bytes" (base64) or "uri": …, "name": …, "mime_type": …}}.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from holdfast.core.messages import Part
from holdfast.core.task_states import TERMINAL, State
from holdfast_config import addresses
from holdfastd.a2a.rpc_errors import RpcCode, RpcError

# Push settings: where clients want notifications of a task. They are kept beside the task, and the steward sends
# notifications like webhooks.

MOST = 10  # of one task
LONGEST = 1000  # characters of an id, a token, credentials

_PLAIN = re.compile(r"[\x20-\x7e]*")
_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{0,50}")


class PushTarget(msgspec.Struct, frozen=True):
    """Sent with `X-A2A-Notification-Token: token` and, if it has a scheme, `Authorization: scheme credentials`, in the
    words of `version`."""

    target_id: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    version: str = "1.0"

    @property
    def headers(self) -> dict[str, str]:
        given = {"X-A2A-Notification-Token": self.token} if self.token else {}
        if self.scheme and self.credentials:
            given["Authorization"] = f"{self.scheme} {self.credentials}"
        if self.version == "1.0":
            given["Content-Type"] = "application/a2a+json"
        return given


class _KeptTargets(msgspec.Struct):
    """Beside other applications' settings of webhooks, which have no such key."""

    a2a: list[PushTarget] = []


def read_targets(kept: bytes | None) -> list[PushTarget]:
    """None for settings that another application keeps."""
    try:
        return msgspec.json.decode(kept or b"{}", type=_KeptTargets).a2a
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def spelled_targets(targets: Sequence[PushTarget]) -> bytes:
    return msgspec.json.encode(_KeptTargets(list(targets)))


def with_target(targets: Sequence[PushTarget], target: PushTarget) -> list[PushTarget]:
    """With this one, in the place of one with its id. Raises RpcError for one that cannot be, or is one too many."""
    _check(target)
    others = [each for each in targets if each.target_id != target.target_id]
    if len(others) >= MOST:
        raise RpcError(RpcCode.INVALID_PARAMS, f"a task has at most {MOST} push notification settings")
    return [*others, target]


def _check(target: PushTarget) -> None:
    try:
        addresses.parse_webhook(target.url)
    except ValueError as error:
        raise RpcError(RpcCode.INVALID_PARAMS, f"url of the push notification settings: {error}") from None
    for what, value in (("id", target.target_id), ("token", target.token), ("credentials", target.credentials)):
        if len(value) > LONGEST or not _PLAIN.fullmatch(value):
            text = f"{what} of the push notification settings: at most {LONGEST} printable ASCII characters"
            raise RpcError(RpcCode.INVALID_PARAMS, text)
    if not _SCHEME.fullmatch(target.scheme):
        raise RpcError(RpcCode.INVALID_PARAMS, "scheme of the push notification settings: one of HTTP such as Bearer")


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
    """`at_ms`: when it came to this state, by the store's clock. `message`: the agent's message about it."""

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
    """`append`: these parts are added to the parts sent before; otherwise they replace them. `is_whole`: no more parts
    follow."""

    task_id: str
    context_id: str
    artifact: AgentArtifact
    append: bool = False
    is_whole: bool = False


Told = AgentTask | StatusChange | ArtifactChange


@dataclass(frozen=True, slots=True)
class Sending:
    """A message to send. `waits`: answer only when the task rests. `target`: push settings for the task."""

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
