"""The smallest handler: it answers what it was told. `supervisor start examples.agent:handle`"""

from __future__ import annotations

from typing import Any


async def handle(messages: list[dict[str, Any]]) -> str:
    return f"You said {messages[-1]['parts'][0]['text']}"
