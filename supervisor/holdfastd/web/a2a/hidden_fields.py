"""Hides secrets from viewers in what the agent tells of a task. Clients that may send get all values as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from holdfast_config.redis_urls import mask_webhook
from holdfastd.a2a.agent_task import (
    AgentArtifact,
    AgentMessage,
    AgentStatus,
    AgentTask,
    ArtifactChange,
    StatusChange,
    Told,
)
from holdfastd.a2a.push_target import PushTarget

Hide = Callable[[Any], Any]


def task_without(hide: Hide, task: AgentTask) -> AgentTask:
    """The task with what `hide` leaves of its values."""
    return replace(
        task,
        context_id=hide(task.context_id),
        status=_status(hide, task.status),
        artifacts=[_artifact(hide, each) for each in task.artifacts],
        history=[_message(hide, each) for each in task.history],
        metadata=hide(task.metadata),
    )


def target_without(hide: Hide, target: PushTarget) -> PushTarget:
    """The push settings with what `hide` leaves of their token, by which a receiver knows the sender, and with the
    server of their URL alone: its path may be a secret."""
    return msgspec.structs.replace(target, url=mask_webhook(target.url), **hide({"token": target.token}))


def told_without(hide: Hide, told: Told) -> Told:
    """The item of a stream with what `hide` leaves of its values."""
    match told:
        case AgentTask():
            return task_without(hide, told)
        case StatusChange():
            return replace(told, context_id=hide(told.context_id), status=_status(hide, told.status))
        case ArtifactChange():
            return replace(told, context_id=hide(told.context_id), artifact=_artifact(hide, told.artifact))


def _status(hide: Hide, status: AgentStatus) -> AgentStatus:
    return replace(status, message=_message(hide, status.message)) if status.message else status


def _artifact(hide: Hide, artifact: AgentArtifact) -> AgentArtifact:
    return replace(artifact, parts=hide(artifact.parts))


def _message(hide: Hide, message: AgentMessage) -> AgentMessage:
    """Ids of messages and conversations are texts of a client, too."""
    return replace(
        message,
        message_id=hide(message.message_id),
        context_id=hide(message.context_id),
        parts=hide(message.parts),
        metadata=hide(message.metadata),
    )
