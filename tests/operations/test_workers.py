"""The acts on the supervisor of this host, through each of their faces, with a real supervisor."""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from holdfast_config import RedisSettings
from holdfastd.operations.workers import SCALE_WORKERS, WRITE_STACKS
from tests.cli.conftest import running
from tests.operations.faces import FACES, Case
from tests.servers import serve
from tests.web.site import site

pytestmark = pytest.mark.anyio

HERE = socket.gethostname()
LOST = "the change is made, but not listed in Activity: "
SCALE = Case(SCALE_WORKERS, HERE, ("scale", "2"), ("", ""), {"workers": 2}, answers={"target": 2})


async def test_a_pool_is_scaled_in_the_same_way_by_a_command_and_a_page(short_path: Path) -> None:
    with running(short_path, "examples.wordcount:handle", "--workers", "1") as (cli, _):
        status = cli("status", "--json").document
        redis = RedisSettings(status["store"]["url"], queue=status["store"]["queue"])
        async with site(redis, runtime_dir=str(short_path / "run")) as here:
            for number, workers in enumerate((2, 1)):
                for face in ("command", "form"):
                    words = ("scale", str(workers))
                    case = replace(SCALE, words=words, given={} if face == "command" else {"workers": workers})
                    said = await FACES[face](cli, here, case)
                    assert (said.refusal, said.answer) == ("", {"target": workers} if face == "command" else None)
                    assert (said.note.change, said.note.subject, said.note.is_refused) == (
                        SCALE_WORKERS.name,
                        HERE,
                        False,
                    )
                assert cli("status", "--json").document["target"] == workers
                assert len(await here.store.activity_before("", 10)) == 2 * (number + 1)
            for face in ("command", "form"):
                given = {} if face == "command" else {"workers": 0}
                said = await FACES[face](cli, here, replace(SCALE, words=("scale", "0"), given=given))
                assert "workers: '0' is not allowed: use a whole number from 1 to 10000" in said.refusal
                assert (said.note.change, said.note.is_refused) == (SCALE_WORKERS.name, True)
            said = await FACES["form"](cli, here, Case(WRITE_STACKS, "nobody", (), ("", "{}")))
            assert "the supervisor of this host has no worker nobody" in said.refusal
            assert (said.note.change, said.note.subject, said.note.is_refused) == (WRITE_STACKS.name, "nobody", True)


async def test_a_pool_of_another_queue_is_scaled_and_nothing_is_noted_in_this_one(
    redis_settings: RedisSettings, short_path: Path
) -> None:
    with running(short_path, "examples.wordcount:handle", "--workers", "1") as (cli, _):
        environ = {"REDIS_URL": redis_settings.url, "REDIS_QUEUE_NAME": redis_settings.queue}
        answer = await anyio.to_thread.run_sync(replace(cli, environ=environ), "scale", "2", "--json")
        assert (answer.status, answer.document) == (0, {"target": 2})
        assert f"{LOST}its supervisor serves another queue, or that of another store" in answer.err
        async with site(redis_settings) as here:
            assert not await here.store.activity_before("", 10)


async def test_a_pool_is_scaled_while_its_store_is_away(short_path: Path) -> None:
    (folder := short_path / "s").mkdir()
    with serve(folder) as server:
        environ = {"REDIS_URL": server.url}
        options = ("examples.wordcount:handle", "--workers", "1")
        with running(short_path, *options, environ=environ) as (cli, _):
            os.kill(server.pid, signal.SIGKILL)
            answer = await anyio.to_thread.run_sync(replace(cli, environ=environ), "scale", "2")
            assert (answer.status, answer.out) == (0, "the target is now 2 workers\n")
            assert LOST in answer.err
            assert cli("status", "--json").document["target"] == 2
