"""A2A 1.0 on the wire: the forms in which parameters are read, and tasks and changes are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from holdfast.core.messages import Part
from holdfastd.a2a.agent_task import (
    AgentArtifact,
    AgentMessage,
    AgentStatus,
    AgentTask,
    ArtifactChange,
    Listing,
    PushTarget,
    Sending,
    StatusChange,
    Told,
)
from holdfastd.a2a.agent_task_view import NAMES_1_0, canonical_base64, file_of, iso, states_of
from holdfastd.a2a.rpc_errors import RpcCode, RpcError

_ROLES = {"ROLE_USER": "user", "ROLE_AGENT": "agent"}
_ROLE_NAMES = {role: name for name, role in _ROLES.items()}
_EPOCH, _MS = datetime.fromtimestamp(0, UTC), timedelta(milliseconds=1)
_UNSPECIFIED = "TASK_STATE_UNSPECIFIED"


class Part10(msgspec.Struct, rename="camel"):
    """A part of a message. Exactly one of `text`, `raw` (base64), `url` and `data` is given."""

    text: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    data: Any = UNSET
    metadata: dict[str, Any] = {}
    filename: str = ""
    media_type: str = ""

    def read(self) -> Part:
        given = [name for name in ("text", "raw", "url", "data") if getattr(self, name) is not UNSET]
        if len(given) > 1 and self.data is None:
            given.remove("data")  # some clients write every field, and null for those without a value
        if len(given) != 1:
            raise RpcError(RpcCode.INVALID_PARAMS, "message.parts: a part has exactly one of text, raw, url and data")
        part = self._content(given[0])
        return {**part, "metadata": self.metadata} if self.metadata else part

    def _content(self, name: str) -> Part:
        if name == "text":
            return {"kind": "text", "text": self.text}
        if name == "data":
            return {"kind": "data", "data": self.data}
        about = {"name": self.filename, "mime_type": self.media_type}
        content = {"bytes": canonical_base64(str(self.raw))} if name == "raw" else {"uri": self.url}
        if None in content.values():
            raise RpcError(RpcCode.INVALID_PARAMS, "message.parts: raw of a part is not base64")
        return {"kind": "file", "file": {**content, **{key: value for key, value in about.items() if value}}}


class Message10(msgspec.Struct, rename="camel"):
    message_id: str
    role: Literal["ROLE_USER", "ROLE_AGENT"]
    parts: list[Part10]
    context_id: str = ""
    task_id: str = ""
    metadata: dict[str, Any] = {}
    reference_task_ids: list[str] = []


class Authentication10(msgspec.Struct):
    scheme: str
    credentials: str = ""


class PushParams10(msgspec.Struct, rename="camel"):
    """Push settings that a client sends. `task_id` is empty if the settings come with a message."""

    url: str
    id: str = ""
    task_id: str = ""
    token: str = ""
    authentication: Authentication10 = msgspec.field(default_factory=lambda: Authentication10(""))

    @property
    def target(self) -> PushTarget:
        return PushTarget(self.id, self.url, self.token, self.authentication.scheme, self.authentication.credentials)


class Configuration10(msgspec.Struct, rename="camel"):
    task_push_notification_config: PushParams10 | None = None
    history_length: Annotated[int, Meta(ge=0)] | None = None
    return_immediately: bool = False


class SendParams10(msgspec.Struct):
    message: Message10
    configuration: Configuration10 = msgspec.field(default_factory=Configuration10)
    metadata: dict[str, Any] = {}

    @property
    def sending(self) -> Sending:
        given, chosen = self.message, self.configuration
        message = AgentMessage(
            given.message_id,
            [part.read() for part in given.parts],
            _ROLES[given.role],
            given.context_id,
            given.task_id,
            given.metadata | self.metadata,
            given.reference_task_ids,
        )
        push = chosen.task_push_notification_config
        return Sending(message, not chosen.return_immediately, chosen.history_length, push.target if push else None)


class TaskParams(msgspec.Struct, rename="camel"):
    id: str
    history_length: Annotated[int, Meta(ge=0)] | None = None


class ListParams10(msgspec.Struct, rename="camel"):
    context_id: str = ""
    status: str = _UNSPECIFIED
    page_size: Annotated[int, Meta(ge=1, le=100)] | None = None
    page_token: str = ""
    history_length: Annotated[int, Meta(ge=0)] | None = None
    status_timestamp_after: Annotated[datetime, Meta(tz=True)] | None = None
    include_artifacts: bool = False

    @property
    def listing(self) -> Listing:
        since = self.status_timestamp_after
        return Listing(
            self.context_id,
            () if self.status == _UNSPECIFIED else states_of(self.status),
            self.page_size or 50,
            self.page_token,
            self.history_length,
            -((_EPOCH - since) // _MS) if since else None,
            self.include_artifacts,
        )


class PushKey10(msgspec.Struct, rename="camel"):
    task_id: str
    target_id: str = msgspec.field(name="id")


class PushListParams10(msgspec.Struct, rename="camel"):
    """The page of push settings that a client asks for. Without `page_size`, or with 0, the page has all of them: a
    task has at most 10."""

    task_id: str
    page_size: Annotated[int, Meta(ge=0, le=100)] | None = None
    page_token: str = ""

    @property
    def page(self) -> slice:
        start = offset_of(self.page_token)
        return slice(start, start + (self.page_size or 100))


class NoParams(msgspec.Struct):
    """The parameters of a method that takes none."""


def sent(task: AgentTask) -> dict[str, Any]:
    """The document that SendMessage returns."""
    return {"task": write_task(task)}


def told(change: Told) -> dict[str, Any]:
    """The item of a stream that tells a client of this task or change."""
    match change:
        case AgentTask():
            return {"task": write_task(change)}
        case StatusChange():
            return {"statusUpdate": {**_ids(change.task_id, change.context_id), "status": _status(change.status)}}
        case ArtifactChange():
            return {
                "artifactUpdate": {
                    **_ids(change.task_id, change.context_id),
                    "artifact": _artifact(change.artifact),
                    "append": change.append,
                    "lastChunk": change.is_whole,
                }
            }


def write_task(task: AgentTask) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": task.task_id,
        "contextId": task.context_id,
        "status": _status(task.status),
        "artifacts": [_artifact(each) for each in task.artifacts],
        "history": [_message(each) for each in task.history],
        "metadata": task.metadata,
    }
    return {name: value for name, value in fields.items() if value}


def write_page(tasks: list[AgentTask], token: str, size: int, total: int, *, with_artifacts: bool) -> dict[str, Any]:
    """The document that ListTasks returns. If the client asked for artifacts, every task has the field, even without
    artifacts."""
    written = [write_task(task) | ({"artifacts": _artifacts(task)} if with_artifacts else {}) for task in tasks]
    return {"tasks": written, "nextPageToken": token, "pageSize": size, "totalSize": total}


def write_target(task_id: str, target: PushTarget) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": target.target_id, "taskId": task_id, "url": target.url, "token": target.token}
    if target.scheme:
        fields["authentication"] = {"scheme": target.scheme}  # clients can set the credentials, but not read them
    return {name: value for name, value in fields.items() if value}


def write_targets(task_id: str, targets: list[PushTarget], page: slice) -> dict[str, Any]:
    shown = [write_target(task_id, each) for each in targets[page]]
    return {"configs": shown, "nextPageToken": str(page.stop) if page.stop < len(targets) else ""}


def offset_of(token: str) -> int:
    """The offset that a page token stands for; 0 for an empty token. Raises RpcError."""
    if token and not (token.isascii() and token.isdecimal() and len(token) < 10):
        raise RpcError(RpcCode.INVALID_PARAMS, "give the nextPageToken of the previous page as pageToken")
    return int(token or 0)


def _ids(task_id: str, context_id: str) -> dict[str, Any]:
    return {"taskId": task_id, "contextId": context_id}


def _status(status: AgentStatus) -> dict[str, Any]:
    said = {"message": _message(status.message)} if status.message else {}
    return {"state": NAMES_1_0[status.state], "timestamp": iso(status.at_ms), **said}


def _message(message: AgentMessage) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "messageId": message.message_id,
        "contextId": message.context_id,
        "taskId": message.task_id,
        "role": _ROLE_NAMES[message.role],
        "parts": [_part(part) for part in message.parts],
        "metadata": message.metadata,
        "referenceTaskIds": message.references,
    }
    return {name: value for name, value in fields.items() if value}


def _artifacts(task: AgentTask) -> list[dict[str, Any]]:
    return [_artifact(each) for each in task.artifacts]


def _artifact(artifact: AgentArtifact) -> dict[str, Any]:
    return {"artifactId": artifact.artifact_id, "parts": [_part(part) for part in artifact.parts]}


def _part(part: Part) -> dict[str, Any]:
    metadata = {"metadata": part["metadata"]} if part.get("metadata") else {}
    if (file := file_of(part)) is not None:
        content = {"raw": file["bytes"]} if "bytes" in file else {"url": file["uri"]}
        about = {"filename": file.get("name"), "mediaType": file.get("mime_type")}
        return {**content, **{name: value for name, value in about.items() if value}, **metadata}
    if part.get("kind") == "text":
        return {"text": str(part.get("text", "")), **metadata}
    return {"data": part.get("data") if part.get("kind") == "data" else part, **metadata}
