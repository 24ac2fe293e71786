"""Operations as producers write them: bytes for the public list, submissions for `submit`."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from holdfast.core.acceptance import Submission
from holdfast.core.worker_records import Admission, Introduction, WorkerKind

LARGE = 40_000  # bytes: more than a script decodes


def run(task_id: str, message_id: str | None = "m", *, text: str = "hello", call: str = "", **more: Any) -> bytes:
    """The documented envelope. Without a message id it has none; `call` names a handler."""
    parts: list[dict[str, Any]] = [{"kind": "text", "text": text}]
    if call:
        parts.append({"kind": "data", "data": {"name": call, "kwargs": {}}})
    message: dict[str, Any] = {"kind": "message", "role": "user", "parts": parts}
    if message_id is not None:
        message["message_id"] = message_id
    params = {"task_id": task_id, "context_id": "c", "message": message}
    return json.dumps({"operation": "run", "params": params, **more}).encode()


def flat(task_id: str, message_id: str, verb: str = "run") -> bytes:
    """The other documented envelope: verb and parameters side by side."""
    return json.dumps({"type": verb, "task_id": task_id, "message": {"message_id": message_id, "parts": []}}).encode()


def calling(task_id: str, name: str) -> bytes:
    """A run of a named handler."""
    parts = [{"kind": "text", "text": "x"}, {"kind": "data", "data": {"name": name, "kwargs": {"a": 1}}}]
    return json.dumps({"operation": "run", "params": {"task_id": task_id, "message": {"parts": parts}}}).encode()


def resuming(task_id: str, message_id: str, *, text: str = "hello") -> bytes:
    """A resume that carries a message."""
    return run(task_id, message_id, text=text).replace(b'"operation": "run"', b'"operation": "resume"')


def resume_with(task_id: str, text: str = "Friday") -> bytes:
    """A resume that answers."""
    return resuming(task_id, "answer", text=text)


def flat_resume(task_id: str, content: str = "Friday") -> bytes:
    """The same in the other documented envelope."""
    messages = [{"role": "user", "content": content}]
    return json.dumps({"type": "resume", "task_id": task_id, "messages": messages}).encode()


def control(verb: str, task_id: str) -> bytes:
    return json.dumps({"operation": verb, "params": {"task_id": task_id}, "trace_id": None, "span_id": None}).encode()


def submission(task_id: str, lane: str, message_id: str = "", *, text: str = "hello", **more: Any) -> Submission:
    message_id = message_id or f"m-{task_id}"
    operation = run(task_id, message_id, text=text)
    return Submission(task_id, message_id, sha1(operation), operation, lane, **more)


def introduction(incarnation: str, pid: int = 1, kind: WorkerKind = WorkerKind.WORKER) -> Introduction:
    return Introduction(incarnation, "host", "boot", pid, 0, kind=kind)


def admission(raw: bytes) -> Admission:
    """How a worker reads an entry of its inbox."""
    try:
        envelope = json.loads(raw)
        params = envelope.get("params", envelope)
        verb = envelope.get("operation") or envelope["type"]
        message = params.get("message", {}).get("message_id") or (sha1(raw) if verb == "run" else "")
        return Admission(sha1(raw), verb, params["task_id"], message)
    except (ValueError, KeyError, AttributeError, RecursionError) as error:
        return Admission(sha1(raw), "unreadable", reason=type(error).__name__)


def sha1(raw: bytes) -> str:
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()
