"""An agent for clients of A2A: tells word by word what it does, and asks back once.

`supervisor start --web 8080 --web-a2a examples.concierge:handlers`; docs/a2a.md talks to it.
"""

from __future__ import annotations

from typing import Any

from holdfast import Handlers, Task

handlers: Handlers[Any, Any] = Handlers()


@handlers.default
async def handle(messages: list[dict[str, Any]], task: Task) -> str:
    """Books what a message asks for, once it knows the day."""
    wanted = messages[0]["content"]
    for word in ("Looking ", "for ", f"{wanted}."):
        await task.emit(word)
    day = await task.question(f"There is {wanted}: on which day?")
    return f"{wanted} is booked for {day}."


@handlers.register("menu")
def menu(course: str = "main") -> list[str]:
    """Lists the dishes of a course."""
    return {"main": ["trout", "nettle soup"], "dessert": ["plums"]}.get(course, [])
