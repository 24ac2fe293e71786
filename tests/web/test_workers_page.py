"""The page of workers: hosts, quiet and resume, and the orders that the supervisor of this host carries out."""

from __future__ import annotations

import os
import signal
from html import unescape
from pathlib import Path

import anyio
import anyio.lowlevel
import httpx
import pytest

from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings, load
from holdfastd.control.local_supervisor import LocalSupervisor
from holdfastd.web.pages import worker_pages
from holdfastd.web.pages.worker_pages import MemoryCourses
from tests.cli.commands import Cli
from tests.cli.conftest import running
from tests.web.site import HTML, site
from tests.web.test_process import LOGIN, TOKEN, alone, free_port

SCRIPT = "<script>alert(1)</script>"


@pytest.mark.anyio
async def test_hosts_are_made_quiet_with_a_reason_and_resumed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.register(Introduction("w-1", f"elsewhere{SCRIPT}", "boot", 7, 0))
        await here.change("/hosts/quiet", host="elsewhere", create="true", reason=f"the disk is full {SCRIPT}")
        (order,) = await here.store.quiet_hosts()
        assert (order.host, order.by) == ("elsewhere", "token on the web, from 192.0.2.7")
        assert order.reason == f"the disk is full {SCRIPT} (ordered by token on the web, from 192.0.2.7)"
        assert "the disk is full" in await here.page("/workers")
        assert SCRIPT not in (await here.browser.get("/workers", headers=HTML)).text
        await here.change("/hosts/resume", host="elsewhere")
        assert not await here.store.quiet_hosts()
        done = [each.change for each in await here.store.activity_before("", 10)]
        assert done == ["hosts/resume", "hosts/quiet"]
        assert (await here.change("/hosts/quiet", host="two words")).status_code == 400


