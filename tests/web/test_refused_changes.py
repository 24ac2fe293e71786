"""Each change that is refused is in Activity, whoever refuses it: with who asked, from where, for what, and why."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.activity import Activity
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.web.a2a.methods import METHODS
from holdfastd.web.api.operations import OPERATIONS
from holdfastd.web.changes.all_changes import CHANGES
from holdfastd.web.queue.queue_access import HOUR, MOST, MOST_REFUSALS, RefusalBound
from tests.web.site import Site, site
from tests.web.streams import served

pytestmark = pytest.mark.anyio

OF_MANY = {
    "/bulk/begin": ({"verb": "cancel"}, "bulk/begin", ""),
    "/tasks/chosen": ({"verb": "retry", "task_id": ["a", "b"]}, "tasks/retry", "a and 1 more"),
    "/bulk/stop": ({"change_id": "c"}, "bulk/stop", "c"),
    "/bulk/go-on": ({"change_id": "c"}, "bulk/go-on", "c"),
}
FORMS: list[tuple[str, dict[str, Any], str, str]] = [
    *((change.path, {change.act.subject: "t"}, change.path[1:], "t") for change in CHANGES),
    *((path, fields, name, subject) for path, (fields, name, subject) in OF_MANY.items()),
]


class Notes:
    """The entries of Activity since the last look."""

    def __init__(self, here: Site) -> None:
        self._here, self._seen = here, 0

    async def new(self) -> list[Activity]:
        entries = await self._here.store.activity_before("", 1000)
        fresh = entries[: len(entries) - self._seen]
        self._seen = len(entries)
        return list(reversed(fresh))

    async def refused(self, who: str = "token") -> tuple[str, str, str]:
        """Change, subject and reason of the one that is new."""
        (one,) = await self.new()
        assert (one.is_refused, one.who, one.origin) == (True, who, "192.0.2.7")
        return one.change, one.subject, one.outcome


def a2a(method: str, params: dict[str, Any], version: str = "1.0") -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return {"url": "/a2a", "json": request, "headers": {"a2a-version": version}}


async def test_a_viewer_who_sends_a_form(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        notes = Notes(here)
        for path, fields, change, subject in FORMS:
            for client in (here.browser, here.program):
                assert (await client.post(path, data=fields)).status_code == 403
                assert await notes.refused() == (change, subject, "a viewer may change nothing: log in as an operator")


async def test_a_viewer_who_calls_the_api(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        notes = Notes(here)
        for operation in OPERATIONS:
            path = "/".join("x" if each.startswith("{") else each for each in operation.segments)
            answer = await here.program.request(operation.method, f"/api/v1/{path}")
            if operation.act:
                assert answer.status_code == 403
                change, subject, why = await notes.refused()
                assert (change, subject, "viewer" in why) == (
                    operation.act.name,
                    "/".join("x" for _ in operation.fields),
                    True,
                )
            else:
                assert await notes.new() == []


async def test_a_viewer_who_calls_the_agent(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER, web_a2a=True) as here:
        notes = Notes(here)
        for method in METHODS:
            answer = await here.program.post(**a2a(method.name, {"id": "x", "taskId": "t"}, method.version))
            if method.act:
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, -32600)
                assert await notes.refused() == (
                    method.act.name,
                    "t",
                    "a viewer may change nothing: log in as an operator",
                )
            else:
                assert await notes.new() == []
        for message, noted in (({}, ("tasks/submit", "new task")), ({"taskId": "t"}, ("tasks/message", "t"))):
            await here.program.post(**a2a("SendMessage", {"message": message}))
            assert (await notes.refused())[:2] == noted


async def test_a_call_of_the_agent_that_is_refused_before_its_method_is_known(redis_settings: RedisSettings) -> None:
    """A change without the version that has it, one that cannot be read, one that is too large; not what only reads."""
    async with site(redis_settings, Role.VIEWER, web_a2a=True, max_message_bytes=1024) as here:
        notes = Notes(here)
        for method in METHODS:
            other = "0.3" if method.version == "1.0" else "1.0"
            for version in (other, "7.7"):
                call = a2a(method.name, {"id": "t"}, version)
                assert (await here.program.post(**call)).json()["error"]["code"] in {-32601, -32009}
                if method.act:
                    assert (await notes.refused())[:2] == (method.act.name, "t")
                else:
                    assert await notes.new() == []
        known = a2a("SendMessage", {"message": {"taskId": "t"}})
        for call in (
            {**a2a("NoMethod", {})},
            {**known, "json": {"method": "SendMessage"}},
            {**known, "json": [known["json"]]},
            {"url": "/a2a", "content": b"{", "headers": {"content-type": "application/json"}},
            {"url": "/a2a", "content": b"{}", "headers": {"content-type": "text/plain"}},
            {"url": "/a2a/", "content": b"x" * (1 << 20), "headers": {"content-type": "application/json"}},
        ):
            assert "error" in (await here.program.post(**call)).json()
            assert (await notes.refused())[0] == "a2a"


async def test_a_message_for_which_too_many_streams_are_open(redis_settings: RedisSettings) -> None:
    async with served(redis_settings, web_a2a=True) as here:
        here.app.state.streams.most = 0
        for version, method in (("1.0", "SendStreamingMessage"), ("0.3", "message/stream")):
            call = a2a(method, {"message": {"taskId": "t"}}, version)
            async with here.stream("/a2a", body=json.dumps(call["json"]).encode(), a2a_version=version) as refused:
                assert refused.status == 503
        entries = await here.store.activity_before("", 10)
        assert [(each.change, each.subject, each.is_refused) for each in entries] == [("tasks/message", "t", True)] * 2
        assert "streams and waiting requests are open" in entries[0].outcome


@pytest.mark.parametrize("csrf", ["", "wrong"])
async def test_a_form_without_the_secret_of_its_session(redis_settings: RedisSettings, csrf: str) -> None:
    async with site(redis_settings) as here:
        notes = Notes(here)
        for path, fields, change, subject in FORMS:
            assert (await here.browser.post(path, data={**fields, "csrf": csrf})).status_code == 403
            name, about, why = await notes.refused()
            assert (name, about, "another session" in why) == (change, subject, True)
        assert (await here.browser.post("/api/v1/tasks/t/cancel", headers={"x-csrf-token": csrf})).status_code == 403
        assert (await notes.refused())[:2] == ("tasks/cancel", "t")


async def test_what_another_site_asks_for(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        notes = Notes(here)
        for path in ("/lanes/pause", "/api/v1/tasks/t/cancel", "/a2a"):
            for client in (here.browser, here.program):
                assert (await client.post(path, headers={"sec-fetch-site": "cross-site"})).status_code == 403
                assert await notes.refused() == (
                    path[1:],
                    "",
                    "the change was refused: a page of another site asked for it",
                )


async def test_what_does_not_fit(redis_settings: RedisSettings) -> None:
    """A form that is too large, a body that cannot be read, parameters of another type, a verb that is none."""
    async with site(redis_settings, web_a2a=True) as here:
        notes = Notes(here)
        assert (await here.change("/lanes/pause", lane="x" * (2 << 20))).status_code == 413
        assert (await notes.refused())[0] == "lanes/pause"
        assert (await here.change("/bulk/begin", verb="nonsense")).status_code == 400
        assert (await notes.refused())[0] == "bulk/begin"
        assert (await here.change("/tasks/chosen", verb="cancel")).status_code == 400
        assert (await notes.refused())[0] == "tasks/cancel"
        for body in ({"text": 7}, {"unknown": 1}):
            assert (await here.program.post("/api/v1/tasks", json=body)).status_code == 400
            assert (await notes.refused())[0] == "tasks/submit"
        assert (
            await here.program.post("/api/v1/tasks", content=b"{", headers={"content-type": "x"})
        ).status_code == 415
        assert (await notes.refused())[0] == "tasks/submit"
        for method in METHODS:
            if method.act:
                assert (await here.program.post(**a2a(method.name, {"id": 7}, method.version))).json()["error"]
                assert (await notes.refused())[0] == method.act.name


async def test_a_browser_s_session_that_speaks_to_the_agent(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        notes = Notes(here)
        assert (await here.browser.post(**a2a("SendMessage", {}))).status_code == 403
        assert (await notes.refused())[0] == "a2a"


async def test_strangers_write_nothing(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        notes = Notes(here)
        for path in ("/lanes/pause", "/api/v1/tasks/t/cancel", "/a2a", "/login"):
            for headers in ({}, {"sec-fetch-site": "cross-site"}, {"authorization": "Bearer nobody", "host": "evil"}):
                await here.stranger.post(path, headers=headers, data={"token": "nobody"})
        assert await notes.new() == []


def test_who_is_refused_again_and_again_drives_out_no_other() -> None:
    bound, refused = RefusalBound(), Activity("vic", "o", "tasks/cancel", "t").refused("x" * MOST)
    written = [bound.admitted(refused, now) for now in range(MOST_REFUSALS + 5)]
    assert written[:-6] == [refused] * (MOST_REFUSALS - 1)
    last = written[-6]
    assert last is not None
    assert (len(last.outcome), "the last of 1000 refusals of vic" in last.outcome) == (MOST, True)
    assert written[-5:] == [None] * 5
    done, other = replace(refused, is_refused=False), replace(refused, who="ada")
    assert [bound.admitted(each, 10.0) for each in (done, other)] == [done, other]
    assert bound.admitted(refused, HOUR + 1) == refused
