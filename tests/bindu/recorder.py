"""A worker of the framework, by its own base class, that says what it does; alone in a process, too:

python -m tests.bindu.recorder '{"redis_url": …, "queue_name": …}'    # prints `ready`, then each task it begins
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from bindu.server.workers.base import Worker

from holdfast_config import load


class Recorder(Worker):
    """Answers what it is told; `wait` waits for `go` before it does, `linger` afterwards."""

    def __init__(self, pair: Any) -> None:
        super().__init__(pair.scheduler, pair.storage)
        self.begun: list[str] = []
        self.news = asyncio.Event()
        self.go = asyncio.Event()

    async def run_task(self, params: Any) -> None:
        text = params["message"]["parts"][0]["text"]
        self.begun.append(text)
        self.news.set()
        print(params["task_id"], flush=True)
        await self.storage.update_task(params["task_id"], state="working")
        if text.startswith("wait"):
            await self.go.wait()
        parts: Any = [{"kind": "text", "text": f"Recorded {text}"}]
        await self.storage.update_task(
            params["task_id"], "completed", [{"artifact_id": params["task_id"], "parts": parts}]
        )
        if text == "linger":
            await self.go.wait()

    async def cancel_task(self, params: Any) -> None:
        raise AssertionError("a cancel is done in the store")

    def build_message_history(self, history: Any) -> list[Any]:
        return list(history)

    def build_artifacts(self, result: Any) -> list[Any]:
        return []

    async def until(self, text: str) -> None:
        """Once it has begun this."""
        while text not in self.begun:
            self.news.clear()
            await self.news.wait()


async def main() -> None:
    from holdfast.bindu import connect

    pair = connect(load(json.loads(sys.argv[1])), consume=True)
    async with pair.scheduler, Recorder(pair).run():
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
