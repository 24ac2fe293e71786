"""Access to the pages, and the right to change something: tokens, sessions, roles, hosts, other sites."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
import redis.asyncio

from holdfast.store import open_store
from holdfast.store.redis.admin import MOST_OF_ONE
from holdfast.store.redis.keys import Keys
from holdfast_config import RedisSettings, Settings
from holdfast_config.web_users import Role
from holdfastd.control.allowed_hosts import AllowedHosts
from holdfastd.web.access import forms
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.logins import COOKIE, FREE, LASTS, SessionCookies
from holdfastd.web.application import PAGES
from holdfastd.web.changes.all_changes import CHANGES
from tests.servers import serve
from tests.web.site import HTML, TOKEN, site

pytestmark = pytest.mark.anyio


async def test_without_a_login_each_page_leads_to_it_and_each_change_is_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for route in PAGES:
            answer = await here.stranger.get(f"{route.path}?id=x", headers=HTML)
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/login?next=")
            assert (await here.stranger.get(route.path)).status_code == 401
        for change in CHANGES:
            answer = await here.stranger.post(change.path, data={change.act.subject: "x"}, headers=HTML)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer ", "Bearer", "Basic eDp5", f"Basic {TOKEN}", "ü"])
async def test_a_header_that_is_not_the_token_is_refused(redis_settings: RedisSettings, header: str) -> None:
    async with site(redis_settings) as here:
        answer = await here.stranger.get("/lanes", headers={"authorization": header.encode()})
        assert answer.status_code == 401


async def test_the_token_in_a_header_reads_and_changes_without_a_form(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert (await here.program.get("/lanes")).status_code == 200
        assert (await here.program.post("/lanes/pause", data={"lane": redis_settings.queue})).status_code == 303
        (lane,) = (await here.manager.lanes()).lanes
        assert lane.is_paused


async def test_a_login_goes_on_to_the_page_that_was_asked_for_and_nowhere_else(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for wanted, there in (
            ("/tasks?state=failed", "/tasks?state=failed"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example/", "/"),
            ("javascript:alert(1)", "/"),
        ):
            answer = await here.stranger.post("/login", data={"token": TOKEN, "next": wanted})
            assert (answer.status_code, answer.headers["location"]) == (303, there)


async def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        cookie = (await here.stranger.post("/login", data={"token": TOKEN})).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert f"max-age={LASTS};" in cookie
        assert TOKEN not in cookie


@pytest.mark.parametrize("csrf", ["", "wrong", "ü"])
async def test_a_form_without_the_secret_of_the_session_changes_nothing(
    redis_settings: RedisSettings, csrf: str
) -> None:
    async with site(redis_settings) as here:
        answer = await here.browser.post("/lanes/pause", data={"csrf": csrf, "lane": redis_settings.queue})
        assert answer.status_code == 403
        assert not any(lane.is_paused for lane in (await here.manager.lanes()).lanes)


async def test_the_secret_of_another_session_does_not_count(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        earlier = await here.csrf()
        await here.browser.post("/login", data={"token": TOKEN})
        assert await here.csrf() != earlier
        answer = await here.browser.post("/lanes/pause", data={"csrf": earlier, "lane": redis_settings.queue})
        assert answer.status_code == 403


async def test_a_change_that_another_site_asks_for_is_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        form = {"csrf": await here.csrf(), "lane": redis_settings.queue}
        for origin in ("cross-site", "same-site"):
            answer = await here.browser.post("/lanes/pause", data=form, headers={"sec-fetch-site": origin})
            assert answer.status_code == 403
        assert not any(lane.is_paused for lane in (await here.manager.lanes()).lanes)


async def test_where_everybody_only_reads_no_account_changes_anything(tmp_path: Path) -> None:
    """The setting counts for each way in: both tokens, users of the file with and without a password, and a proxy."""
    users = tmp_path / "users"
    users.write_text("".join(f"{name}:operator:\n" for name in ("ada", "grace")))
    users.chmod(0o600)
    token, of_viewer = "a-token-of-operators", "a-token-of-viewers"
    given = {"web_token": token, "web_viewer_token": of_viewer, "web_users_file": users, "web_proxy_role": "operator"}
    for read_only in (False, True):
        accounts = Accounts.of(Settings(web_read_only=read_only, **given))
        expected = Role.VIEWER if read_only else Role.OPERATOR
        ways = accounts.with_token(token), accounts.named("ada"), accounts.of_proxy("ada"), accounts.of_proxy("other")
        assert [account and account.role for account in ways] == [expected] * len(ways)
        viewer = accounts.with_token(of_viewer)
        assert viewer
        assert viewer.role is Role.VIEWER


async def test_a_viewer_reads_and_changes_nothing(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        await here.manager.run_task("hello", task_id="t")
        assert "Cancel" not in await here.page("/task?id=t")
        for change in CHANGES:
            for client in (here.browser, here.program):
                answer = await client.post(change.path, data={"csrf": await here.csrf(), change.act.subject: "t"})
                assert (answer.status_code, "viewer" in answer.text) == (403, True)
        assert (await here.manager.get_task("t")).state == "submitted"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "",
        "127.0.0.1.evil.example:80",
        "[::1",
        "[::1]x",
        "127.0.0.1:x[",
        "127.0.0.1/x",
    ],
)
async def test_another_name_of_this_host_is_not_served(redis_settings: RedisSettings, host: str) -> None:
    async with site(redis_settings) as here:
        answer = await here.program.get("/lanes", headers={"host": host})
        assert answer.status_code == 421


def test_names_that_are_set_and_addresses_are_served() -> None:
    hosts = AllowedHosts(frozenset({"queue.example.org"}))
    for host in ("queue.example.org", "Queue.Example.org:8080", "localhost:1", "[::1]:80", "192.0.2.1:8080", "::1"):
        assert hosts.allows(host), host


async def test_every_answer_forbids_foreign_scripts_frames_and_copies(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for answer in (
            await here.browser.get("/"),
            await here.browser.get("/task?id=none", headers=HTML),
            await here.stranger.get("/login"),
            await here.stranger.get("/lanes"),
            await here.stranger.get("/lanes", headers={"host": "evil.example"}),
        ):
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["cache-control"] == "no-store"


async def test_wrong_tokens_cost_a_wait(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for _ in range(FREE):
            answer = await here.stranger.post("/login", data={"token": "wrong"})
            assert (answer.status_code, "not known" in answer.text) == (403, True)
        answer = await here.stranger.post("/login", data={"token": TOKEN})
        assert (answer.status_code, "try again in" in answer.text) == (429, True)
        assert 1 <= int(answer.headers["retry-after"]) <= 10


def test_a_cookie_is_of_its_key_whole_and_young() -> None:
    accounts = Accounts("key", viewer_token="viewer")
    account = accounts.named("viewer-token")
    assert account
    cookies = SessionCookies(accounts)
    value = cookies.issue(account)
    visitor = cookies.read(value)
    assert visitor
    assert (visitor.name, visitor.role, bool(visitor.csrf)) == ("viewer-token", Role.VIEWER, True)
    for other in (Accounts("other", viewer_token="viewer"), Accounts("key"), Accounts("key", viewer_token="another")):
        assert SessionCookies(other).read(value) is None
    for wrong in (value[:-1], "", *map(cookies._signer.dumps, (["token", "mark", "x"], "token", [1, 2, 3], ["a"]))):
        assert cookies.read(str(wrong)) is None


def test_a_cookie_counts_for_as_long_as_a_session_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = Accounts("key", viewer_token="viewer")
    account = accounts.named("viewer-token")
    assert account
    cookies, begun = SessionCookies(accounts), time.time()
    monkeypatch.setattr(time, "time", lambda: begun)
    value = cookies.issue(account)
    monkeypatch.setattr(time, "time", lambda: begun + LASTS - 1)
    assert cookies.read(value)
    monkeypatch.setattr(time, "time", lambda: begun + LASTS + 2)
    assert cookies.read(value) is None


async def test_after_a_logout_the_browser_has_no_session(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert COOKIE in here.browser.cookies
        await here.change("/logout")
        assert COOKIE not in here.browser.cookies
        assert (await here.browser.get("/lanes", headers=HTML)).status_code == 303


async def test_a_copied_cookie_counts_no_more_after_the_logout_in_any_process(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, site(redis_settings) as there:
        copied, csrf = {"cookie": f"{COOKIE}={here.browser.cookies[COOKIE]}"}, await here.csrf()
        for one in (here, there):
            assert (await one.stranger.get("/lanes", headers=copied)).status_code == 200
        await here.change("/logout")
        async with site(redis_settings) as restarted:
            for one in (here, there, restarted):
                assert (await one.stranger.get("/api/v1/lanes", headers=copied)).status_code == 401
                form = {"csrf": csrf, "lane": redis_settings.queue}
                assert (await one.stranger.post("/lanes/pause", data=form, headers=copied)).status_code == 401
        assert (await there.browser.get("/lanes")).status_code == 200, "another session goes on"


async def test_a_login_ends_the_session_that_the_browser_had(redis_settings: RedisSettings) -> None:
    """Its cookie is replaced, so nobody could log out of it any more; a login that fails changes nothing."""
    async with site(redis_settings) as here:
        copied = {"cookie": f"{COOKIE}={here.browser.cookies[COOKIE]}"}
        assert (await here.browser.post("/login", data={"token": "wrong"})).status_code == 403
        assert (await here.stranger.get("/lanes", headers=copied)).status_code == 200
        assert (await here.browser.post("/login", data={"token": TOKEN})).status_code == 303
        assert (await here.browser.get("/lanes")).status_code == 200
        assert (await here.stranger.get("/lanes", headers=copied)).status_code == 401


@pytest.mark.parametrize("path", ["/lanes/pause", "/api/v1/lanes/bindu:tasks/pause"])
async def test_a_change_that_comes_whole_after_the_logout_changes_nothing(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Its head came before. A body may take some time to come."""
    monkeypatch.setattr(forms, "PROMPTLY", 0.0)
    async with site(redis_settings) as here:
        csrf, lane = await here.csrf(), redis_settings.queue
        body = json.dumps({"reason": "late"}) if "api" in path else urlencode({"csrf": csrf, "lane": lane})
        kind = "application/json" if "api" in path else "application/x-www-form-urlencoded"

        async def slowly() -> AsyncIterator[bytes]:
            yield body[:5].encode()
            assert (await here.stranger.post("/logout", headers=copied)).status_code == 303
            yield body[5:].encode()

        copied = {"cookie": f"{COOKIE}={here.browser.cookies[COOKIE]}"}
        headers = {"content-type": kind, "x-csrf-token": csrf}
        answer = await here.browser.post(path.replace("bindu:tasks", lane), content=slowly(), headers=headers)
        assert answer.status_code == 401
        assert not any(each.is_paused for each in (await here.manager.lanes()).lanes)


