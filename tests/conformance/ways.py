"""The ways in which anybody asks for something: the producer's API, and both documented envelopes on the queue."""

from __future__ import annotations

import json
from typing import Any

from holdfast.client.manager import TaskManager
from holdfast.errors import UnknownTaskError
from tests.conformance.shop import Shop
from tests.conformance.stand import Stand

WAYS = ("API", "first envelope", "second envelope")


class Asking:
    """Each order is carried out when the call returns: what is pushed, the next pull reads."""

    def __init__(self, way: str, stand: Stand, shop: Shop) -> None:
        self.way, self.stand, self.shop = way, stand, shop
        self.manager = TaskManager(stand.store, queue=stand.queue)

    async def run(self, task_id: str, text: str) -> None:
        if self.way == "API":
            await self.manager.run_task(text, task_id=task_id)
        else:
            await self.stand.push(self.envelope("run", task_id, text))

    async def order(self, verb: str, task_id: str, text: str = "") -> None:
        """cancel, pause, resume; with a text a resume that answers. Orders for nobody are no error here."""
        if self.way != "API":
            await self.stand.push(self.envelope(verb, task_id, text))
            await self.stand.pull("clerk", 1)
            return
        calls: dict[str, Any] = {
            "cancel": self.manager.cancel_task,
            "pause": self.manager.pause_task,
            "resume": self.manager.resume_task,
        }
        try:
            await calls[verb](task_id, *([text] if text else []))
        except UnknownTaskError:
            return

    def envelope(self, verb: str, task_id: str, text: str) -> bytes:
        if self.way == "second envelope":
            flat: dict[str, Any] = {"type": verb, "task_id": task_id, "conversation_id": "c", "timestamp": 1.5}
            if text:
                flat |= {"messages": [{"role": "user", "content": text}], "artifacts": []}
            return json.dumps(flat).encode()
        params: dict[str, Any] = {"task_id": task_id}
        if text:
            message = {"message_id": f"m-{text}", "kind": "message", "role": "user", "metadata": {}}
            params |= {"context_id": "c", "message": message | {"parts": [{"kind": "text", "text": text}]}}
        return json.dumps({"operation": verb, "params": params, "trace_id": None, "span_id": None}).encode()
