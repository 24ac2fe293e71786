"""Handlers with the longest names and arguments, for pictures of the dashboard."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast import Handlers, Task

handlers: Handlers[Any, Any] = Handlers()
LONGEST_NAME = (
    "customer_relationship.notification_service.send_quarterly_summary_of_all_open_invoices_" + "and_orders" * 11
)
UNBROKEN = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 12


@handlers.register(LONGEST_NAME, max_attempts=2)
async def summary(task: Task, **arguments: Any) -> dict[str, Any]:
    """Send each customer who has open invoices or orders a summary of the quarter, in the customer's own language, by
    mail or by letter, and keep a copy of it for as long as the law of the customer's country asks for."""
    for part in range(6):
        await task.step(f"{part}. {UNBROKEN[:180]}", dict, **arguments)
    if arguments.get("fails"):
        raise RuntimeError(f"{UNBROKEN} <script>alert(1)</script> שלום עולם 🚀 {UNBROKEN}")
    await asyncio.sleep(arguments.get("seconds", 0.0))
    return arguments


@handlers.default
async def answer(messages: list[dict[str, Any]]) -> str:
    """Answer with what was said."""
    return str(messages[-1]["parts"][0]["text"])
