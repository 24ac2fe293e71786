"""The handler of these tests: what it does is what it is told, `verb rest`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from holdfast import Handlers, Reject, Task

handlers: Handlers[Any, Any] = Handlers()


@handlers.default
async def handle(messages: list[dict[str, Any]], task: Task) -> object:
    verb, _, rest = messages[-1]["content"].partition(" ")
    match verb:
        case "ask":
            return f"answered: {await task.question(rest)}"
        case "login":
            return f"logged in: {await task.question(rest, state='auth-required')}"
        case "tell":
            for word in rest.split():
                await task.emit(f"{word} ")
            return rest
        case "emit":
            for word in rest.split():
                await task.emit(f"{word} ")
            return None
        case "tokens":
            for word in rest.split():
                await task.emit({"token": f"{word} ", "password": "hunter2"})
            return None
        case "hold":  # until the file is there, with what was told before
            await task.emit("holding ")
            task.progress(1, 2)
            while not Path(rest).exists():  # noqa: ASYNC110, ASYNC240 - a file of a test
                await asyncio.sleep(0.05)
            return "released"
        case "fail":
            raise Reject(rest)
        case "trace":
            return f"{task.trace_id} {task.span_id}"
        case "parts":
            return messages[-1]["parts"]
        case "value":
            return json.loads(rest)
        case "raw":
            return {"kind": "file", "file": {"bytes": rest.encode(), "name": "raw.txt"}}
        case "send":
            await task.emit({"kind": "file", "file": {"uri": rest, "mime_type": "text/plain"}})
            await task.emit("and a text")
            return None
        case "asking":
            file = {"kind": "file", "file": {"uri": rest}}
            return {"state": "input-required", "prompt": "is it this?", "result": file}
        case "turn":
            return {"state": "input-required", "prompt": f"{len(messages)} messages, more?"}
        case _:
            return f"You said {messages[-1]['content']}"


@handlers.register("pay")
async def pay(amount: int, password: str = "planted-default") -> int:
    return amount


@handlers.register("add")
async def add(one: int, other: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": one + other}
