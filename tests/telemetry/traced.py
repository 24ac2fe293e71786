"""A handler with a span of its own around what its task asks for: `<verb> <argument>`, as in tests.faults.handlers."""

from __future__ import annotations

from typing import Any

import anyio
from opentelemetry import baggage, trace

from holdfast import Task
from tests.faults import handlers

tracer = trace.get_tracer("app")  # before the worker has a provider, as applications do


async def act(messages: list[dict[str, Any]], task: Task) -> object:
    verb, _, argument = str(messages[-1]["parts"][0]["text"]).partition(" ")
    if verb == "order":
        return await order(task)
    if verb == "child":  # a span that is over, and sent, while the handler goes on
        with tracer.start_as_current_span("app child"):
            handlers.tell(task)
        return await handlers.wait(task, argument)
    with tracer.start_as_current_span(f"app {verb}"):
        if verb == "raise":
            handlers.tell(task)
            if task.attempts < int(argument):
                raise KeyError("a secret")
            return argument
        return await handlers.act(messages, task)


async def order(task: Task) -> object:
    """Its first run never ends, its second one fails."""
    with tracer.start_as_current_span("charge card", attributes={"customer": str(baggage.get_baggage("customer"))}):
        handlers.tell(task)
    if task.delivery == 1:
        await anyio.sleep_forever()
    if task.delivery == 2:
        raise ConnectionError("the bank is away")
    return "charged"
