"""Acts that only commands have, and submissions: each is noted in Activity once, by whatever face."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis

from holdfast.core.activity import Activity
from holdfast_config import RedisSettings
from holdfastd.operations.agent_messages import BEGIN_AGENT_TASK, CONTINUE_AGENT_TASK, REMOVE_TARGET, SET_TARGET
from holdfastd.operations.schedules import APPLY_SCHEDULES
from holdfastd.operations.submit_tasks import SUBMIT_TASKS
from holdfastd.operations.tasks import SEND_MESSAGE
from holdfastd.operations.timeline_jobs import SET_JOB, UNSET_JOB
from holdfastd.operations.whole_queue import CLEAR_QUEUE, OBLITERATE_QUEUE, RECOVER_TASKS
from tests.cli.commands import Answer, Cli
from tests.web.site import Site, site

pytestmark = pytest.mark.anyio


async def run(cli: Cli, *words: str, stdin: bytes = b"") -> Answer:
    return await anyio.to_thread.run_sync(partial(cli, *words, stdin=stdin))


async def notes(here: Site) -> list[tuple[str, str, bool]]:
    """All, the first one first."""
    return [(each.change, each.subject, each.is_refused) for each in reversed(await _all(here))]


async def _all(here: Site) -> tuple[Activity, ...]:
    return await here.store.activity_before("", 100)


async def test_a_queue_is_cleared_recovered_and_deleted(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        queue = redis_settings.queue
        await here.manager.run_task("x", task_id="a", lane="mail")
        assert (await run(cli, "queue", "clear", "--lane", "mail", "--yes")).out == "1 cleared\n"
        refused = await run(cli, "queue", "clear", "--lane", "mial", "--yes")
        assert (refused.status, "did you mean mail?" in refused.err) == (1, True)
        assert (await run(cli, "queue", "clear", "--lane", "new", "--create", "--yes")).out == "0 cleared\n"
        assert (await run(cli, "queue", "clear", "--yes")).out == "0 cleared\n"
        assert (await run(cli, "recover", "--dry-run")).out == "0 tasks would be put back\n"
        assert (await run(cli, "recover")).out == "0 tasks put back\n"
        assert await notes(here) == [
            (CLEAR_QUEUE.name, "mail", False),
            (CLEAR_QUEUE.name, "mial", True),
            (CLEAR_QUEUE.name, "new", False),
            (CLEAR_QUEUE.name, queue, False),
            (RECOVER_TASKS.name, "", False),
        ]
        assert (await run(cli, "queue", "obliterate", "--yes")).status == 0
        assert await notes(here) == [(OBLITERATE_QUEUE.name, queue, False)]


async def test_jobs_and_declared_schedules_are_noted(redis_settings: RedisSettings, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "billing.toml"
    file.write_text('[schedules.nightly]\ncron = "0 2 * * *"\nname = "close"\n')
    async with site(redis_settings) as here:
        assert (await run(cli, "set", "crawl:A", "AT:4070908800")).status == 0
        assert (await run(cli, "set", "crawl:A", "SOMETIMES")).status == 2
        assert (await run(cli, "unset", "crawl:A")).out == "crawl:A: unset\n"
        assert (await run(cli, "unset", "crawl:A")).status == 1
        assert (await run(cli, "schedules", "diff", str(file))).status == 1
        assert (await run(cli, "schedules", "apply", str(file))).out == "create  nightly\n"
        assert (await run(cli, "schedules", "apply", str(file))).out == "no changes: 1 as declared\n"
        assert await notes(here) == [
            (SET_JOB.name, "crawl:A", False),
            (SET_JOB.name, "crawl:A", True),
            (UNSET_JOB.name, "crawl:A", False),
            (UNSET_JOB.name, "crawl:A", True),
            (APPLY_SCHEDULES.name, "billing", False),
            (APPLY_SCHEDULES.name, "billing", False),
        ]


async def test_a_submission_has_one_name_in_activity_by_whatever_face(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        assert (await run(cli, "submit", "x", "--task-id", "a")).out == "a\n"
        assert (await here.change("/tasks/submit", task_id="b", text="x")).status_code == 303
        assert (await here.program.post("/api/v1/tasks", json={"text": "x", "task_id": "c"})).status_code == 201
        assert await notes(here) == [(SUBMIT_TASKS.name, each, False) for each in "abc"]
        assert (await run(cli, "submit", "y", "--task-id", "a b")).status == 2
        assert (await here.program.post("/api/v1/tasks", json={"text": "y", "task_id": "c"})).status_code == 409
        assert (await notes(here))[3:] == [(SUBMIT_TASKS.name, "", True), (SUBMIT_TASKS.name, "c", True)]


async def test_many_tasks_of_one_command_are_one_change(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        first, *_ = (await run(cli, "submit", "--lines", "-", "--json", stdin=b"x\n" * 3)).lines
        assert await notes(here) == [(SUBMIT_TASKS.name, f"{first['task_id']} and 2 more", False)]
        lines = b'{"text": "x"}\n' * 600 + b"not JSON\n"
        broken = await run(cli, "submit", "--jsonl", "-", stdin=lines)
        (last, *_) = await _all(here)
        assert (broken.status, last.change, last.is_refused) == (1, "tasks/submit", True)
        assert "line 601" in last.outcome
        assert len(await _all(here)) == 2


@pytest.mark.parametrize(
    "words", [("submit", "x", "--task-id", "b"), ("tasks", "cancel", "--all", "--yes"), ("lanes", "resume", "mail")]
)
async def test_a_change_stands_whose_note_is_lost_and_that_is_told(
    redis_settings: RedisSettings, cli: Cli, words: tuple[str, ...]
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("x", task_id="a", lane="mail")
        with redis.Redis.from_url(redis_settings.url) as client:
            client.set(f"{{{redis_settings.queue}}}:activity", "no stream")
            answer = await run(cli, *words)
        assert (answer.status, "the change is made, but not listed in Activity: " in answer.err) == (0, True)


async def asked(here: Site, method: str, params: dict[str, object]) -> Any:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return (await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"})).json()


async def test_what_a_client_of_the_agent_asks_for_are_acts(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
        sent = {"message": message, "configuration": {"returnImmediately": True}}
        task_id = (await asked(here, "SendMessage", sent))["result"]["task"]["id"]
        sent["message"] = {**message, "messageId": "n", "taskId": task_id}
        assert (await asked(here, "SendMessage", sent))["result"]["task"]["id"] == task_id
        config = {"taskId": task_id, "id": "mine", "url": "https://example.com/told"}
        assert (await asked(here, "CreateTaskPushNotificationConfig", config))["result"]["id"] == "mine"
        assert "error" not in await asked(here, "DeleteTaskPushNotificationConfig", config)
        for name in ("CreateTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"):
            assert "no task nobody" in (await asked(here, name, {**config, "taskId": "nobody"}))["error"]["message"]
        assert await notes(here) == [
            (BEGIN_AGENT_TASK.name, task_id, False),
            (CONTINUE_AGENT_TASK.name, task_id, False),
            (SET_TARGET.name, task_id, False),
            (REMOVE_TARGET.name, task_id, False),
            (SET_TARGET.name, "nobody", True),
            (REMOVE_TARGET.name, "nobody", True),
        ]
        assert (BEGIN_AGENT_TASK.name, CONTINUE_AGENT_TASK.name) == (SUBMIT_TASKS.name, SEND_MESSAGE.name)
