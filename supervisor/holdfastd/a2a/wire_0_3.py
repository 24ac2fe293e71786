"""A2A 0.3 on the wire: the forms in which parameters are read, and tasks and changes are written.

No parameter here is null: the endpoint removes null parameters, which mean "not given".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from holdfast.core.messages import Part
from holdfastd.a2a.agent_task import (
    AgentArtifact,
    AgentMessage,
    AgentStatus,
    AgentTask,
    ArtifactChange,
    PushTarget,
    Sending,
    StatusChange,
    Told,
)
from holdfastd.a2a.agent_task_view import NAMES_0_3, canonical_base64, file_of, iso


class TextPart03(msgspec.Struct, tag_field="kind", tag="text"):
    text: str
    metadata: dict[str, Any] = {}

    @property
    def content(self) -> Part:
        return {"kind": "text", "text": self.text}


class DataPart03(msgspec.Struct, tag_field="kind", tag="data"):
    data: dict[str, Any]
    metadata: dict[str, Any] = {}

    @property
    def content(self) -> Part:
        return {"kind": "data", "data": self.data}


class File03(msgspec.Struct, rename="camel"):
    """A file in a message: the client gives either `bytes` (base64) or `uri`."""

    bytes: str | None = None
    uri: str | None = None
    name: str | None = None
    mime_type: str | None = None

    def __post_init__(self) -> None:
        if (self.bytes is None) == (self.uri is None):
            raise ValueError("a file has either bytes or a uri, not both")
        if self.bytes is not None:
            self.bytes = canonical_base64(self.bytes)
            if self.bytes is None:
                raise ValueError("bytes of a file are not base64")


class FilePart03(msgspec.Struct, tag_field="kind", tag="file"):
    file: File03
    metadata: dict[str, Any] = {}

    @property
    def content(self) -> Part:
        fields = msgspec.structs.asdict(self.file)
        return {"kind": "file", "file": {name: value for name, value in fields.items() if value is not None}}


class Message03(msgspec.Struct, rename="camel"):
    message_id: str
    role: Literal["user", "agent"]
    parts: list[TextPart03 | DataPart03 | FilePart03]
    kind: Literal["message"] = "message"
    context_id: str = ""
    task_id: str = ""
    metadata: dict[str, Any] = {}
    reference_task_ids: list[str] = []


class Authentication03(msgspec.Struct):
    schemes: list[str]
    credentials: str = ""


class PushConfig03(msgspec.Struct):
    url: str
    id: str = ""
    token: str = ""
    authentication: Authentication03 = msgspec.field(default_factory=lambda: Authentication03([]))

    @property
    def target(self) -> PushTarget:
        scheme = next(iter(self.authentication.schemes), "")
        return PushTarget(self.id, self.url, self.token, scheme, self.authentication.credentials, "0.3")


class PushParams03(msgspec.Struct, rename="camel"):
    task_id: str
    push_notification_config: PushConfig03

    @property
    def target(self) -> PushTarget:
        return self.push_notification_config.target


class Configuration03(msgspec.Struct, rename="camel"):
    push_notification_config: PushConfig03 | None = None
    history_length: Annotated[int, Meta(ge=0)] | None = None
    blocking: bool = True


class SendParams03(msgspec.Struct):
    message: Message03
    configuration: Configuration03 = msgspec.field(default_factory=Configuration03)
    metadata: dict[str, Any] = {}

    @property
    def sending(self) -> Sending:
        given, chosen = self.message, self.configuration
        message = AgentMessage(
            given.message_id,
            [{**part.content, **({"metadata": part.metadata} if part.metadata else {})} for part in given.parts],
            given.role,
            given.context_id,
            given.task_id,
            given.metadata | self.metadata,
            given.reference_task_ids,
        )
        push = chosen.push_notification_config
        return Sending(message, chosen.blocking, chosen.history_length, push.target if push else None)


class PushKey03(msgspec.Struct):
    """The push settings that a client asks for. An empty `target_id` means the first settings of the task."""

    task_id: str = msgspec.field(name="id")
    target_id: str = msgspec.field(name="pushNotificationConfigId", default="")


class PushListParams03(msgspec.Struct):
    task_id: str = msgspec.field(name="id")

    @property
    def page(self) -> slice:
        """All push settings of the task: A2A 0.3 has no pages."""
        return slice(None)


def told(change: Told) -> dict[str, Any]:
    """The item of a stream that tells a client of this task or change."""
    match change:
        case AgentTask():
            return write_task(change)
        case StatusChange():
            ids = {"kind": "status-update", "taskId": change.task_id, "contextId": change.context_id}
            return {**ids, "status": _status(change.status), "final": change.is_last}
        case ArtifactChange():
            ids = {"kind": "artifact-update", "taskId": change.task_id, "contextId": change.context_id}
            return {
                **ids,
                "artifact": _artifact(change.artifact),
                "append": change.append,
                "lastChunk": change.is_whole,
            }


def write_task(task: AgentTask) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "artifacts": [_artifact(each) for each in task.artifacts],
        "history": [_message(each) for each in task.history],
        "metadata": task.metadata,
    }
    always = {"kind": "task", "id": task.task_id, "contextId": task.context_id, "status": _status(task.status)}
    return always | {name: value for name, value in fields.items() if value}


def write_target(task_id: str, target: PushTarget) -> dict[str, Any]:
    config: dict[str, Any] = {"id": target.target_id, "url": target.url, "token": target.token}
    if target.scheme:
        config["authentication"] = {"schemes": [target.scheme]}  # clients can set the credentials, but not read them
    return {"taskId": task_id, "pushNotificationConfig": {name: value for name, value in config.items() if value}}


def write_targets(task_id: str, targets: list[PushTarget], _: slice) -> list[dict[str, Any]]:
    return [write_target(task_id, each) for each in targets]


def _status(status: AgentStatus) -> dict[str, Any]:
    said = {"message": _message(status.message)} if status.message else {}
    return {"state": NAMES_0_3[status.state], "timestamp": iso(status.at_ms), **said}


def _message(message: AgentMessage) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "contextId": message.context_id,
        "taskId": message.task_id,
        "metadata": message.metadata,
        "referenceTaskIds": message.references,
    }
    parts = [_part(part) for part in message.parts]
    always = {"kind": "message", "messageId": message.message_id, "role": message.role, "parts": parts}
    return always | {name: value for name, value in fields.items() if value}


def _artifact(artifact: AgentArtifact) -> dict[str, Any]:
    return {"artifactId": artifact.artifact_id, "parts": [_part(part) for part in artifact.parts]}


def _part(part: Part) -> dict[str, Any]:
    """The part in the form of A2A 0.3. Data that is no JSON object becomes the object `{"result": data}`, because 0.3
    allows only objects."""
    metadata = {"metadata": part["metadata"]} if part.get("metadata") else {}
    if (file := file_of(part)) is not None:
        renamed = {"mimeType" if name == "mime_type" else name: value for name, value in file.items()}
        return {"kind": "file", "file": renamed, **metadata}
    if part.get("kind") == "text":
        return {"kind": "text", "text": str(part.get("text", "")), **metadata}
    data = part.get("data") if part.get("kind") == "data" else part
    return {"kind": "data", "data": data if isinstance(data, dict) else {"result": data}, **metadata}
