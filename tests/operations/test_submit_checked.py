"""A task of a named handler is checked by the schemas that its workers have published, on every face that submits."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import anyio
import pytest

from holdfast.core.lanes import LaneBound, LaneLimit
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.worker_records import ServedLane, ServedWork
from holdfast_config import RedisSettings
from tests.cli.commands import Cli
from tests.lua.operations import introduction
from tests.web.site import Site, site

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"region": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["region"],
    "additionalProperties": False,
}
BILLING = PublishedHandler("billing", SCHEMA, lane="money")
MISSPELT = {"regoin": "eu"}
WRONG = {"region": "eu", "count": "three"}
FITS = {"region": "eu", "count": 3}
MEANT = "kwargs: billing: region: is missing; regoin: is not expected, did you mean region?"
TYPE = "kwargs: billing: count: a whole number is expected, not 'three'"


async def api(here: Site, kwargs: object, query: str = "", name: str = "billing") -> tuple[int, str]:
    answer = await here.program.post(f"/api/v1/tasks{query}", json={"name": name, "kwargs": kwargs})
    return answer.status_code, answer.json().get("detail", answer.headers.get("holdfast-warning", ""))


async def test_arguments_that_no_worker_takes_are_refused_at_once(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        await here.store.publish_handlers([BILLING])
        run = partial(anyio.to_thread.run_sync, cli)
        for number, (kwargs, why) in enumerate(((MISSPELT, MEANT), (WRONG, TYPE))):
            assert await api(here, kwargs) == (400, why)
            refused = await run("submit", "--name", "billing", "--data", json.dumps(kwargs))
            assert (refused.status, refused.err) == (2, f"supervisor: {why}\n")
            parts = [{"data": {"name": "billing", "kwargs": kwargs}}]
            message = {"messageId": f"m{number}", "role": "ROLE_USER", "parts": parts}
            sent = {"message": message, "configuration": {"returnImmediately": True}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent}
            answer = await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"})
            assert answer.json()["error"]["message"] == why
        assert not await here.manager.count_tasks()
        assert await api(here, MISSPELT, "?unchecked=true") == (201, "")
        assert (await run("submit", "--name", "billing", "--data", json.dumps(WRONG), "--unchecked")).status == 0
        assert await api(here, FITS) == (201, "")
        tasks = await here.manager.list_tasks()
        assert [task.lane for task in tasks.tasks] == ["money"] * 3


async def test_a_line_of_a_file_is_refused_with_its_number(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        await here.store.publish_handlers([BILLING])
        lines = [json.dumps({"name": "billing", "kwargs": each}).encode() for each in (FITS, MISSPELT)]
        run = partial(cli, "submit", "--jsonl", "-", stdin=b"\n".join(lines))
        refused = await anyio.to_thread.run_sync(run)
        assert (refused.status, f"line 2: {MEANT}" in refused.err) == (1, True)


async def test_arguments_that_another_published_schema_allows_are_accepted(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        other = {**SCHEMA, "properties": {"regoin": {"type": "string"}}, "required": []}
        for schema in (SCHEMA, other, SCHEMA):
            await here.store.publish_handlers([PublishedHandler("billing", schema)])
        assert await api(here, MISSPELT) == (201, "")
        assert (await api(here, WRONG))[0] == 400
        last = BILLING
        for number in range(9):
            last = PublishedHandler("billing", {**SCHEMA, "properties": {f"a{number}": {"type": "string"}}})
            await here.store.publish_handlers([last])
        assert await api(here, WRONG) == (201, "")
        assert await here.store.published_handler("billing") == last


async def test_a_handler_without_a_live_worker_is_accepted_with_a_warning(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert await api(here, MISSPELT) == (201, "")  # no worker has published anything
        await here.store.publish_handlers([BILLING])
        line = "no live worker has the handler 'ship': known: billing"
        assert await api(here, FITS, name="ship") == (201, line)


NEAR = (
    "name: no live worker has the handler 'blling': did you mean billing? (for a handler that is still to come add "
    "--unchecked, or unchecked=true)"
)


async def test_a_name_that_is_nearly_a_handlers_name_is_refused(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        await here.store.publish_handlers([BILLING])
        assert await api(here, FITS, name="blling") == (400, NEAR)
        refused = await anyio.to_thread.run_sync(cli, "submit", "--name", "blling", "--data", json.dumps(FITS))
        assert (refused.status, refused.err) == (2, f"supervisor: {NEAR}\n")
        parts = [{"data": {"name": "blling", "kwargs": FITS}}]
        sent = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": parts}}  # it would wait for the answer
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent}
        answer = (await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"})).json()
        assert (answer["error"]["code"], answer["error"]["message"]) == (-32602, NEAR)
        assert not await here.manager.count_tasks()
        assert (await api(here, FITS, "?unchecked=true", "blling"))[0] == 201
        await here.store.bound([LaneLimit(LaneBound.NAME, "blling", "1/1000/1")])
        assert (await api(here, FITS, name="blling"))[0] == 201  # an operator knows it


async def test_a_task_without_a_handler_is_refused_where_workers_have_named_ones_alone(
    redis_settings: RedisSettings, cli: Cli
) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        run = partial(anyio.to_thread.run_sync, cli)
        await here.store.publish_handlers([BILLING])
        text = {"text": "hello"}
        assert (await here.program.post("/api/v1/tasks", json=text)).status_code == 201  # no worker lives
        await here.store.register(
            replace(introduction("a"), service=ServedWork((ServedLane(redis_settings.queue),), frozenset({"billing"})))
        )
        why = f"name: is missing; no live worker of lane {redis_settings.queue} has a default handler; "
        why += "name a handler, for example: billing"
        answer = await here.program.post("/api/v1/tasks", json=text)
        assert (answer.status_code, answer.json()["detail"]) == (400, why)
        refused = await run("submit", "hello")
        assert (refused.status, refused.err) == (2, f"supervisor: {why}\n")
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [text]}
        sent = {"message": message, "configuration": {"returnImmediately": True}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent}
        agent = await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"})
        assert agent.json()["error"]["message"] == why
        assert (await run("submit", "hello", "--unchecked")).status == 0
        await here.store.publish_handlers([PublishedHandler("", takes_text=True)])
        assert (await run("submit", "hello")).status == 0
