"""An application of the framework as its users write one: a manifest from a handler, its own server around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from bindu.penguin.bindufy import bindufy
from bindu.server.applications import BinduApplication

Messages = list[dict[str, Any]]


def manifest_of(handler: Callable[[Messages], Any], folder: Path) -> Any:
    config = {
        "author": "somebody@example.com",
        "name": "echo",
        "description": "Says it again.",
        "deployment": {"url": "http://localhost:3773", "expose": False},
        "telemetry": False,
    }
    return bindufy(config, handler, run_server=False, key_dir=folder)


class Client:
    """Speaks the framework's JSON-RPC with an application."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": str(uuid4()), "method": method, "params": params}
        answer: dict[str, Any] = (await self._http.post("/", json=body)).json()
        return answer

    async def get(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = (await self._http.get(path)).json()
        return answer

    async def send(self, text: str, task_id: str | None = None, context_id: str | None = None) -> dict[str, Any]:
        return (await self.ask("message/send", **sending(text, task_id, context_id)))["result"]


def sending(text: str, task_id: str | None = None, context_id: str | None = None) -> dict[str, Any]:
    message = {
        "messageId": str(uuid4()),
        "taskId": task_id or str(uuid4()),
        "contextId": context_id or str(uuid4()),
        "kind": "message",
        "role": "user",
        "parts": [{"kind": "text", "text": text}],
    }
    return {"message": message, "configuration": {"acceptedOutputModes": ["text/plain"]}}


@asynccontextmanager
async def serving(manifest: Any, scheduler_config: Any = None) -> AsyncIterator[Client]:
    """The application with its own lifespan, which makes its scheduler and storage by its own factories."""
    application: Any = BinduApplication(manifest=manifest, scheduler_config=scheduler_config)
    transport = httpx.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        yield Client(http)
