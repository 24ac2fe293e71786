"""A task of a named handler is checked by the schemas that its workers have published, on every face that submits."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

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


async def test_keys_that_other_queues_use_are_answered_with_the_right_one(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.publish_handlers([BILLING])
        task = {"name": "billing", "args": FITS}
        for body, place in ((task, "args"), ([task], "[0].args")):
            answer = await here.program.post("/api/v1/tasks", json=body)
            assert answer.status_code == 400
            assert answer.json()["detail"] == f"{place}: not possible here; did you mean kwargs?"
        assert await api(here, {"kwargs": FITS}) == (400, WRAPPED)


WRAPPED = (
    "kwargs: billing: region: is missing; kwargs: is not expected; give the arguments themselves, not an "
    "object `kwargs` with them"
)


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


NEAR = "name: no live worker has the handler 'blling': did you mean billing?"
BY_COMMAND = f"{NEAR} (for a handler that is still to come add --unchecked)"
BY_API = f"{NEAR} (for a handler that is still to come add unchecked=true)"


async def by_agent(here: Site, name: str) -> dict[str, Any]:
    """The answer to a message for a handler, which does not wait for the task."""
    message = {"messageId": name, "role": "ROLE_USER", "parts": [{"data": {"name": name, "kwargs": FITS}}]}
    params = {"message": message, "configuration": {"returnImmediately": True}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    answer = await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"})
    return {**answer.json(), "warning": answer.headers.get("holdfast-warning", "")}


async def test_a_name_that_is_nearly_a_handlers_name_is_refused(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        await here.store.publish_handlers([BILLING])
        assert await api(here, FITS, name="blling") == (400, BY_API)
        refused = await anyio.to_thread.run_sync(cli, "submit", "--name", "blling", "--data", json.dumps(FITS))
        assert (refused.status, refused.err) == (2, f"supervisor: {BY_COMMAND}\n")
        assert (await by_agent(here, "blling"))["error"]["message"] == NEAR, "no option of others"
        assert not await here.manager.count_tasks()
        assert (await api(here, FITS, "?unchecked=true", "blling"))[0] == 201
        await here.store.bound([LaneLimit(LaneBound.NAME, "blling", "1/1000/1")])
        assert (await api(here, FITS, name="blling"))[0] == 201  # an operator knows it


async def test_an_agent_refuses_an_unknown_handler_that_no_live_worker_takes(redis_settings: RedisSettings) -> None:
    """Its client would wait for minutes. Without a live worker the message is accepted with a warning."""
    async with site(redis_settings, web_a2a=True) as here:
        await here.store.publish_handlers([BILLING])
        accepted, line = await by_agent(here, "ship"), "no live worker has the handler 'ship': known: billing"
        assert ("result" in accepted, accepted["warning"]) == (True, line)
        lanes = (ServedLane(redis_settings.queue),)
        await here.store.register(replace(introduction("a"), service=ServedWork(lanes, frozenset({"billing"}))))
        why = f"name: no live worker of lane {redis_settings.queue} has handler 'sail'; known: billing"
        assert (await by_agent(here, "sail"))["error"]["message"] == why
        assert "result" in await by_agent(here, "billing")
        await here.store.register(replace(introduction("b"), service=ServedWork(lanes, None)))
        assert "result" in await by_agent(here, "cast"), "this worker takes every name"


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


async def test_a_schedule_is_checked_as_its_tasks_would_be(
    redis_settings: RedisSettings, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "shop.toml"
    run = partial(anyio.to_thread.run_sync, cli)
    async with site(redis_settings) as here:
        await here.store.publish_handlers([BILLING])
        for name, kwargs, why in (("billing", MISSPELT, MEANT), ("billing", WRONG, TYPE), ("blling", FITS, NEAR)):
            by_command, by_api = (BY_COMMAND, BY_API) if why == NEAR else (why, why)
            rule: dict[str, object] = {"every": "5m", "name": name, "kwargs": kwargs}
            put = await here.program.put("/api/v1/schedules/s", json=rule)
            assert (put.status_code, put.json()["detail"]) == (400, f"schedules.s: {by_api}")
            data = json.dumps(kwargs)
            refused = await run("schedules", "set", "s", "--every", "5m", "--name", name, "--data", data)
            assert (refused.status, refused.err) == (2, f"supervisor: schedules.s: {by_command}\n")
            file.write_text(
                f"[schedules.first]\nevery = '1h'\ntext = 'x'\n[schedules.s]\nevery = '5m'\nname = '{name}'\n"
                + "".join(f"kwargs.{key} = {value!r}\n" for key, value in kwargs.items())
            )
            refused = await run("schedules", "apply", str(file))
            assert (refused.status, refused.err) == (2, f"supervisor: {file}: schedules.s: {by_command}\n")
            form = {"schedule_id": "s", "way": "every", "rule": "5m", "name": name, "arguments": data}
            page = await here.change("/schedules/set", **form)
            assert (page.status_code, why in unescape(page.text)) == (400, True)
            assert not (await here.manager.schedules.list()).schedules
            assert (await here.program.put("/api/v1/schedules/api?unchecked=true", json=rule)).is_success
            given = ("--every", "5m", "--name", name, "--data", data, "--unchecked")
            assert (await run("schedules", "set", "command", *given)).status == 0
            assert (await run("schedules", "apply", str(file), "--unchecked")).status == 0
            answer = await here.change("/schedules/set", **form | {"schedule_id": "form", "unchecked": "true"})
            assert answer.status_code == 303
            for made in ("api", "command", "first", "form", "s"):
                await here.manager.schedules.remove(made)


async def test_a_schedule_without_a_lane_gets_that_of_its_handler_on_each_face(
    redis_settings: RedisSettings, cli: Cli, tmp_path: Path
) -> None:
    file, run = tmp_path / "shop.toml", partial(anyio.to_thread.run_sync, cli)
    file.write_text("[schedules.file]\nevery = '5m'\nname = 'billing'\nkwargs.region = 'eu'\n")
    rule: dict[str, object] = {"every": "5m", "name": "billing", "kwargs": FITS}
    form = {"way": "every", "rule": "5m", "name": "billing", "arg.region": "eu", "arg.count": "3"}
    async with site(redis_settings) as here:
        await here.store.publish_handlers([BILLING])
        assert (await here.program.put("/api/v1/schedules/api", json=rule)).is_success
        assert (await here.program.put("/api/v1/schedules/own", json={**rule, "lane": "fast"})).is_success
        given = ("--every", "5m", "--name", "billing", "--data", json.dumps(FITS))
        assert (await run("schedules", "set", "command", *given)).status == 0
        assert (await run("schedules", "apply", str(file))).status == 0
        assert (await run("schedules", "diff", str(file))).status == 0
        assert (await here.change("/schedules/set", schedule_id="form", **form)).status_code == 303
        found = [await here.manager.schedules.get(name) for name in ("api", "own", "command", "file", "form")]
        specs = [json.loads(each.definition.spec) for each in found]
        assert [each["lane"] for each in specs] == ["money", "fast", "money", "money", "money"]
        assert specs[-1]["kwargs"] == FITS


async def test_a_schedule_of_a_handler_without_a_live_worker_is_set_with_a_warning(
    redis_settings: RedisSettings, cli: Cli
) -> None:
    async with site(redis_settings) as here:
        await here.store.publish_handlers([BILLING])
        made = await anyio.to_thread.run_sync(cli, "schedules", "set", "s", "--every", "5m", "--name", "ship")
        assert (made.status, made.err) == (0, "supervisor: no live worker has the handler 'ship': known: billing\n")
        rule = {"schedule": "STOP", "name": "blling"}
        assert (await here.program.put("/api/v1/schedules/s", json=rule)).is_success  # it makes no tasks
