"""Talks to the agent with a2a-sdk 1.x: `client_1_0.py URL TOKEN FOLDER`.

It prints `kill` where workers are to be killed and goes on when it has read a line, and at last `done`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx
from a2a.client import Client, ClientConfig, create_client
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

STATES = pb.TaskState.Name


def sending(text: str, **fields: str) -> pb.SendMessageRequest:
    message = pb.Message(message_id=str(uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)], **fields)
    return pb.SendMessageRequest(message=message)


async def killed() -> None:
    print("kill", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def emitted(events: AsyncIterator[pb.StreamResponse]) -> str:
    """Until an artifact has come; the id of the task."""
    task_id = ""
    async for event in events:
        task_id = task_id or event.task.id
        if event.HasField("artifact_update") or event.task.artifacts:
            return task_id
    raise AssertionError("the stream ended before an artifact came")


async def last(events: AsyncIterator[pb.StreamResponse]) -> tuple[str, str]:
    """The last state of the stream, and the text that the last artifact or status said."""
    state = text = ""
    async for event in events:
        for status in (event.task.status, event.status_update.status):
            state = STATES(status.state) if status.state else state
            text = status.message.parts[0].text if status.message.parts else text
        for artifact in (*event.task.artifacts, event.artifact_update.artifact):
            text = artifact.parts[0].text if artifact.parts else text
    return state, text


async def play(client: Client, folder: Path) -> None:
    """Send, stream, answer, come back and cancel, while workers are killed."""
    assert await last(client.send_message(sending("hello"))) == ("TASK_STATE_COMPLETED", "You said hello")

    gate = folder / "gate-1.0"
    events = client.send_message(sending(f"hold {gate}"))
    await emitted(events)
    await killed()
    gate.touch()
    assert await last(events) == ("TASK_STATE_COMPLETED", "released")

    asked = [event async for event in client.send_message(sending("ask which day?"))]
    task = await client.get_task(pb.GetTaskRequest(id=asked[0].task.id))
    assert STATES(task.status.state) == "TASK_STATE_INPUT_REQUIRED"
    await killed()
    answer = sending("Friday", task_id=task.id, context_id=task.context_id)
    assert await last(client.send_message(answer)) == ("TASK_STATE_COMPLETED", "answered: Friday")

    task_id = await emitted(client.send_message(sending(f"hold {folder / 'never'}")))
    await killed()
    again = client.subscribe(pb.SubscribeToTaskRequest(id=task_id))
    assert (await anext(again)).task.id == task_id
    canceled = await client.cancel_task(pb.CancelTaskRequest(id=task_id))
    assert STATES(canceled.status.state) == "TASK_STATE_CANCELED"
    assert (await last(again))[0] == "TASK_STATE_CANCELED"

    listed = await client.list_tasks(pb.ListTasksRequest(status=pb.TASK_STATE_CANCELED))
    assert task_id in [each.id for each in listed.tasks]
    await refused(client, task_id)


async def refused(client: Client, task_id: str) -> None:
    for call, error in (
        (client.get_task(pb.GetTaskRequest(id="none")), TaskNotFoundError),
        (client.cancel_task(pb.CancelTaskRequest(id=task_id)), TaskNotCancelableError),
        (last(client.send_message(sending("more", task_id=task_id))), UnsupportedOperationError),
        (last(client.subscribe(pb.SubscribeToTaskRequest(id=task_id))), UnsupportedOperationError),
    ):
        try:
            await call
        except error:
            continue
        raise AssertionError(f"{error.__name__} was expected")


async def main(url: str, token: str, folder: str) -> None:
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
        client = await create_client(url, ClientConfig(httpx_client=http))
        await play(client, Path(folder))
        waits = await create_client(url, ClientConfig(httpx_client=http, streaming=False))
        [event] = [event async for event in waits.send_message(sending("hello"))]
        assert event.task.artifacts[0].parts[0].text == "You said hello"
    print("done", flush=True)


asyncio.run(main(*sys.argv[1:]))
