"""A client of the agent that knows JSON and HTTP alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import uuid4

import httpx

TOKEN = "a-token-of-sixteen-or-more"
VIEWER = "a-token-that-changes-nothing"


@dataclass
class ThinClient:
    """`version`: 1.0 or 0.3, which says the names of methods and fields."""

    base: str
    http: httpx.Client
    version: str = "1.0"
    token: str = TOKEN
    traceparent: str = ""
    path: str = "/a2a"
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def headers(self) -> dict[str, str]:
        trace = {"traceparent": self.traceparent} if self.traceparent else {}
        return {"authorization": f"Bearer {self.token}", "a2a-version": self.version, **trace}

    def post(self, method: str, params: object = None, **headers: str) -> httpx.Response:
        request = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params or {}}
        return self.http.post(f"{self.base}{self.path}", json=request, headers=self.headers | headers)

    def call(self, method: str, params: object = None) -> Any:
        answer = self.post(method, params).json()
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, params: object = None) -> Any:
        return self.post(method, params).json()["error"]

    def send(self, text: str, **chosen: Any) -> dict[str, Any]:
        """The task after this message; of both versions in the words of 0.3."""
        if self.version == "1.0":
            return plain(self.call("SendMessage", self.sending(text, **chosen))["task"])
        return dict(self.call("message/send", self.sending(text, **chosen)))

    def get(self, task_id: str) -> dict[str, Any]:
        return plain(self.call("GetTask" if self.version == "1.0" else "tasks/get", {"id": task_id}))

    def sending(
        self,
        text: str | None = None,
        *,
        parts: list[dict[str, Any]] | None = None,
        message_id: str | None = None,
        wait: bool = True,
        configuration: dict[str, Any] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """The parameters of a message."""
        role, part = (
            ("ROLE_USER", {"text": text}) if self.version == "1.0" else ("user", {"kind": "text", "text": text})
        )
        message = {"messageId": message_id or str(uuid4()), "role": role, "parts": parts or [part], **fields}
        if self.version == "0.3":
            message["kind"] = "message"
        waits = {"returnImmediately": not wait} if self.version == "1.0" else {"blocking": wait}
        return {"message": message, "configuration": waits | (configuration or {})}

    @contextmanager
    def stream(self, method: str, params: object) -> Iterator[Iterator[dict[str, Any]]]:
        request = {"jsonrpc": "2.0", "id": "s", "method": method, "params": params}
        with self.http.stream("POST", f"{self.base}{self.path}", json=request, headers=self.headers) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream"), answer.read()
            yield _results(answer)


def _results(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))["result"]


def plain(task: dict[str, Any]) -> dict[str, Any]:
    """A task of 1.0 with the state's name of 0.3."""
    state = task["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")
    return {**task, "status": {**task["status"], "state": state}}


def text_of(task: dict[str, Any]) -> str:
    """The text of the artifacts."""
    return "|".join(part["text"] for artifact in task.get("artifacts", ()) for part in artifact["parts"])
