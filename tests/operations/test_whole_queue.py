"""Acts that only commands have, and submissions: each is noted in Activity once, by whatever face."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest
import redis

from holdfast.core.activity import Activity
from holdfast_config import RedisSettings
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
            ("queue/clear", "mail", False),
            ("queue/clear", "mial", True),
            ("queue/clear", "new", False),
            ("queue/clear", queue, False),
            ("queue/recover", "", False),
        ]
        assert (await run(cli, "queue", "obliterate", "--yes")).status == 0
        assert await notes(here) == [("queue/obliterate", queue, False)]


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
            ("jobs/set", "crawl:A", False),
            ("jobs/set", "crawl:A", True),
            ("jobs/unset", "crawl:A", False),
            ("jobs/unset", "crawl:A", True),
            ("schedules/apply", "billing", False),
            ("schedules/apply", "billing", False),
        ]


async def test_a_submission_has_one_name_in_activity_by_whatever_face(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        assert (await run(cli, "submit", "x", "--task-id", "a")).out == "a\n"
        assert (await here.change("/tasks/submit", task_id="b", text="x")).status_code == 303
        assert (await here.program.post("/api/v1/tasks", json={"text": "x", "task_id": "c"})).status_code == 201
        assert await notes(here) == [("tasks/submit", each, False) for each in "abc"]
        assert (await run(cli, "submit", "y", "--task-id", "a b")).status == 2
        assert (await here.program.post("/api/v1/tasks", json={"text": "y", "task_id": "c"})).status_code == 409
        assert (await notes(here))[3:] == [("tasks/submit", "", True), ("tasks/submit", "c", True)]


async def test_many_tasks_of_one_command_are_one_change(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        first, *_ = (await run(cli, "submit", "--lines", "-", "--json", stdin=b"x\n" * 3)).lines
        assert await notes(here) == [("tasks/submit", f"{first['task_id']} and 2 more", False)]
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
