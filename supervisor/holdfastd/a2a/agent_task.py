"""A task as clients of the A2A agent see it, and the changes of a task that a stream sends.

These values are the same for all versions of A2A. Parts have the form in which handlers get them:
{"kind": "text", "text": …}, {"kind": "data", "data": …} and
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

# Push settings: the URLs at which clients want notifications of a task. The store keeps them beside the task. The
# steward sends the notifications like webhooks.

MOST = 10  # push settings of one task
LONGEST = 1000  # characters of an id, a token, credentials

_PLAIN = re.compile(r"[\x20-\x7e]*")
_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{0,50}")


class PushTarget(msgspec.Struct, frozen=True):
    """Push settings of a task: the URL at which a client wants notifications, and the headers to send with them.

    `token`: sent as `X-A2A-Notification-Token`. `scheme`, `credentials`: sent as `Authorization: scheme credentials`.
    `version`: the version of A2A in which the body of a notification is written.
    """

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
    """The push settings of a task as the store keeps them. Webhook settings of other applications have no key `a2a`."""

    a2a: list[PushTarget] = []


def read_targets(kept: bytes | None) -> list[PushTarget]:
    """The push settings in a stored document; an empty list for the settings of another application."""
    try:
        return msgspec.json.decode(kept or b"{}", type=_KeptTargets).a2a
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def spelled_targets(targets: Sequence[PushTarget]) -> bytes:
    return msgspec.json.encode(_KeptTargets(list(targets)))


def with_target(targets: Sequence[PushTarget], target: PushTarget) -> list[PushTarget]:
    """The settings with `target` added. It replaces settings with the same id. Raises RpcError if `target` is invalid,
    or if the task already has MOST settings."""
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
        raise RpcError(
            RpcCode.INVALID_PARAMS,
            "scheme of the push notification settings: an HTTP authentication scheme is expected, such as Bearer",
        )


AT_REST = TERMINAL | {State.INPUT_REQUIRED, State.AUTH_REQUIRED}  # the stream of a task ends in these states


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """A message of a client or of the agent. `role`: user or agent; `references`: ids of other tasks that the message
    is about."""

    message_id: str
    parts: Sequence[Part]
    role: str = "user"
    context_id: str = ""
    task_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    references: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AgentArtifact:
    """The output of one turn of a task."""

    artifact_id: str
    parts: Sequence[Part]

    @classmethod
    def of_turn(cls, turn: int, parts: Sequence[Part]) -> AgentArtifact:
        return cls(f"turn-{turn}", parts)


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The state of a task. `at_ms`: when the task came to this state, by the store's clock. `message`: the agent's
    message about this state."""

    state: State
    at_ms: int
    message: AgentMessage | None = None


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A task as clients see it. `position`, `run`: the position and the run of the last emitted part in the artifacts;
    both are 0 if there is no emitted part."""

    task_id: str
    context_id: str
    status: AgentStatus
    artifacts: Sequence[AgentArtifact] = ()
    history: Sequence[AgentMessage] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    position: int = 0
    run: int = 0

    def shortened(self, history_length: int | None) -> AgentTask:
        """The task with only the last `history_length` messages of its history; None: with all messages."""
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
        """True if the stream ends with this change."""
        return self.status.state in AT_REST


@dataclass(frozen=True, slots=True)
class ArtifactChange:
    """New parts of an artifact. `append`: the client adds these parts to the parts sent before; otherwise these parts
    replace them. `is_whole`: no more parts follow."""

    task_id: str
    context_id: str
    artifact: AgentArtifact
    append: bool = False
    is_whole: bool = False


Told = AgentTask | StatusChange | ArtifactChange


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that a client sends. `waits`: the client wants the answer only when the task has ended or asks for
    input. `target`: push settings for the task."""

    message: AgentMessage
    waits: bool = True
    history_length: int | None = None
    target: PushTarget | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The filter and the page of a list of tasks. `size`: maximum number of tasks. `token`: continues an earlier list.
    `since_ms`: only tasks whose state has changed at this Unix time or later."""

    context_id: str = ""
    states: Sequence[State] = ()
    size: int = 50
    token: str = ""
    history_length: int | None = None
    since_ms: int | None = None
    with_artifacts: bool = False
