"""Events as they happen, on real sockets: each once, selected, from a position on, for many and for slow clients."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path

import httpx
import pytest
import redis.asyncio

from holdfast import Handlers, TaskSpec, create_broker
from holdfast.core.delivery import Holding
from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings, Settings
from holdfast_config.addresses import parse_proxy
from holdfast_config.web_users import Role, User
from holdfastd.web.access.accounts import Accounts
from holdfastd.web.access.logins import COOKIE
from holdfastd.web.access.proxy import Proxy
from holdfastd.web.live import stream_response
from holdfastd.web.live.event_feed import KEPT, EventBatch, EventFeed, EventSelection
from holdfastd.web.live.event_streams import MOST_PAGES, PAGE
from holdfastd.web.web_process import HEAD_BYTES, PageConnection
from tests.servers import serve
from tests.web.site import TOKEN as SITE_TOKEN
from tests.web.site import site
from tests.web.streams import TOKEN, WITHIN, served, until
from tests.web.test_accounts import ADA, GRACE, HASHES, basic, write

pytestmark = pytest.mark.anyio

handlers = Handlers()


@handlers.register("greet")
async def greet(name: str) -> str:
    return f"hello {name}"


async def test_each_event_comes_once_to_each_who_listens(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here, here.stream() as one, here.stream() as other:
        assert (one.status, one.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert one.headers["cache-control"] == "no-store"
        for number in range(5):
            await here.manager.run_task("hello", task_id=f"t{number}")
        for stream in (one, other):
            seen = [await stream.named() for _ in range(5)]
            assert [(each["event"], each["id"]) for each in seen] == [("accepted", f"t{n}") for n in range(5)]
        stored = (await here.store.events_before("", 1))[0]
        assert (seen[-1]["position"], seen[-1]["at_ms"]) == (stored.position, stored.at_ms)
        assert seen[-1]["at"].endswith("Z")


async def test_events_are_selected_by_kind_task_lane_and_handler(redis_settings: RedisSettings) -> None:
    redis_of = redis_settings
    async with served(redis_of) as here, AsyncExitStack() as stack:

        async def listen(query: str) -> object:
            return await stack.enter_async_context(here.stream(f"/events/stream?{query}"))

        by_kind, by_task, by_lane, by_handler, by_both = [
            await listen(query)
            for query in (
                "kind=canceled&kind=lane-paused",
                "task=b",
                "lane=other",
                "handler=greet",
                "lane=other&handler=greet&kind=accepted",
            )
        ]
        await here.manager.run_task("hello", task_id="a")
        await here.manager.run_task(name="greet", kwargs={"name": "x"}, task_id="b")
        await here.manager.run_task("hello", task_id="c", lane="other")
        await here.manager.run_task(name="greet", kwargs={"name": "x"}, task_id="d", lane="other")
        await here.manager.pause_queue("other")
        for task_id in "abcd":
            await here.manager.cancel_task(task_id)

        async def told(stream: object, count: int) -> list[str]:
            found = [await stream.named() for _ in range(count)]  # type: ignore[attr-defined]
            return [f"{each['event']} {each['id']}" for each in found]

        canceled = [f"canceled {task_id}" for task_id in "abcd"]
        assert await told(by_kind, 5) == ["lane-paused other", *canceled]
        assert await told(by_task, 2) == ["accepted b", "canceled b"]
        assert await told(by_lane, 5) == ["accepted c", "accepted d", "lane-paused other", "canceled c", "canceled d"]
        assert await told(by_handler, 4) == ["accepted b", "accepted d", "canceled b", "canceled d"]
        assert await told(by_both, 1) == ["accepted d"]


async def test_a_client_goes_on_behind_the_last_event_that_it_has_seen(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here:
        for number in range(6):
            await here.manager.run_task("hello", task_id=f"t{number}")
        events = list(reversed(await here.store.events_before("", 6)))
        for headers, query in (({"last_event_id": events[1].position}, ""), ({}, f"?after={events[1].position}")):
            async with here.stream(f"/events/stream{query}", **headers) as stream:
                await here.manager.run_task("hello", task_id=f"new{len(headers)}")
                assert [(await stream.named())["id"] for _ in range(4)] == ["t2", "t3", "t4", "t5"]
                while (found := (await stream.named())["id"]) != f"new{len(headers)}":
                    assert found == "new1"


async def test_a_feed_that_lags_tells_no_event_that_its_listener_has_seen(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here, here.stream("/events/changes") as slow:
        await here.manager.run_task("hello", task_id="t0")
        assert await slow.named("changed") == {}, "the feed reads again in two seconds"
        await here.manager.run_task("hello", task_id="t1")
        seen = (await here.store.events_before("", 1))[0].position
        async with here.stream(f"/events/stream?after={seen}") as stream:
            await here.manager.run_task("hello", task_id="t2")
            assert (await stream.named())["id"] == "t2"


@pytest.mark.parametrize("more", [-1, 0, 1, PAGE, PAGE * (MOST_PAGES - 1), PAGE * (MOST_PAGES - 1) + 7])
async def test_earlier_events_come_by_pages_and_those_behind_the_last_page_are_told_as_left_out(
    redis_settings: RedisSettings, more: int
) -> None:
    key, count = f"{{{redis_settings.queue}}}:events", PAGE + more
    async with served(redis_settings) as here, redis.asyncio.Redis.from_url(redis_settings.url) as client:
        await here.manager.run_task("hello", task_id="t")
        [(first, fields)] = await client.xrange(key)
        async with client.pipeline() as pipe:
            for _ in range(count):
                pipe.xadd(key, fields)
            positions = [position.decode() for position in await pipe.execute()]
        async with here.stream(f"/events/stream?after={first.decode()}") as stream:
            await here.manager.run_task("hello", task_id="new")
            told, left_out = list[str](), list[object]()
            while (message := await stream.message()) and (message.data or {}).get("id") != "new":
                if message.event == "left-out":
                    left_out.append(message.data)
                elif message.data is not None:
                    told.append(message.data["position"])
        most = positions[: PAGE * MOST_PAGES]
        assert told == most
        rest = {"after": most[-1], "before": positions[-1], "count": None}
        assert left_out == ([] if most == positions else [rest])


async def test_events_that_are_no_longer_kept_are_told_as_missing(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here, redis.asyncio.Redis.from_url(redis_settings.url) as client:
        for number in range(6):
            await here.manager.run_task("hello", task_id=f"t{number}")
        events = list(reversed(await here.store.events_before("", 6)))
        await client.xtrim(f"{{{redis_settings.queue}}}:events", maxlen=2, approximate=False)
        async with here.stream(last_event_id=events[0].position) as stream:
            missed = await stream.named("left-out")
            assert missed == {"after": events[0].position, "before": events[4].position, "count": None}
            assert [(await stream.named())["id"] for _ in range(2)] == ["t4", "t5"]


async def test_an_entry_of_several_tasks_has_its_position_at_its_end(redis_settings: RedisSettings) -> None:
    """A client whose connection breaks within an entry hears the whole entry again."""
    async with served(redis_settings) as here, here.stream() as stream:
        await here.manager.run_tasks([TaskSpec(text="hello")] * 5)
        seen = [await stream.message() for _ in range(5)]
        texts = [each for each in seen if each and each.data]
        assert len({each.data["position"] for each in texts}) == 1
        assert [bool(each.id) for each in texts] == [False] * 4 + [True]


async def test_a_page_is_told_that_something_has_changed_not_each_thing(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here, here.stream("/events/changes?task=b") as of_task:
        async with here.stream("/events/changes") as of_all:
            await here.manager.run_tasks([TaskSpec(text="hello")] * 50)
            assert await of_all.named("changed") == {}
        await here.manager.run_task("hello", task_id="b")
        assert await of_task.named("changed") == {}
        assert here.app.state.feed.reads < 10


async def test_the_page_of_a_task_is_told_its_progress(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here:
        store = here.store
        await here.manager.run_task("hello", task_id="b")
        await store.register(Introduction("w", "host", "boot", 1, 0))
        (delivery,) = (await store.pull("w", 1, 1, [redis_settings.queue], [])).deliveries
        async with here.stream("/events/changes?task=b") as of_task:
            await store.show_progress([Holding("b", delivery.claim, "1/4 rows")])
            told = {"done": 1, "total": 4, "text": "rows", "line": "1/4 rows"}
            assert await of_task.named("progress") == told
            await store.show_progress([Holding("b", delivery.claim, "2/4 rows")])
            assert (await of_task.named("progress"))["done"] == 2


async def test_without_a_listener_nothing_is_read(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here:
        feed: EventFeed = here.app.state.feed
        assert not feed.is_reading
        async with here.stream() as stream, here.stream() as other:
            await here.manager.run_task("hello")
            await stream.named()
            await other.named()
            assert feed.is_reading
        await until(lambda: not here.app.state.streams.open and not feed.is_reading)


async def test_a_stream_ends_soon_after_its_user_is_removed(
    redis_settings: RedisSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_response, "LOGIN_EVERY", 0.0)
    users = write(tmp_path / "users", ada=Role.OPERATOR, grace=Role.VIEWER)
    async with (
        served(redis_settings, accounts=Accounts(TOKEN, users=users)) as here,
        here.stream(**basic("ada", ADA)) as stream,
        here.stream(**basic("grace", GRACE)) as other,
    ):
        await here.manager.run_task("hello", task_id="before")
        assert [(await each.named())["id"] for each in (stream, other)] == ["before", "before"]
        write(tmp_path / "users", grace=Role.VIEWER)
        await here.manager.run_task("hello", task_id="after")
        assert await stream.message() is None
        assert (await other.named())["id"] == "after"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER])
async def test_a_stream_ends_soon_after_a_change_of_its_login(
    redis_settings: RedisSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: Role
) -> None:
    """After one of its password, as of a program that has lost it, or of its role."""
    monkeypatch.setattr(stream_response, "LOGIN_EVERY", 0.0)
    users = write(tmp_path / "users", ada=Role.OPERATOR)
    async with (
        served(redis_settings, accounts=Accounts(TOKEN, users=users)) as here,
        here.stream(**basic("ada", ADA)) as stream,
    ):
        await here.manager.run_task("hello", task_id="before")
        assert (await stream.named())["id"] == "before"
        changed = HASHES["grace"] if role is Role.OPERATOR else HASHES["ada"]
        (tmp_path / "users").write_text(f"{User('ada', role, changed)}\n")
        await here.manager.run_task("hello", task_id="after")
        assert await stream.message() is None


async def test_a_stream_ends_soon_after_its_user_has_logged_out(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another process, too: the one that reads the stream only sees that the store has the session no more."""
    monkeypatch.setattr(stream_response, "LOGIN_EVERY", 0.0)
    accounts = Accounts(SITE_TOKEN)
    async with served(redis_settings, accounts=accounts) as here, site(redis_settings, accounts=accounts) as there:
        await there.stranger.post("/login", data={"token": SITE_TOKEN})
        cookie = f"{COOKIE}={there.stranger.cookies[COOKIE]}"
        async with here.stream(authorization="", cookie=cookie) as stream:
            await here.manager.run_task("hello", task_id="before")
            assert (await stream.named())["id"] == "before"
            assert (await there.stranger.post("/logout")).status_code == 303
            await here.manager.run_task("hello", task_id="after")
            assert await stream.message() is None


