"""The proxy does what its actions say: what the client hears, and how often the server executes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.faults.proxy import Action, Proxy
from tests.faults.proxy.resp import Request, end
from tests.faults.proxy.rules import PATIENCE
from tests.servers import SOCKET, valkey


@pytest.fixture
def proxy(short_path: Path) -> Iterator[Proxy]:
    with valkey(short_path), Proxy(short_path / "proxy.sock", short_path / SOCKET) as proxy:
        yield proxy


def client(url: str, seconds: float | None) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=seconds, retry=Retry(NoBackoff(), 0), protocol=2)


@pytest.mark.parametrize(
    ("action", "heard", "at_once", "in_the_end"),
    [
        (Action.WATCH, 1, 1, 1),
        (Action.DROP, redis.TimeoutError, 0, 0),
        (Action.CUT, redis.ConnectionError, 1, 1),
        (Action.TRUNCATE, redis.ConnectionError, 1, 1),
        (Action.HOLD, redis.TimeoutError, 0, 1),
        (Action.DELAY, redis.TimeoutError, 1, 1),
        (Action.DUPLICATE, 1, 1, 2),
        (Action.HALF_CLOSE_DOWN, redis.ConnectionError, 1, 1),
        (Action.BLACK_HOLE, redis.TimeoutError, 0, 1),
    ],
)
def test_one_request_meets_the_fault(
    proxy: Proxy, action: Action, heard: int | type[Exception], at_once: int, in_the_end: int, short_path: Path
) -> None:
    seconds = 1.0 if heard is redis.TimeoutError else PATIENCE
    with client(proxy.url, seconds) as through, client(f"unix://{short_path / SOCKET}", None) as direct:
        assert through.incr("before") == 1
        rule = proxy.on("INCRBY", action, about="met")
        if isinstance(heard, int):
            assert through.incr("met") == heard
        else:
            with pytest.raises(heard):
                through.incr("met")
        rule.wait()
        if action is not Action.DUPLICATE:
            assert int(direct.get("met") or 0) == at_once
        rule.release()
        if action in {Action.HOLD, Action.DUPLICATE}:
            assert rule.answer() == b":%d\r\n" % in_the_end
        if action is Action.BLACK_HOLE:
            assert direct.blpop(["never"], timeout=0.01) is None  # what came before on the server's sockets is done
        assert int(direct.get("met") or 0) == in_the_end
        assert through.incr("before") == 2  # by a new connection, where the old one is gone


def test_server_that_sees_the_end_of_the_stream_has_executed_what_came_before(proxy: Proxy, short_path: Path) -> None:
    with client(proxy.url, PATIENCE) as through, client(f"unix://{short_path / SOCKET}", None) as direct:
        rule = proxy.on("INCRBY", Action.HALF_CLOSE_UP)
        with suppress(redis.ConnectionError):
            assert through.incr("met") == 1
        rule.wait()
        assert direct.get("met") == b"1"
        through.connection_pool.disconnect()  # the server closes this connection now or later
        assert through.incr("met") == 2


def test_rule_meets_the_nth_and_as_many_as_it_says(proxy: Proxy) -> None:
    with client(proxy.url, PATIENCE) as through:
        proxy.on("INCRBY", Action.CUT, nth=2, times=2)
        heard: list[object] = []
        for _ in range(4):
            try:
                heard.append(through.incr("n"))
            except redis.ConnectionError:
                heard.append(None)
        assert heard == [1, None, None, 4]


def test_nothing_passes_while_the_host_is_cut_off(proxy: Proxy) -> None:
    with client(proxy.url, 1.0) as through:
        proxy.cut_off()
        for _ in range(2):  # the connection that was there, and a new one
            with pytest.raises(redis.TimeoutError):
                through.ping()
        proxy.heal()
        assert through.ping() is True


@pytest.mark.parametrize(
    "value",
    [
        b"+OK\r\n",
        b":-1\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$4\r\na\r\nb\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n",
    ],
)
def test_a_value_ends_where_it_ends(value: bytes) -> None:
    assert [end(value[:length]) for length in range(len(value))] == [None] * len(value)
    assert end(value + b"+more\r\n") == len(value)


def test_a_request_is_called_by_what_it_asks_for() -> None:
    raw = b"*3\r\n$5\r\nblpop\r\n$12\r\n{q}:bell:q\r\n\r\n$1\r\n0\r\n"
    assert (Request.of(raw).name, Request.of(raw.replace(b"bell:", b"cont:")).name) == ("BLPOP", "BLPOP control")
