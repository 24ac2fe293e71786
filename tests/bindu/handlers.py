"""The handlers of our workers in these tests."""

from __future__ import annotations

from typing import Any

import anyio

from holdfast import Reject

Messages = list[dict[str, Any]]


async def answer(messages: Messages) -> object:
    """As the last message says."""
    match messages[-1]["parts"][0]["text"]:
        case "ask":
            return {"state": "input-required", "prompt": "which one?"}
        case "bad":
            raise Reject("not this one")
        case "data":
            return [1, 2]
        case "forever":
            await anyio.sleep_forever()
        case text:
            return f"You said {text}"
    return None
