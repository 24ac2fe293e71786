"""The HTTP API: the verbs of the command line with its documents, intake of tasks, errors, who may."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

import httpx
import msgspec
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.client.task_spec import TaskSpec
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.task_states import State
from holdfast.core.worker_records import WorkerRecord
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.documents import task_documents
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.api.operations import OPERATIONS
from holdfastd.web.application import application
from holdfastd.web.queue.queue_access import QueueAccess
from tests.web.site import TOKEN, Site, site
from tests.web.test_webhooks_page import end_a_task

pytestmark = pytest.mark.anyio

API = "/api/v1"
SCRIPT = "<script>alert(1)</script>"


def segment(value: str) -> str:
    return quote(value, safe="")


async def ok(answer: httpx.Response, status: int = 200) -> object:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer.json()


def problem(answer: httpx.Response, status: int) -> dict[str, object]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, object] = answer.json()
    assert found["status"] == status
    assert {"type", "title", "detail"} <= found.keys()
    return found


async def submit(here: Site, body: object) -> httpx.Response:
    return await here.program.post(f"{API}/tasks", json=body)


async def test_a_task_is_submitted_once_however_often_it_is_sent(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        body = {"text": "hello", "task_id": "one"}
        assert await ok(await submit(here, body), 201) == {"task_id": "one", "answer": "new"}
        assert await ok(await submit(here, body)) == {"task_id": "one", "answer": "duplicate"}
        other = problem(await submit(here, {"text": "other", "task_id": "one"}), 409)
        assert other["type"] == "urn:holdfast:message-conflict"
        assert (await here.manager.get_task("one")).pending == 0
        await here.manager.cancel_task("one")
        assert await ok(await submit(here, body)) == {"task_id": "one", "answer": "duplicate"}


async def test_a_task_is_as_one_that_is_submitted_in_python(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        spec = {"name": "mail.send", "kwargs": {"to": SCRIPT}, "lane": f"{redis_settings.queue}:mail", "delay": 60}
        await ok(await submit(here, spec | {"task_id": "a", "max_attempts": 7, "metadata": {"a": 1}}), 201)
        await here.manager.run_task(**spec, task_id="b", max_attempts=7, metadata={"a": 1})  # type: ignore[arg-type]
        a, b = [task_documents.whole(await here.manager.get_task(each)) for each in "ab"]
        for name in ("lane", "name", "state", "max_attempts"):
            assert a[name] == b[name]  # type: ignore[literal-required]
        assert a["operation"]["params"]["message"]["parts"] == b["operation"]["params"]["message"]["parts"]


async def test_a_list_is_submitted_as_a_whole_or_not_at_all_when_one_is_invalid(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        receipts = await ok(await submit(here, [{"text": "a"}, {"text": "b", "key": "k"}]), 201)
        assert isinstance(receipts, list)
        assert [each["answer"] for each in receipts] == ["new", "new"]
        wrong = problem(await submit(here, [{"text": "c"}, {"text": "d", "lane": "{x"}]), 400)
        assert wrong["field"] == "[1].lane"
        wrong = problem(await submit(here, [{"text": "c"}, {"text": 5}]), 400)
        assert wrong["field"] == "[1].text"
        assert len((await here.manager.list_tasks()).tasks) == 2
        problem(await submit(here, []), 400)
        problem(await submit(here, [{"text": "x"}] * 1001), 400)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"text": "a", "colour": "red"}', "colour"),
        (b'{"text": 1}', "text"),
        (b'{"text": "a", "delay": -1}', "delay"),
        (b'{"text": "a", "task_id": "a/b"}', "task_id"),
        (b'{"text": "a", "webhook": "ftp://x"}', "webhook"),
        (b'{"text": "a", "after": "x"}', "after"),
        (b"{}", ""),
        (b"7", ""),
        (b"", ""),
        (b'{"text": "a"', ""),
        (b'{"text": "\xff"}', ""),
        (b'{"data": ' + b"[" * 200 + b"]" * 200 + b"}", "data"),
        (b'{"data": ' + b"[" * 100_000, ""),
    ],
)
async def test_bad_bodies_are_refused_by_name(redis_settings: RedisSettings, body: bytes, field: str) -> None:
    async with site(redis_settings) as here:
        headers = {"content-type": "application/json"}
        found = problem(await here.program.post(f"{API}/tasks", content=body, headers=headers), 400)
        assert found.get("field", "") == field
        assert not (await here.manager.list_tasks()).tasks


async def test_a_body_is_bounded_and_json(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        sent = 0

        async def endless():  # type: ignore[no-untyped-def]
            nonlocal sent
            while sent < 1 << 26:
                sent += 1 << 16
                yield b" " * (1 << 16)

        headers = {"content-type": "application/json"}
        problem(await here.program.post(f"{API}/tasks", content=endless(), headers=headers), 413)
        for kind in ({"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}, {}):
            problem(await here.program.post(f"{API}/tasks", content=b'{"text":"a"}', headers=kind), 415)
        large = {"text": "x" * (here.settings.max_message_bytes + 1)}
        problem(await submit(here, large), 400)


async def test_a_result_is_waited_for_within_bounds(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submit(here, {"text": "a", "task_id": "one"})
        found = await ok(await here.program.get(f"{API}/tasks/one?wait=0.05"))
        assert isinstance(found, dict)
        assert found["state"] == "submitted"
        waits = asyncio.create_task(here.program.get(f"{API}/tasks/one", params={"wait": 60}))
        await asyncio.sleep(0)
        await here.manager.cancel_task("one", "enough")
        found = await ok(await waits)
        assert isinstance(found, dict)
        assert (found["state"], found["reason"]) == ("canceled", "enough")
        for wrong in ("-1", "61", "x", "nan"):
            assert problem(await here.program.get(f"{API}/tasks/one?wait={wrong}"), 400)["field"] == "wait"


async def test_tasks_are_listed_by_every_filter_and_by_pages(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for number in range(5):
            await here.manager.run_task("x", task_id=f"t{number}")
        await here.manager.run_task("x", task_id="later", delay=60)
        await here.manager.run_task(name="mail.send", task_id="mail", lane=f"{redis_settings.queue}:mail")

        async def ids(**query: object) -> set[str]:
            found, cursor = set[str](), ""
            while True:
                answer = await here.program.get(f"{API}/tasks", params={**query, "cursor": cursor})  # type: ignore[arg-type]
                page = await ok(answer)
                assert isinstance(page, dict)
                found |= {each["task_id"] for each in page["tasks"]}
                if not (cursor := page["cursor"]):
                    return found

        assert await ids(limit=2) == {"t0", "t1", "t2", "t3", "t4", "later", "mail"}
        assert await ids(state="delayed") == {"later"}
        assert await ids(state=["delayed", "submitted"], name="mail.send") == {"mail"}
        assert await ids(lane=f"{redis_settings.queue}:mail") == {"mail"}
        assert await ids(older="1h") == set()
        await here.manager.run_tasks([TaskSpec(text="needle")], batch="b1")
        assert await ids(batch="b1") == {"b1.1"}
        assert await ids(text="NEEDLE", state="submitted") == {"b1.1"}
        assert await ids(owner="f" * 32) == set()
        page = await ok(await here.program.get(f"{API}/tasks?newest_first=true&state=submitted&limit=1"))
        assert [each["task_id"] for each in page["tasks"]] != ["t0"]  # type: ignore[index]
        assert await ids(newer="1h", state="delayed") == {"later"}
        for query in ("limit=0", "limit=501", "limit=x", "state=odd", "older=soon", "colour=red", "lane=a&lane=b"):
            field = query.partition("=")[0]
            assert problem(await here.program.get(f"{API}/tasks?{query}"), 400)["field"].startswith(field)  # type: ignore[attr-defined]


async def test_the_verbs_of_a_task(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        one = f"{API}/tasks/one"
        await submit(here, {"text": "a", "task_id": "one"})

        async def post(verb: str, body: object = None) -> object:
            return await ok(await here.program.post(f"{one}/{verb}", json=body or {}))

        assert await post("pause", {"reason": "lunch"}) == {"task_id": "one", "state": "suspended"}
        assert "lunch (paused by token over the API, from 192.0.2.7)" in (await here.manager.get_task("one")).reason
        assert await post("resume", {"text": "go on", "message_id": "m2"}) == {"task_id": "one", "state": "submitted"}
        assert await post("messages", {"data": {"a": 1}}) == {"task_id": "one", "state": "submitted"}
        problem(await here.program.post(f"{one}/messages", json={}), 400)
        problem(await here.program.delete(one), 409)
        problem(await here.program.post(f"{one}/retry"), 409)
        assert await post("cancel") == {"task_id": "one", "state": "canceled"}
        problem(await here.program.post(f"{one}/messages", json={"text": "late"}), 409)
        assert await post("retry") == {"task_id": "one", "answer": "new", "runs_as": "one.r1"}
        assert await post("retry") == {"task_id": "one", "answer": "again", "runs_as": "one.r1"}
        why = await ok(await here.program.get(f"{one}/why"))
        assert isinstance(why, dict)
        known = await here.manager.why("one", settings=here.settings)
        assert {**why, "now": ""} == {**known, "now": ""}
        assert await ok(await here.program.delete(one)) == {"task_id": "one", "removed": True}
        problem(await here.program.get(one), 404)
        assert {each.state for each in (await here.manager.list_tasks()).tasks} == {State.SUBMITTED}


async def test_lanes_are_named_by_any_text_in_the_path(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        lane = f"{redis_settings.queue}:a/b?c#d%ü"
        path = f"{API}/lanes/{segment(lane)}"
        assert await ok(await here.program.post(f"{path}/pause", json={"reason": SCRIPT, "create": True})) == {
            "subject": lane,
            "answer": "paused",
        }
        found = await ok(await here.program.get(path))
        assert isinstance(found, dict)
        assert (found["lane"], found["paused"]) == (lane, True)
        assert found["reason"].startswith(SCRIPT)
        await ok(await here.program.put(f"{path}/limits", json={"running": 3, "rate": "100/m", "burst": 5}))
        found = await ok(await here.program.get(path))
        assert isinstance(found, dict)
        assert (found["limit"]["value"], found["rate"]["value"]) == ("3", "100/60000/5")
        await ok(await here.program.put(f"{path}/limits", json={"running": None}))
        await ok(await here.program.delete(f"{path}/limits"))
        assert await ok(await here.program.post(f"{path}/resume")) == {"subject": lane, "answer": "resumed"}
        problem(await here.program.get(f"{API}/lanes/{segment('no such')}"), 400)
        for wrong in ({}, {"rate": "often"}, {"burst": 3}, {"running": 0}, {"colour": 1}):
            problem(await here.program.put(f"{path}/limits", json=wrong), 400)


@pytest.mark.parametrize("body", [b"3\xff\xfe", b'{"reason": 3}]', b'{"reason": 3, "x', b"[" * 5000], ids=range(4))
async def test_a_body_that_is_wrong_twice_is_refused(redis_settings: RedisSettings, body: bytes) -> None:
    """Its first value does not fit, and what follows is no JSON."""
    async with site(redis_settings) as here:
        sent = {"content": body, "headers": {"content-type": "application/json"}}
        problem(await here.program.post(f"{API}/tasks/t/pause", **sent), 400)


async def test_the_verbs_of_a_schedule(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        path = f"{API}/schedules/{segment('each night/ü')}"
        spec = {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "name": "close", "kwargs": {"a": SCRIPT}}
        put = await ok(await here.program.put(path, json=spec), 201)
        assert isinstance(put, dict)
        assert put["word"] == "new"
        assert (await ok(await here.program.put(path, json=spec)))["word"] == "same"  # type: ignore[index]
        assert (await ok(await here.program.get(path)))["spec"] == spec  # type: ignore[index]
        assert (await ok(await here.program.post(f"{path}/pause")))["word"] == "paused"  # type: ignore[index]
        assert (await ok(await here.program.post(f"{path}/resume")))["word"] == "resumed"  # type: ignore[index]
        task = (await ok(await here.program.post(f"{path}/run")))["task_id"]  # type: ignore[index]
        assert (await here.manager.get_task(task)).name == "close"
        assert len((await ok(await here.program.get(f"{path}/next?count=3")))["next"]) == 3  # type: ignore[index]
        history = (await ok(await here.program.get(f"{path}/history")))["history"]  # type: ignore[index]
        assert history[0]["what"] == "fired"
        assert len((await ok(await here.program.get(f"{API}/schedules")))["schedules"]) == 1  # type: ignore[index]
        problem(await here.program.put(path, json={"cron": "often", "text": "x"}), 400)
        problem(await here.program.put(path, json={"cron": "0 2 * * *", "text": "x", "colour": 1}), 400)
        assert (await ok(await here.program.delete(path)))["word"] == "removed"  # type: ignore[index]
        problem(await here.program.get(path), 404)


async def test_batches_dead_letters_and_reports_are_those_of_the_manager(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="a"), TaskSpec(text="b")], batch="b1")
        found = await ok(await here.program.get(f"{API}/batches"))
        assert [each["batch"] for each in found["batches"]] == ["b1"]  # type: ignore[index]
        tasks = await ok(await here.program.get(f"{API}/batches/b1/tasks?limit=1"))
        assert tasks == {"tasks": [{"place": 1, "task_id": "b1.1", "end": "open"}], "more": True}
        assert (await ok(await here.program.post(f"{API}/batches/b1/seal")))["state"] == "sealed"  # type: ignore[index]
        canceled = await ok(await here.program.post(f"{API}/batches/b1/cancel"))
        assert canceled["counts"]["canceled"] == 2  # type: ignore[index]
        for path in ("batches/none", "batches/none/tasks", "batches/none/tasks?after=5"):
            problem(await here.program.get(f"{API}/{path}"), 404)
        events = await ok(await here.program.get(f"{API}/events", params={"task": "b1.1", "kind": "canceled"}))
        assert [each["id"] for each in events["events"]] == ["b1.1"]  # type: ignore[index]
        problem(await here.program.get(f"{API}/events?kind=odd"), 400)
        for path in ("workers", "hosts", "dead", "queue/unreadable", "queue/length", "queue/count", "queue/peek"):
            await ok(await here.program.get(f"{API}/{path}"))
        for path in ("stats", "handlers", "doctor", "lanes"):
            await ok(await here.program.get(f"{API}/{path}"))


async def test_hosts_are_made_quiet_and_resumed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        order = await ok(
            await here.program.post(f"{API}/hosts/quiet", json={"host": "db1", "reason": "moves", "create": True})
        )
        assert order == {"host": "db1", "word": "quiet", "changed": True, "workers": 0}
        assert len((await ok(await here.program.get(f"{API}/hosts")))["quiet"]) == 1  # type: ignore[index]
        [quiet] = await here.store.quiet_hosts()
        assert quiet.by == "token over the API, from 192.0.2.7"
        assert quiet.reason == "moves (ordered by token over the API, from 192.0.2.7)"
        await ok(await here.program.post(f"{API}/hosts/resume", json={"host": "db1"}))
        assert not await here.store.quiet_hosts()
        problem(await here.program.post(f"{API}/hosts/quiet", json={"host": "a b"}), 400)


async def test_unreadable_entries_are_shown_retried_and_removed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        problem(await here.program.get(f"{API}/queue/unreadable/1-a"), 404)
        problem(await here.program.post(f"{API}/queue/unreadable/1-a/retry"), 404)
        problem(await here.program.delete(f"{API}/queue/unreadable/1-a"), 404)
        problem(await here.program.delete(f"{API}/dead/none"), 404)


async def test_webhooks_that_wait_are_listed_tried_now_and_given_up(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for task_id in ("t", "u"):
            await end_a_task(here, redis_settings.queue, task_id)
        first = await ok(await here.program.get(f"{API}/webhooks?limit=1"))
        [shown] = first["webhooks"]  # type: ignore[index]
        assert (first["total"], first["cursor"], shown["task_id"]) == (2, "1", "t")  # type: ignore[index]
        rest = await ok(await here.program.get(f"{API}/webhooks", params={"cursor": "1"}))
        assert (len(rest["webhooks"]), rest["cursor"]) == (1, "")  # type: ignore[index]
        assert "hunter2" not in json.dumps([first, rest])
        path = f"{API}/webhooks/{segment(shown['webhook'])}"
        assert (await ok(await here.program.post(f"{path}/retry")))["answer"] == "due"  # type: ignore[index]
        given_up = await ok(await here.program.post(f"{path}/give-up", json={"reason": "wrong URL"}))
        assert given_up == {"webhook": shown["webhook"], "answer": "given-up"}
        [dropped] = await here.store.events_before("", 1)
        assert dropped.detail.startswith("wrong URL (given up by token over the API")
        problem(await here.program.post(f"{path}/give-up"), 404)
        [kept] = (await ok(await here.program.get(f"{API}/webhooks")))["given_up"]  # type: ignore[index]
        assert (kept["webhook"], kept["why"].partition(" (")[0]) == (shown["webhook"], "wrong URL")
        assert "hunter2" not in json.dumps(kept)
        assert (await ok(await here.program.post(f"{path}/retry")))["answer"] == "due"  # type: ignore[index]
        again = await ok(await here.program.get(f"{API}/webhooks"))
        assert (again["total"], again["given_up"]) == (2, [])  # type: ignore[index]
        problem(await here.program.post(f"{API}/webhooks/none/retry"), 404)
        problem(await here.program.get(f"{API}/webhooks?cursor=x"), 400)


async def test_handlers_have_the_schema_of_their_arguments_without_secrets(redis_settings: RedisSettings) -> None:
    arguments: dict[str, object] = {
        "type": "object",
        "properties": {"password": {"type": "string", "default": "hunter2"}},
    }
    async with site(redis_settings) as here:
        assert await ok(await here.program.get(f"{API}/handlers")) == {"handlers": [], "published": []}
        await here.store.publish_handlers([PublishedHandler("log_in", arguments, summary="Logs in.")])
        found = await ok(await here.program.get(f"{API}/handlers"))
        arguments["properties"] = {"password": {"type": "string", "default": "***"}}
        assert found["published"] == [{"name": "log_in", "arguments": arguments, "summary": "Logs in."}]  # type: ignore[index]


async def test_each_change_is_written_down_with_name_and_address(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submit(here, {"text": "a", "task_id": "one"})
        await here.program.post(f"{API}/tasks/one/cancel")
        await here.program.post(f"{API}/tasks/none/pause")
        found = await ok(await here.program.get(f"{API}/activity"))
        rows = [(e["who"], e["origin"], e["change"], e["subject"], e["refused"]) for e in found["activity"]]  # type: ignore[index]
        assert rows == [
            ("token", "192.0.2.7", "tasks/pause", "none", True),
            ("token", "192.0.2.7", "tasks/cancel", "one", False),
            ("token", "192.0.2.7", "tasks/submit", "one", False),
        ]


def calls(method: str) -> list[str]:
    return [
        API + "/" + "/".join("x" if each.startswith("{") else each for each in operation.segments)
        for operation in OPERATIONS
        if operation.method == method
    ]


def changing() -> list[tuple[str, str]]:
    return [(method, path) for method in ("POST", "PUT", "DELETE") for path in calls(method)]


async def test_a_viewer_changes_nothing_over_the_api(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        for method, path in changing():
            assert problem(await here.program.request(method, path), 403)["detail"]
        for path in calls("GET"):
            assert (await here.program.get(path)).status_code in (200, 404)  # no task is there whose events go on
        assert all(each.is_refused for each in await here.store.activity_before("", 1000))


async def test_a_stranger_learns_nothing_from_the_api(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        paths = [("GET", path) for path in (*calls("GET"), f"{API}/openapi.json", f"{API}/none")]
        for method, path in (*paths, *changing()):
            answer = await here.stranger.request(method, path, headers={"accept": "text/html"})
            problem(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_session_needs_its_secret_for_changes(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await ok(await here.browser.get(f"{API}/tasks"))
        for method, path in changing():
            problem(await here.browser.request(method, path), 403)
        secret = {"x-csrf-token": await here.csrf()}
        await ok(await here.browser.post(f"{API}/tasks", json={"text": "a"}, headers=secret), 201)
        foreign = secret | {"sec-fetch-site": "cross-site"}
        problem(await here.browser.post(f"{API}/tasks", json={"text": "a"}, headers=foreign), 403)


async def test_what_is_not_there_and_methods_that_are_not_allowed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for path in (f"{API}/", f"{API}/none", f"{API}/tasks/a/b/c", f"{API}/lanes/%ff", "/api/v2/tasks", "/api/"):
            problem(await here.program.get(path), 404)
        answer = await here.program.put(f"{API}/tasks")
        problem(answer, 405)
        assert answer.headers["allow"] == "GET, HEAD, POST"
        assert (await here.program.head(f"{API}/tasks")).status_code == 200
        answer = await here.program.get(f"{API}/tasks", headers={"host": "evil.example"})
        problem(answer, 421)


async def test_texts_of_users_come_back_as_data(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submit(here, {"text": SCRIPT, "task_id": "one", "metadata": {SCRIPT: SCRIPT}})
        answer = await here.program.get(f"{API}/tasks/one", headers={"accept": "text/html"})
        assert SCRIPT in json.dumps(await ok(answer))


async def test_a_store_that_is_away_is_told_with_a_time_to_try_again() -> None:
    nowhere = RedisSettings(url="redis://127.0.0.1:1/0", max_connections=2, queue="test:away")
    async with site(nowhere, is_there=False) as here:
        for path in ("tasks", "lanes", "stats"):
            answer = await here.program.get(f"{API}/{path}")
            assert problem(answer, 503)["type"] == "urn:holdfast:store-unavailable"
            assert answer.headers["retry-after"]


async def test_the_openapi_document_has_each_operation_and_its_examples_decode(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        found = await ok(await here.program.get(f"{API}/openapi.json"))
        assert isinstance(found, dict)
        assert found["openapi"] == "3.1.0"
        assert {(method.upper(), path) for path, each in found["paths"].items() for method in each} == {
            (each.method, each.path) for each in OPERATIONS
        }
        assert found["components"]["schemas"]["TaskSpec"]["additionalProperties"] is False
    for operation in OPERATIONS:
        for example in operation.examples.values():
            msgspec.convert(example, operation.hints["body"])
        assert operation.summary
        assert (operation.method == "GET") == (operation.act is None)


async def test_fields_of_schedules_are_those_of_the_spec(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        found = (await here.program.get(f"{API}/openapi.json")).json()
        assert set(found["components"]["schemas"]["ScheduleSpec"]["properties"]) == set(ScheduleSpec.__struct_fields__)


async def test_secrets_of_payloads_and_errors_are_hidden(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task(name="mail.send", kwargs={"password": "s3cret", "to": "a"}, task_id="one")
        await here.manager.cancel_task("one", "password=s3cret")
        for path in ("tasks", "tasks/one", "tasks/one/why", "queue/peek", "events"):
            text = (await here.program.get(f"{API}/{path}")).text
            assert "s3cret" not in text, path
        assert "***" in (await here.program.get(f"{API}/tasks/one")).text


async def test_of_a_list_that_was_refused_in_part_the_rest_is_accepted(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submit(here, {"text": "a", "task_id": "one"})
        body = [{"text": "other", "task_id": "one"}, {"text": "b", "task_id": "two"}]
        detail = problem(await submit(here, body), 409)["detail"]
        assert isinstance(detail, str)
        assert detail.startswith("1 of 2 tasks were refused, and the others accepted; the first refusal: message ")
        assert (await here.manager.get_task("two")).state is State.SUBMITTED


async def test_a_task_is_followed_to_its_end(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submit(here, {"text": "a", "task_id": "one"})
        await here.program.post(f"{API}/tasks/one/cancel", json={"reason": "token=s3cret"})
        answer = await here.program.get(f"{API}/tasks/one/events")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert "event: change" in answer.text
        assert '"canceled"' in answer.text
        assert "event: end" in answer.text
        assert "s3cret" not in answer.text
        problem(await here.program.get(f"{API}/tasks/none/events"), 404)
        problem(await here.program.get(f"{API}/tasks/one/events?after=soon"), 400)
        problem(await here.program.get(f"{API}/tasks/one/events?colour=red"), 400)


async def test_an_error_that_nobody_has_foreseen_is_a_problem_document_too(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:

        class Broken(TaskManager):
            async def workers(self) -> list[WorkerRecord]:
                raise RuntimeError("password=s3cret")

        access = QueueAccess(here.store, Broken(here.store, queue=redis_settings.queue), here.settings)
        app = application(access, Accounts(TOKEN, Role.OPERATOR), AllowedHosts())
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as program:
            answer = await program.get(f"{API}/workers", headers={"authorization": f"Bearer {TOKEN}"})
        assert problem(answer, 500)["detail"] == "the service has failed: its log says how"
        assert "s3cret" not in answer.text
