"""Streams of the agent are streams as those of the dashboard and the API: of logins that count, and bounded."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.live import stream_response
from tests.web.streams import TOKEN, WITHIN, Served, Stream, served, until
from tests.web.test_accounts import ADA, GRACE, basic, write

pytestmark = pytest.mark.anyio

VERSIONS = ["1.0", "0.3"]
SUBSCRIBE = {"1.0": "SubscribeToTask", "0.3": "tasks/resubscribe"}
SEND = {"1.0": "SendMessage", "0.3": "message/send"}
STREAM = {"1.0": "SendStreamingMessage", "0.3": "message/stream"}


def request(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def sending(version: str, message_id: str = "m") -> dict[str, Any]:
    role, part = ("ROLE_USER", {"text": "hello"}) if version == "1.0" else ("user", {"kind": "text", "text": "hello"})
    return {"messageId": message_id, "role": role, "parts": [part], **({"kind": "message"} if version == "0.3" else {})}


def following(here: Served, version: str, **headers: str) -> Stream:
    return here.stream("/a2a", body=request(SUBSCRIBE[version], id="t"), a2a_version=version, **headers)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_stream_of_the_agent_ends_soon_after_its_user_is_removed(
    redis_settings: RedisSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(stream_response, "LOGIN_EVERY", 0.0)
    users = write(tmp_path / "users", ada=Role.VIEWER, grace=Role.VIEWER)
    async with served(redis_settings, accounts=Accounts(TOKEN, users=users), web_a2a=True) as here:
        await here.manager.run_task("hello", task_id="t")
        async with (
            following(here, version, **basic("ada", ADA)) as stream,
            following(here, version, **basic("grace", GRACE)) as other,
        ):
            for each in (stream, other):
                assert "result" in await each.named()
            write(tmp_path / "users", grace=Role.VIEWER)
            await here.manager.cancel_task("t", "told after the removal")
            assert await stream.message() is None
            assert "result" in await other.named()


@pytest.mark.parametrize("version", VERSIONS)
async def test_streams_of_the_agent_count_with_the_others_and_the_message_of_a_refused_one_makes_no_task(
    redis_settings: RedisSettings, version: str
) -> None:
    async with served(redis_settings, web_a2a=True) as here, AsyncExitStack() as stack:
        await here.manager.run_task("hello", task_id="t")
        here.app.state.streams.most = 3
        for stream in (here.stream(), here.stream("/api/v1/tasks/t/events"), following(here, version)):
            assert (await stack.enter_async_context(stream)).status == 200
        async with here.stream() as refused:
            assert refused.status == 503
        body = request(STREAM[version], message=sending(version))
        async with here.stream("/a2a", body=body, a2a_version=version) as refused:
            error = json.loads(await refused.reader.readexactly(int(refused.headers["content-length"])))["error"]
            assert (refused.status, refused.headers["retry-after"], error["code"]) == (503, "30", -32603)
        assert await here.manager.count_tasks() == 1
        await stack.aclose()
        await until(lambda: not here.app.state.streams.open)
        async with here.stream("/a2a", body=body, a2a_version=version) as again:
            assert again.status == 200


@pytest.mark.parametrize("version", VERSIONS)
async def test_who_waits_for_a_task_holds_a_place_as_a_stream_does(redis_settings: RedisSettings, version: str) -> None:
    """Else a viewer could take all connections of the process. A message that may not wait is not accepted."""
    async with (
        served(redis_settings, web_a2a=True) as here,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{here.port}",
            headers={"authorization": f"Bearer {TOKEN}", "a2a-version": version, "content-type": "application/json"},
            timeout=WITHIN,
        ) as http,
    ):
        await here.manager.run_task("hello", task_id="t")
        here.app.state.streams.most = 2
        first = asyncio.create_task(http.get("/api/v1/tasks/t?wait=60"))
        body = request(SEND[version], message=sending(version))
        second = asyncio.create_task(http.post("/a2a", content=body))
        await until(lambda: len(here.app.state.streams.open) == 2)
        another = request(SEND[version], message=sending(version, "another"))
        refused = [await http.get("/api/v1/tasks/t?wait=60"), await http.post("/a2a", content=another)]
        assert [(each.status_code, each.headers["retry-after"]) for each in refused] == [(503, "30")] * 2
        async with here.stream() as stream:
            assert stream.status == 503
        assert await here.manager.count_tasks() == 2
        for record in (await here.manager.list_tasks()).tasks:
            await here.manager.cancel_task(record.task_id, "enough")
        assert [each.status_code for each in await asyncio.gather(first, second)] == [200, 200]
        assert not here.app.state.streams.open
        begun = asyncio.create_task(http.post("/a2a", content=another))
        await until(lambda: len(here.app.state.streams.open) == 1)
        begun.cancel()  # the client goes away
        await until(lambda: not here.app.state.streams.open)


@pytest.mark.parametrize("path", ["/a2a", "/api/v1/tasks/t/events"])
async def test_streams_that_are_asked_for_at_once_are_bounded(redis_settings: RedisSettings, path: str) -> None:
    async with served(redis_settings, web_a2a=True) as here, AsyncExitStack() as stack:
        await here.manager.run_task("hello", task_id="t")
        here.app.state.streams.most = 2
        body = request(SUBSCRIBE["1.0"], id="t") if path == "/a2a" else None
        asked = [stack.enter_async_context(here.stream(path, body=body, a2a_version="1.0")) for _ in range(8)]
        assert sorted(each.status for each in await asyncio.gather(*asked)) == [200] * 2 + [503] * 6


@pytest.mark.parametrize("version", VERSIONS)
async def test_one_that_is_refused_takes_no_place(redis_settings: RedisSettings, version: str) -> None:
    async with served(redis_settings, web_a2a=True) as here:
        for body in (request(SUBSCRIBE[version], id="none"), request(SUBSCRIBE[version])):
            async with here.stream("/a2a", body=body, a2a_version=version) as refused:
                assert refused.headers["content-type"] == "application/json"
        assert not here.app.state.streams.open


@pytest.mark.parametrize("version", VERSIONS)
async def test_streams_of_the_agent_end_with_the_process(redis_settings: RedisSettings, version: str) -> None:
    async with served(redis_settings, web_a2a=True) as here:
        await here.manager.run_task("hello", task_id="t")
        async with following(here, version) as stream:
            assert "result" in await stream.named()
            here.app.state.streams.end()
            assert await stream.message() is None


async def test_who_waits_for_a_task_is_told_nothing_once_the_login_has_ended(
    redis_settings: RedisSettings, tmp_path: Path
) -> None:
    """A message of the agent that waits, in both versions, and a task of the API."""
    users = write(tmp_path / "users", ada=Role.OPERATOR)
    login = basic("ada", ADA)
    async with (
        served(redis_settings, accounts=Accounts(TOKEN, users=users), web_a2a=True) as here,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{here.port}", headers=login, timeout=WITHIN) as http,
    ):
        await here.manager.run_task("hello", task_id="t")
        waiting = [asyncio.create_task(http.get("/api/v1/tasks/t?wait=60"))]
        for version in VERSIONS:
            params = {"message": sending(version, version)}
            body, headers = request(SEND[version], **params), {"a2a-version": version}
            waiting.append(
                asyncio.create_task(
                    http.post("/a2a", content=body, headers=headers | {"content-type": "application/json"})
                )
            )
        async with asyncio.timeout(WITHIN):
            while await here.manager.count_tasks() < 3:  # noqa: ASYNC110 - of the server
                await asyncio.sleep(0.01)
        write(tmp_path / "users")
        for record in (await here.manager.list_tasks()).tasks:
            await here.manager.cancel_task(record.task_id, "told after the removal")
        for answer in await asyncio.gather(*waiting):
            assert answer.status_code == 401
            assert "told after" not in answer.text
