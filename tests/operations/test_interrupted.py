"""Acts that end early, and acts whose entry the store does not take: one entry in Activity, or each face says why."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import redis

from holdfast.client.task_spec import TaskSpec
from holdfast.core.delivery import Settle, Settlement
from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings
from tests.cli.commands import PIPES, Cli, clean
from tests.faults.proxy import Action, Proxy, Rule
from tests.forked import COMMAND, Program, popen
from tests.servers import SOCKET, serve
from tests.web.site import HTML, Site, site

pytestmark = pytest.mark.anyio

UNLISTED = "the change is made, but not listed in Activity: "
A_PART = "a part of the change is made, but not listed in Activity: "


@asynccontextmanager
async def behind_a_proxy(folder: Path) -> AsyncIterator[tuple[Site, Proxy, Cli, int]]:
    """The application and commands; the commands reach the server through the proxy. And the server's process."""
    with serve(folder) as server, Proxy(folder / "proxy.sock", folder / SOCKET) as proxy:
        async with site(RedisSettings(server.url)) as here:
            yield here, proxy, Cli(folder, ("--redis-url", proxy.url)), server.pid


def begun(cli: Cli, *words: str) -> Program:
    return popen(COMMAND, [*words, *cli.options], kind="commands", cwd=cli.folder, env=clean({}), **PIPES)


async def met(rule: Rule) -> None:
    await anyio.to_thread.run_sync(rule.met)


async def ended(process: Program) -> tuple[int, str]:
    _, err = await anyio.to_thread.run_sync(process.communicate, b"", 60)
    return process.wait(), err.decode()


async def submitted(here: Site, number: int) -> None:
    await here.manager.run_tasks([TaskSpec(text="x", task_id=f"t{n:03}") for n in range(number)])


async def given_up(here: Site) -> None:
    """All that waits becomes dead letters."""
    await here.store.register(Introduction("w-1", "host", "boot", 7, 0))
    request, settlements = 0, list[Settlement]()
    while not request or settlements:
        request += 1
        pulled = await here.store.pull("w-1", request, 100, [here.settings.queue_name], settlements)
        settlements = [Settlement(each.task_id, each.claim, Settle.EXHAUSTED) for each in pulled.deliveries]


async def notes(here: Site) -> list[tuple[str, str]]:
    return [(each.change, each.outcome) for each in await here.store.activity_before("", 10)]


INTERRUPTED = [  # the first request of each script is one that the new server does not know yet
    (("queue", "clear", "--yes"), "clear", 3, "queue/clear", "interrupted (after 50 items)"),
    (("tasks", "clean", "--yes"), "forget_tasks", 3, "tasks/clean", "interrupted (after 100 items)"),
    (("dead", "retry", "--all", "--yes"), "retry", 4, "dead/retry-all", "interrupted (after 2 items)"),
    (("dead", "remove", "--all", "--yes"), "purge_dead", 3, "dead/remove-all", "interrupted (after 100 items)"),
    (("queue", "obliterate", "--yes"), "obliterate", 2, "queue/obliterate", "interrupted"),
]


@pytest.mark.parametrize(("words", "request_", "nth", "change", "outcome"), INTERRUPTED)
async def test_an_act_that_is_interrupted_has_one_entry_with_what_was_done(
    short_path: Path, words: tuple[str, ...], request_: str, nth: int, change: str, outcome: str
) -> None:
    async with behind_a_proxy(short_path) as (here, proxy, cli, _):
        await submitted(here, 250)
        if "clear" not in words:
            await given_up(here)
        rule = proxy.on(request_, Action.HOLD, nth=nth)
        process = begun(cli, *words)
        await met(rule)
        process.send_signal(signal.SIGINT)
        status, _ = await ended(process)
        ((noted, said),) = await notes(here)
        assert (status, noted, said[: len(outcome)]) == (130, change, outcome)


async def test_an_act_in_steps_has_one_entry_when_the_store_fails_amid_it(short_path: Path) -> None:
    async with behind_a_proxy(short_path) as (here, proxy, cli, _):
        await submitted(here, 120)
        proxy.on("clear", Action.CUT, nth=3, times=99)
        status, _ = await ended(begun(cli, "queue", "clear", "--yes"))
        ((change, outcome),) = await notes(here)
        assert (status, change, "(after 50 items)" in outcome) == (69, "queue/clear", True)


async def test_a_part_that_was_done_before_the_store_went_away_is_told(short_path: Path) -> None:
    async with behind_a_proxy(short_path) as (here, proxy, cli, server):
        await submitted(here, 120)
        rule = proxy.on("clear", Action.HOLD, nth=3)
        process = begun(cli, "queue", "clear", "--yes")
        await met(rule)
        os.kill(server, signal.SIGKILL)
        status, err = await ended(process)
        assert (status, A_PART in err) == (69, True)


async def test_a_second_interrupt_ends_the_command_while_its_entry_is_written(short_path: Path) -> None:
    async with behind_a_proxy(short_path) as (here, proxy, cli, _):
        await submitted(here, 120)
        rules = proxy.on("clear", Action.HOLD, nth=3), proxy.on("XADD", Action.HOLD)
        process = begun(cli, "queue", "clear", "--yes")
        for rule in rules:
            await met(rule)
            process.send_signal(signal.SIGINT)
        status, err = await ended(process)
        assert (status, UNLISTED in err) == (130, False)


async def test_a_request_that_is_interrupted_has_one_entry(short_path: Path) -> None:
    with serve(short_path) as server, Proxy(short_path / "proxy.sock", short_path / SOCKET) as proxy:
        async with site(RedisSettings(proxy.url)) as here:
            held = proxy.on("pause_lane", Action.HOLD)
            path, body = "/api/v1/lanes/mail/pause", {"create": True}
            asked = asyncio.create_task(here.program.post(path, json=body))
            await met(held)
            asked.cancel()
            await asyncio.wait((asked,))
            assert asked.cancelled()
            assert await notes(here) == [("lanes/pause", "interrupted")]
            assert server.pid


async def test_each_face_says_that_activity_does_not_list_a_change(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        await submitted(here, 3)
        with redis.Redis.from_url(redis_settings.url) as client:
            client.set(f"{{{redis_settings.queue}}}:activity", "no stream")
        answer = await here.program.post("/api/v1/tasks/t000/cancel")
        assert (answer.status_code, UNLISTED in answer.headers["holdfast-warning"]) == (200, True)
        params = {"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": {"id": "t001"}}
        answer = await here.program.post("/a2a", json=params, headers={"a2a-version": "1.0"})
        assert ("result" in answer.json(), UNLISTED in answer.headers["holdfast-warning"]) == (True, True)
        assert (await here.change("/tasks/cancel", task_id="t002")).status_code == 303
        part = await here.browser.get("/task?id=t002", headers={**HTML, "hx-request": "true"})
        assert UNLISTED not in part.text  # a refresh of a part of another page
        assert UNLISTED in await here.page("/task?id=t002")
        assert UNLISTED not in await here.page("/task?id=t002")
        refused = await here.program.post("/api/v1/tasks/none/cancel")
        assert (refused.status_code, "holdfast-warning" in refused.headers) == (404, False)