@pytest.mark.parametrize("path", ["/events/stream", "/api/v1/tasks/t/events", "/api/v1/tasks/t?wait=60"])
async def test_what_is_open_ends_soon_after_its_login_also_while_nothing_happens(
    redis_settings: RedisSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """It would hold its place among those that may be open."""
    monkeypatch.setattr(stream_response, "LOGINS_EVERY", 0.01)
    users = write(tmp_path / "users", ada=Role.OPERATOR, grace=Role.VIEWER)
    async with served(redis_settings, accounts=Accounts(TOKEN, users=users)) as here:
        await here.manager.run_task("hello", task_id="t")
        streams = here.app.state.streams.open
        head = "".join(f"{name}: {value}\r\n" for name, value in {"host": "localhost", **basic("ada", ADA)}.items())
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        async with here.stream(**basic("grace", GRACE)) as other:
            await until(lambda: len(streams) == 2)
            write(tmp_path / "users", grace=Role.VIEWER)
            await until(lambda: len(streams) == 1)
            await here.manager.run_task("hello", task_id="after")
            assert (await other.named())["id"] == "after"
        writer.write_eof()
        async with asyncio.timeout(WITHIN):
            assert b"after" not in await reader.read()
        writer.close()


@pytest.mark.parametrize("login", ["cookie", "proxy"])
async def test_a_stream_of_a_browser_ends_soon_after_its_user_has_another_role(
    redis_settings: RedisSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    monkeypatch.setattr(stream_response, "LOGIN_EVERY", 0.0)
    accounts = Accounts(TOKEN, users=write(tmp_path / "users", ada=Role.OPERATOR))
    proxy = Proxy(parse_proxy("X-User@127.0.0.1")) if login == "proxy" else None
    async with (
        served(redis_settings, accounts=accounts, proxy=proxy) as here,
        site(redis_settings, accounts=accounts, is_there=False) as there,
    ):
        await there.stranger.post("/login", data={"name": "ada", "password": ADA})
        cookie = f"{COOKIE}={there.stranger.cookies[COOKIE]}"
        given = {"x_user": "ada"} if proxy else {"cookie": cookie}
        async with here.stream(authorization="", **given) as stream:
            await here.manager.run_task("hello", task_id="before")
            assert (await stream.named())["id"] == "before"
            write(tmp_path / "users", ada=Role.VIEWER)
            await here.manager.run_task("hello", task_id="after")
            assert await stream.message() is None


async def test_a_client_that_has_gone_is_noticed(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here:
        async with here.stream():
            assert len(here.app.state.streams.open) == 1
        await until(lambda: not here.app.state.streams.open)


async def test_one_that_reads_slowly_is_told_how_many_events_it_has_missed(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here:
        feed: EventFeed = here.app.state.feed
        async with feed.joined(EventSelection(), 0.001), aclosing(feed.news()) as slow, aclosing(feed.news()) as fast:
            seen = 0
            for number in range(KEPT + 10):
                await here.manager.run_task("hello", task_id=f"t{number}")
                while seen <= number:
                    seen += sum(len(each.events) for each in await anext(fast) if isinstance(each, EventBatch))
            gap, *batches = await anext(slow)
            assert isinstance(gap, bytes)
            kept = sum(len(each.events) for each in batches if isinstance(each, EventBatch))
            assert kept <= KEPT + 10 - 10
            assert f'"count":{KEPT + 10 - kept}'.encode() in gap


async def test_a_client_that_never_reads_loses_its_connection_and_holds_up_nobody(
    redis_settings: RedisSettings,
) -> None:
    class Impatient(PageConnection):
        read_within = 0.5

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    async with served(redis_settings, connection=Impatient) as here, here.stream() as never, here.stream() as reading:
        never.reader._transport.pause_reading()  # type: ignore[attr-defined]
        reason = "x" * 400
        async with asyncio.timeout(WITHIN):
            while len(here.app.state.streams.open) == 2:
                await here.manager.pause_queue("other", reason)
                await here.manager.resume_queue("other")
                await reading.named()
        await here.manager.run_task("hello", task_id="last")
        while (await reading.named())["id"] != "last":
            pass


@pytest.mark.parametrize(
    "sent", [b"", b"GET /healthz HT", b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nto"]
)
async def test_a_request_that_comes_slowly_loses_its_connection(redis_settings: RedisSettings, sent: bytes) -> None:
    class Impatient(PageConnection):
        request_within = 0.3

    async with served(redis_settings, connection=Impatient) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(sent)
        async with asyncio.timeout(WITHIN):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        async with here.stream() as stream:  # its request has come, so it may last
            await asyncio.sleep(2 * Impatient.request_within)  # longer than a request may take
            await here.manager.run_task("hello")
            await stream.named()


async def test_a_head_that_is_too_large_is_refused(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-large: " + b"x" * HEAD_BYTES)
        async with asyncio.timeout(WITHIN):
            assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()


async def test_a_request_whose_end_two_headers_name_is_refused(redis_settings: RedisSettings) -> None:
    """A proxy in front may have believed the other one: what follows could be another user's request."""
    async with served(redis_settings) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(
            b"POST /login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        writer.write(b"0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        async with asyncio.timeout(WITHIN):
            answered = await reader.read()
        assert (answered[:12], answered.count(b"HTTP/1.1 ")) == (b"HTTP/1.1 400", 1), answered
        writer.close()


async def test_streams_are_bounded(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here:
        here.app.state.streams.most = 2
        async with here.stream(), here.stream(), here.stream() as third:
            assert (third.status, third.headers["retry-after"]) == (503, "30")
        await until(lambda: not here.app.state.streams.open)
        async with here.stream() as again:
            assert again.status == 200


async def test_a_viewer_may_listen_and_a_stranger_may_not(redis_settings: RedisSettings) -> None:
    async with served(redis_settings, Role.VIEWER) as here:
        for path in ("/events/stream", "/events/changes"):
            async with here.stream(path) as stream:
                assert stream.status == 200
            async with here.stream(path, authorization="") as stranger:
                assert stranger.status == 401
            async with here.stream(path, authorization=f"Bearer {TOKEN}x") as stranger:
                assert stranger.status == 401


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/events/stream?kind=nonsense", {}),
        ("/events/stream?after=soon", {}),
        ("/events/stream", {"last_event_id": "1-2-3"}),
        (f"/events/stream?lane={'x' * 300}", {}),
        ("/events/changes?kind=%3Cscript%3E", {}),
    ],
)
async def test_what_cannot_be_selected_is_a_sentence(
    redis_settings: RedisSettings, path: str, headers: dict[str, str]
) -> None:
    async with served(redis_settings) as here, here.stream(path, **headers) as stream:
        assert (stream.status, stream.headers["content-type"]) == (400, "application/problem+json")


async def test_secrets_in_events_are_hidden(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here, here.stream() as stream:
        await here.manager.pause_queue("other", "password=hunter2")
        assert (await stream.named())["detail"] == "password=***"


async def test_a_store_that_is_away_is_told_and_the_stream_goes_on_by_itself(short_path: Path) -> None:
    kept = ("--appendonly", "yes", "--dir", str(short_path))
    with serve(short_path, *kept) as server:
        async with served(RedisSettings(url=server.url, queue="q")) as here, here.stream() as stream:
            await here.manager.run_task("hello", task_id="before")
            assert (await stream.named())["id"] == "before"
            os.kill(server.pid, signal.SIGKILL)
            away = await stream.named("store")
            assert (away["away"], "cannot be reached" in away["problem"]) == (True, True)
            with serve(short_path, *kept):
                assert await stream.named("store") == {"away": False, "problem": ""}
                await here.manager.run_task("hello", task_id="after")
                assert (await stream.named())["id"] == "after"
                async with here.stream() as second:
                    assert second.status == 200
        async with served(RedisSettings(url=server.url, queue="q")) as here, here.stream() as refused:
            assert refused.status == 503


async def test_a_stream_of_one_task_ends_with_it(redis_settings: RedisSettings) -> None:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from holdfastd.web.live.event_streams import task_stream

    async def follow(request: Request) -> Response:
        return await task_stream(request, request.path_params["task_id"])

    redis_of = redis_settings
    settings = Settings(redis_url=redis_of.url, queue_name=redis_of.queue)
    async with served(redis_of) as here, create_broker(settings) as broker:
        here.app.router.routes.append(Route("/one/{task_id}", follow))
        await here.manager.run_task(name="greet", kwargs={"name": "x"}, task_id="t")
        async with here.stream("/one/none") as none:
            assert none.status == 404
        async with here.stream("/one/t", last_event_id="x") as wrong:
            assert wrong.status == 400
        async with here.stream("/one/t") as stream:
            assert (await stream.named("change"))["state"] == "submitted"
            async with broker.working(handlers):
                while (change := await stream.named("change"))["state"] != "completed":
                    pass
                assert change["steps"][-1]["event"] == "settled"
                assert await stream.named("end") == {}
                assert await stream.message() is None


async def test_pages_are_answered_while_many_listen(redis_settings: RedisSettings) -> None:
    async with served(redis_settings) as here, AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(here.stream()) for _ in range(50)]
        await here.manager.run_task("hello")
        for stream in streams:
            await stream.named()
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{here.port}") as client:
            answer = await client.get("/lanes", headers={"authorization": f"Bearer {TOKEN}"}, timeout=WITHIN)
        assert answer.status_code == 200


async def test_the_page_lists_the_selected_events_and_where_new_ones_come_from(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for number in range(120):
            await here.manager.run_task("hello", task_id=f"t{number}", lane="other" if number % 2 else None)
        newest = (await here.store.events_before("", 1))[0].position
        shown = await here.page("/events?kind=accepted")
        assert shown.count(">accepted</span>") == 100
        assert f'data-stream="/events/stream?kind=accepted&places=true&" data-newest="{newest}"' in shown
        earlier = shown.split('class="more" href="', 1)[1].split('"', 1)[0]
        rest = await here.page(earlier)
        assert (rest.count(">accepted</span>"), "data-stream" in rest) == (20, False)
        of_lane = await here.page("/events?lane=other")
        assert of_lane.count(">accepted</span>") > 10
        assert ">t2<" not in of_lane
        assert ">t119<" in of_lane
        assert await here.page("/events?task=t7")
        assert "No such event" in await here.page("/events?kind=crashed")