@pytest.mark.anyio
async def test_workers_of_another_host_have_the_commands_to_type(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.register(Introduction("w-1", "elsewhere", "boot", 4711, 0))
        shown = await here.page("/workers")
        assert "<button disabled>Stacks</button>" in shown
        assert "supervisor stacks 4711" in shown
        assert "supervisor scale N" in shown
        answer = await here.change("/workers/stacks", worker="w-1")
        assert (answer.status_code, "no supervisor on this host" in answer.text) == (409, True)
        answer = await here.change("/workers/scale", host="elsewhere", workers="2")
        assert (answer.status_code, "run supervisor scale 2 there" in answer.text) == (409, True)
        for wrong in (SCRIPT, "0", "10001", "9" * 5000):
            assert (await here.change("/workers/scale", host="elsewhere", workers=wrong)).status_code == 400


@pytest.mark.anyio
async def test_a_worker_is_shown_with_the_handlers_and_arguments_that_it_runs(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.register(Introduction("w-1", "elsewhere", "boot", 4711, 0))
        await here.manager.run_task(name="mail.send", kwargs={"customer": 7, "password": "hunter2"}, task_id="t1")
        await here.store.pull("w-1", 1, 10, [redis_settings.queue], [])
        shown = await here.page("/workers")
        assert 'href="/handler?name=mail.send"' in shown
        assert "customer=7" in shown
        assert "hunter2" not in shown


def test_the_memory_of_workers_is_forgotten_with_them() -> None:
    courses = MemoryCourses()
    for memory in ({"a": 1, "b": 2}, {"a": 2}):
        courses.note(memory)
    assert courses.lines == {"a": "0.0,40.0 600.0,0.0"}


@pytest.mark.anyio
async def test_the_memory_of_workers_is_read_while_nobody_looks(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pages, "COURSE_EVERY", 0.01)
    with running(short_path, "--workers", "1", "examples.wordcount:handle") as (cli, _):
        status, courses = cli("status", "--json").document, MemoryCourses()
        settings = load({"redis_url": status["store"]["url"], "runtime_dir": str(short_path / "run")})
        async with anyio.create_task_group() as group:
            group.start_soon(courses.read_on, LocalSupervisor(settings))
            with anyio.fail_after(60):
                while status["processes"][-1]["incarnation"] not in courses.lines:
                    await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()


@pytest.mark.parametrize("by_itself", [False, True], ids=["child", "by itself"])
def test_the_supervisor_of_this_host_writes_stacks_and_scales(short_path: Path, by_itself: bool) -> None:
    port = free_port()
    options = ("--workers", "1", "examples.wordcount:handle", *(() if by_itself else ("--web", str(port))))
    with running(short_path, *options, environ={"HOLDFAST_WEB_TOKEN": TOKEN}) as (cli, _):
        if not by_itself:
            _order(cli, f"http://127.0.0.1:{port}/")
            return
        url = cli("status", "--json").document["store"]["url"]
        with alone(short_path, url, "0", "--runtime-dir", str(short_path / "run")) as (_, address):
            _order(cli, address)


def test_the_page_of_stacks_shows_the_lines_that_a_task_waits_at(short_path: Path) -> None:
    (short_path / "slow.py").write_text(SLOW)
    options = ("--workers", "1", "--web", str(port := free_port()), "slow:handlers")
    with running(short_path, *options, environ={"HOLDFAST_WEB_TOKEN": TOKEN}) as (cli, _):
        cli("submit", "--name", "slow.one", "--data", '{"region": "asia"}', "--task-id", "t1")
        while not (found := cli("status", "--json").document["processes"][-1])["running"]:
            pass
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/", headers=LOGIN, timeout=60) as client:
            answer = client.post("workers/stacks", data={"worker": found["incarnation"]})
            shown = unescape(client.get(answer.headers["location"]).text)
            before, after = shown.split("<summary>Threads</summary>", 1)
            assert "Current thread" in after
            told = ['href="/task?id=t1"', "await inner()", "await asyncio.sleep(60)"]
            assert [before.index(each) for each in told] == sorted(before.index(each) for each in told)
            assert "slow.py:11" in before
            assert "slow.one" in before


SLOW = """
import asyncio
from holdfast import Handlers

handlers = Handlers()

async def inner():
    await asyncio.sleep(60)

@handlers.register("slow.one")
async def one(region: str): await inner()
"""


def test_a_supervisor_of_another_queue_is_left_alone(short_path: Path) -> None:
    with running(short_path, "--workers", "1", "examples.wordcount:handle") as (cli, _):
        url = cli("status", "--json").document["store"]["url"]
        places = ("--runtime-dir", str(short_path / "run"), "--queue-name", "another")
        with alone(short_path, url, "0", *places) as (_, address):
            answer = httpx.post(f"{address}workers/scale", data={"workers": "2"}, headers=LOGIN)
            assert (answer.status_code, "no supervisor on this host" in answer.text) == (409, True)


def _order(cli: Cli, address: str) -> None:
    (worker,) = [each for each in cli("status", "--json").document["processes"] if each["kind"] == "worker"]
    with httpx.Client(base_url=address, headers=LOGIN, timeout=60) as client:
        for _ in range(2):  # of the second order only its own stacks are there
            answer = client.post("workers/stacks", data={"worker": worker["incarnation"]})
            assert answer.status_code == 303, answer.text
            shown = client.get(answer.headers["location"]).text
            assert "most recent call first" in shown
            assert shown.count("Current thread") == 1
        assert client.get("stacks?worker=none").status_code == 409
        assert client.post("workers/scale", data={"workers": "2"}).status_code == 303
        while len([each for each in cli("status", "--json").document["processes"] if each["kind"] == "worker"]) < 2:
            pass
        assert worker["incarnation"] in client.get("workers").text
        os.kill(worker["pid"], signal.SIGKILL)
        while not cli("status", "--json").document["deaths"]["recent"]:
            pass
        shown = client.get("workers").text
        assert f'<td class="number">{worker["pid"]}</td><td class="words">' in shown
        assert "SIGKILL" in shown
