"""A page that takes several calls of the store has all tasks that were asked for, and its cursor leads to the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from holdfast.client.task_spec import TaskSpec
from holdfast_config import RedisSettings
from holdfastd.web.queue import found_tasks
from tests.cli.commands import Cli
from tests.web.site import Site, site

pytestmark = pytest.mark.anyio
NUMBER = 151
IDS = [f"t{n:03}" for n in range(NUMBER)]

Read = Callable[[Site, Cli, int, str], Any]


async def by_manager(here: Site, _: Cli, limit: int, cursor: str) -> tuple[list[str], str]:
    page = await here.manager.list_tasks(limit=limit, cursor=cursor)
    return [task.task_id for task in page.tasks], page.cursor


async def by_search(here: Site, _: Cli, limit: int, cursor: str) -> tuple[list[str], str]:
    page = await here.manager.search_tasks("hello", limit=limit, cursor=cursor)
    return [task.task_id for task in page.tasks], page.cursor


async def by_command(_: Site, cli: Cli, limit: int, cursor: str) -> tuple[list[str], str]:
    words = ("tasks", "list", "--json", "--limit", str(limit), *(("--cursor", cursor) if cursor else ()))
    answer = await anyio.to_thread.run_sync(cli, *words)
    return [line["task_id"] for line in answer.lines], answer.err.partition("--cursor ")[2].strip()


async def by_api(here: Site, _: Cli, limit: int, cursor: str) -> tuple[list[str], str]:
    answer = await here.program.get("/api/v1/tasks", params={"limit": limit, "cursor": cursor})
    document = answer.json()
    return [task["task_id"] for task in document["tasks"]], document["cursor"]


async def by_batch(here: Site, _: Cli, limit: int, cursor: str) -> tuple[list[str], str]:
    answer = await here.program.get("/api/v1/batches/b/tasks", params={"limit": limit, "after": cursor or 0})
    document = answer.json()
    found = document["tasks"]
    return [task["task_id"] for task in found], str(found[-1]["place"]) if document["more"] else ""


READINGS = {"manager": by_manager, "search": by_search, "command": by_command, "api": by_api, "batch": by_batch}


@pytest.mark.parametrize("reading", READINGS)
async def test_a_page_has_as_many_tasks_as_were_asked_for(
    redis_settings: RedisSettings, cli: Cli, reading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_tasks, "LONGEST", math.inf)  # a busy machine would get a page that ends earlier
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="hello", task_id=task_id) for task_id in IDS], batch="b")
        read: Read = READINGS[reading]
        for limit in (99, 100, 101, 150, NUMBER):
            found, cursor = await read(here, cli, limit, "")
            assert found == IDS[:limit], f"{limit} asked for"
            assert (cursor == "") == (limit == NUMBER), f"a cursor after {limit}"
            if cursor:
                assert await read(here, cli, NUMBER - limit, cursor) == (IDS[limit:], ""), f"after {limit}"