async def test_a_session_that_the_store_does_not_have_counts_nowhere(short_path: Path) -> None:
    with serve(short_path) as server:
        async with site(RedisSettings(url=server.url, queue="q")) as here:
            assert (await here.browser.get("/api/v1/lanes")).status_code == 200
            async with redis.asyncio.Redis.from_url(server.url) as client:
                await client.flushall()
            assert (await here.browser.get("/api/v1/lanes")).status_code == 401, "the store has lost it"
            await here.browser.post("/login", data={"token": TOKEN})
            os.kill(server.pid, signal.SIGKILL)
            assert (await here.browser.get("/api/v1/lanes")).status_code == 503
            assert (await here.browser.post("/workers/scale", data={"csrf": "x"})).status_code == 503
            assert (await here.browser.get("/login")).status_code == 200
            assert (await here.browser.get("/static/pages.js")).status_code == 200


async def test_sessions_that_are_over_are_forgotten(redis_settings: RedisSettings) -> None:
    async with open_store(redis_settings) as store:
        await store.begin_web_session("old", 1_000, 2_000)
        await store.begin_web_session("new", 1_500, 3_000)
        assert (await store.has_web_session("old"), await store.has_web_session("new")) == (True, True)
        await store.begin_web_session("later", 2_000, 4_000)
        assert (await store.has_web_session("old"), await store.has_web_session("new")) == (False, True)


async def test_who_logs_in_again_and_again_fills_no_store_and_ends_no_session_of_others(
    redis_settings: RedisSettings,
) -> None:
    viewer = "the token of a viewer"
    accounts = Accounts(TOKEN, viewer_token=viewer)
    async with site(redis_settings, accounts=accounts) as here, redis.asyncio.from_url(redis_settings.url) as client:
        cookies = list[dict[str, str]]()
        for _ in range(MOST_OF_ONE + 5):
            answer = await here.stranger.post("/login", data={"token": viewer})
            cookies.append({"cookie": f"{COOKIE}={answer.cookies[COOKIE]}"})
            here.stranger.cookies.clear()
        assert await client.zcard(Keys(redis_settings.queue)["web_sessions"]) == MOST_OF_ONE + 1
        assert (await here.stranger.get("/lanes", headers=cookies[-1])).status_code == 200
        assert (await here.browser.get("/lanes")).status_code == 200, "another user"


async def test_a_body_that_is_too_large_is_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for path in ("/login", "/lanes/pause"):
            answer = await here.browser.post(path, content=b"x" * (2 << 20))
            assert answer.status_code == 413
