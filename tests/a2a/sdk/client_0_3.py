"""Talks to the agent with a2a-sdk 0.3: `client_0_3.py URL TOKEN FOLDER`, as client_1_0.py does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, A2AClientJSONRPCError
from a2a.types import Message, Part, Role, TaskIdParams, TaskQueryParams, TextPart


def message(text: str, **fields: str) -> Message:
    return Message(message_id=str(uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))], **fields)


async def killed() -> None:
    print("kill", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def emitted(events: AsyncIterator[Any]) -> str:
    """Until the task has an artifact; its id."""
    async for task, _ in events:
        if task.artifacts:
            return str(task.id)
    raise AssertionError("the stream ended before an artifact came")


async def last(events: AsyncIterator[Any]) -> tuple[str, str]:
    """The last state of the task that the SDK puts together, and the text of its last artifact."""
    task = [task async for task, _ in events][-1]
    return task.status.state.value, task.artifacts[-1].parts[0].root.text if task.artifacts else ""


async def play(client: Client, folder: Path) -> None:
    """Send, stream, answer, come back and cancel, while workers are killed."""
    assert await last(client.send_message(message("hello"))) == ("completed", "You said hello")

    gate = folder / "gate-0.3"
    events = client.send_message(message(f"hold {gate}"))
    await emitted(events)
    await killed()
    gate.touch()
    assert await last(events) == ("completed", "released")

    asked = [task async for task, _ in client.send_message(message("ask which day?"))][-1]
    task = await client.get_task(TaskQueryParams(id=asked.id))
    assert (task.status.state.value, task.status.message.parts[0].root.text) == ("input-required", "which day?")
    await killed()
    answer = message("Friday", task_id=task.id, context_id=task.context_id)
    assert await last(client.send_message(answer)) == ("completed", "answered: Friday")

    task_id = await emitted(client.send_message(message(f"hold {folder / 'never'}")))
    await killed()
    again = client.resubscribe(TaskIdParams(id=task_id))
    assert (await anext(again))[0].id == task_id
    assert (await client.cancel_task(TaskIdParams(id=task_id))).status.state.value == "canceled"
    assert (await last(again))[0] == "canceled"
    await refused(client, task_id)


async def refused(client: Client, task_id: str) -> None:
    """The codes of errors; a stream that is refused is no stream for this SDK, which does not say why."""
    assert await code(client.get_task(TaskQueryParams(id="none"))) == -32001
    assert await code(client.cancel_task(TaskIdParams(id=task_id))) == -32002
    assert await code(last(client.send_message(message("more", task_id=task_id)))) in (-32004, None)


async def code(call: Awaitable[object]) -> int | None:
    """Of the error that the call ends with."""
    try:
        await call
    except A2AClientJSONRPCError as error:
        return int(error.error.code)
    except A2AClientError:
        return None
    raise AssertionError("an error was expected")


async def main(url: str, token: str, folder: str) -> None:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        await play(ClientFactory(ClientConfig(httpx_client=http)).create(card), Path(folder))
        waits = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        [(task, _)] = [event async for event in waits.send_message(message("hello"))]
        assert task.artifacts[0].parts[0].root.text == "You said hello"
    print("done", flush=True)


asyncio.run(main(*sys.argv[1:]))
