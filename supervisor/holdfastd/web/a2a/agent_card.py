"""The agent card: what this agent is and how to talk to it, for clients of 1.0 and 0.3 alike."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.published_handlers import PublishedHandler
from holdfast.errors import StoreError
from holdfast_config import Settings
from holdfastd.version import installed
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

PATH = "/a2a"
CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")  # the second is that of earlier clients
INPUT = ["text/plain", "application/json", "application/octet-stream"]
OUTPUT = ["text/plain", "application/json"]

MOST_SKILLS = 100

_encode = msgspec.json.Encoder(order="deterministic").encode


async def agent_card(request: Request) -> Response:
    """The card, which needs no login."""
    access = queue_of(request)
    document = _encode(card(access.settings, str(request.base_url), await _published(access)))
    tag = f'"{hashlib.sha256(document).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "max-age=60"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(document, media_type="application/json", headers=headers)


async def _published(access: QueueAccess) -> Sequence[PublishedHandler]:
    """While the store is away the agent has no skills to name."""
    with suppress(StoreError):
        return (await access.store.published_handlers())[:MOST_SKILLS]
    return ()


def card(settings: Settings, base_url: str, handlers: Sequence[PublishedHandler] = ()) -> dict[str, Any]:
    """Fields that only one version knows stand beside those of the other; each passes over what it does not know."""
    url = settings.web_a2a_url or base_url.rstrip("/") + PATH
    description = settings.web_a2a_description
    both: dict[str, Any] = {
        "name": settings.web_a2a_name,
        "description": description,
        "version": installed(),
        "capabilities": {"streaming": True, "pushNotifications": True},
        "defaultInputModes": INPUT,
        "defaultOutputModes": OUTPUT,
        "skills": [_skill(each, description) for each in handlers or (PublishedHandler(""),)],
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer", "httpAuthSecurityScheme": {"scheme": "bearer"}}
        },
    }
    of_1_0: dict[str, Any] = {
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")
        ],
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
    }
    of_0_3: dict[str, Any] = {
        "url": url,
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
        "additionalInterfaces": [{"url": url, "transport": "JSONRPC"}],
        "security": [{"bearer": []}],
    }
    return both | of_1_0 | of_0_3


def _skill(handler: PublishedHandler, description: str) -> dict[str, Any]:
    """A handler as a skill; the one that takes messages which name none is called `message`."""
    name = handler.name or "message"
    said = handler.summary or (f"Runs {name}." if handler.name else description)
    return {"id": name, "name": name, "description": said, "tags": ["handler"]}
