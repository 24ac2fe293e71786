"""The agent card: a document that tells clients of A2A 1.0 and 0.3 what the agent can do and how to call it.

Everybody may read the public card. The extended card is for clients that have logged in. It also has the handlers
beyond the first hundred, and the arguments of all handlers.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from email.utils import formatdate
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.published_handlers import PublishedHandler
from holdfast.errors import StoreError
from holdfast.version import installed
from holdfast_config import Settings
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

PATH = "/a2a"
EXTENDED_PATH = f"{PATH}/v1/card"
CARD_PATHS = (
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
)  # clients of older A2A versions read the second
INPUT = ["text/plain", "application/json", "application/octet-stream"]
OUTPUT = ["text/plain", "application/json"]
ARGUMENTS = "urn:holdfast:arguments"  # the extension that has the arguments of handlers

PATIENCE = 2.0  # seconds for which a card waits for the store
MOST_CARDS = 100  # cards whose first times are kept
MOST_SKILLS = 100  # skills on the public card

_encode = msgspec.json.Encoder(order="deterministic").encode


async def agent_card(request: Request) -> Response:
    """The public card, which needs no login, for the A2A version in the request. Without a version it is for both."""
    access = queue_of(request)
    version = ".".join(request.headers.get("a2a-version", "").split(".")[:2])
    handlers = (await handlers_of(access))[:MOST_SKILLS]
    document = _encode(card(access.settings, str(request.base_url), handlers, version))
    tag = f'"{hashlib.sha256(document).hexdigest()[:32]}"'
    modified = formatdate(_seen(request, tag), usegmt=True)
    headers = {"etag": tag, "last-modified": modified, "cache-control": "max-age=60", "vary": "a2a-version"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(document, media_type="application/json", headers=headers)


async def extended_agent_card(request: Request) -> Response:
    """The extended card, at the URL that A2A 0.3 defines. The method agent/getAuthenticatedExtendedCard returns it,
    too. The guard refuses clients that have not logged in."""
    document = _encode(await extended_card(queue_of(request), str(request.base_url), "0.3"))
    return Response(document, media_type="application/json")


async def extended_card(access: QueueAccess, base_url: str, version: str) -> dict[str, Any]:
    handlers = [access.redaction.handler(each) for each in await handlers_of(access)]
    return card(access.settings, base_url, handlers, version, is_extended=True)


def _seen(request: Request, tag: str) -> float:
    """The Unix time at which this process first made the card with this entity tag. The card changes with the handlers,
    and with the host name in the request."""
    seen: dict[str, float] = request.app.state.cards
    if len(seen) >= MOST_CARDS and tag not in seen:
        seen.clear()
    return seen.setdefault(tag, time.time())


async def handlers_of(access: QueueAccess) -> Sequence[PublishedHandler]:
    """The handlers that workers publish; none while the store is away."""
    with suppress(StoreError, TimeoutError):
        async with asyncio.timeout(PATIENCE):
            return await access.store.published_handlers()
    return ()


def card(
    settings: Settings,
    base_url: str,
    handlers: Sequence[PublishedHandler] = (),
    version: str = "",
    *,
    is_extended: bool = False,
) -> dict[str, Any]:
    """The card for clients of `version`. For any other version, or none, the card has the fields of both: clients
    ignore unknown fields."""
    url = settings.web_a2a_url or base_url.rstrip("/") + PATH
    arguments = [_arguments(handlers)] if is_extended else []
    of_all, newer, older = _of_all(settings, handlers), _of_1_0(url, arguments), _of_0_3(url, arguments)
    match version:
        case "1.0":
            return of_all | newer
        case "0.3":
            return of_all | older
        case _:
            scheme = older["securitySchemes"]["bearer"] | newer["securitySchemes"]["bearer"]
            return of_all | older | newer | {"securitySchemes": {"bearer": scheme}}


def _of_all(settings: Settings, handlers: Sequence[PublishedHandler]) -> dict[str, Any]:
    description = settings.web_a2a_description
    return {
        "name": settings.web_a2a_name,
        "description": description,
        "version": installed(),
        "defaultInputModes": INPUT,
        "defaultOutputModes": OUTPUT,
        "skills": [_skill(each, description) for each in handlers or (PublishedHandler(""),)],
    }


def _of_1_0(url: str, extensions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "capabilities": _capabilities(extensions) | {"extendedAgentCard": True},
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")
        ],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
    }


def _of_0_3(url: str, extensions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "capabilities": _capabilities(extensions),
        "url": url,
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
        "additionalInterfaces": [{"url": url, "transport": "JSONRPC"}],
        "supportsAuthenticatedExtendedCard": True,
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "security": [{"bearer": []}],
    }


def _capabilities(extensions: list[dict[str, Any]]) -> dict[str, Any]:
    both = {"streaming": True, "pushNotifications": True}
    return {**both, "extensions": extensions} if extensions else both


def _arguments(handlers: Sequence[PublishedHandler]) -> dict[str, Any]:
    """The extension of the card with the JSON schema of each handler's `kwargs`. A data part calls a handler with
    them."""
    return {
        "uri": ARGUMENTS,
        "description": "The JSON schema of the kwargs of each handler that a data part may name.",
        "required": False,
        "params": {each.name: each.arguments for each in handlers if each.name and each.arguments is not None},
    }


def _skill(handler: PublishedHandler, description: str) -> dict[str, Any]:
    """A handler as a skill; the default handler is called `message`."""
    name = handler.name or "message"
    said = handler.summary or (f"Runs {name}." if handler.name else description)
    return {"id": name, "name": name, "description": said, "tags": ["handler"]}
