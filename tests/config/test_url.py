"""Passwords are never shown, and a login in settings of its own is put into the URL."""

from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio.connection import parse_url

from holdfast_config import RedisSettings, Settings, mask
from holdfast_config.redis_urls import OPTIONS, check, of_server, with_login
from tests.config.conftest import Load

SECRET = "s3cret"
MASKED = {
    "redis://a:6379/0": "redis://a:6379/0",
    "redis://:s3cret@a:6379/0": "redis://:***@a:6379/0",
    "rediss://ann:s3cret@a": "rediss://ann:***@a",
    "redis://s3cret@a": "redis://***@a",
    "redis://ann:s3@cret@a": "redis://ann:***@a",
    "redis://ann:s3/cret#s3cret?x@a": "redis://ann:***@a",
    "redis://ann:s3://cret@a": "redis://ann:***@a",
    "unix:///run/a@b.sock": "unix:///run/a@b.sock",
    "unix:///run/a.sock?db=1&password=s3cret": "unix:///run/a.sock?db=1&password=***",
    "unix://:s3cret@/run/a.sock": "unix://:***@/run/a.sock",
    "rediss://a?ssl_password=s3cret&db=1": "rediss://a?ssl_password=***&db=1",
    "redis+sentinel://ann:s3cret@a:1,b:2/tasks/0": "redis+sentinel://ann:***@a:1,b:2/tasks/0",
    "redis+sentinel://a,b/tasks?sentinel_password=s3cret": "redis+sentinel://a,b/tasks?sentinel_password=***",
    "rediss+cluster://:s3cret@[::1]:1,[::2]": "rediss+cluster://:***@[::1]:1,[::2]",
    "rediss://a?x=1?ssl_password=s3cret?s3cret&db=1": "rediss://a?x=1?ssl_password=***&db=1",
    "https://h/a?access%5Ftoken=s3cret#x": "https://h/a?access%5Ftoken=***#x",
    "https://h/a?X-Amz-Signature=s3cret&a=b=c": "https://h/a?X-Amz-Signature=***&a=b=c",
    "s3cret@a": "***@a",
    "": "",
}


@pytest.mark.parametrize(("url", "masked"), MASKED.items())
def test_a_masked_url_keeps_all_but_the_password(url: str, masked: str) -> None:
    assert mask(url) == masked


@given(st.text(st.characters(exclude_characters="\n"), min_size=1))
def test_no_password_survives_masking_however_it_is_quoted(noise: str) -> None:
    for scheme in OPTIONS:
        assert SECRET not in mask(f"{scheme}://ann:{SECRET}{noise}@host/0")
        assert SECRET not in mask(f"{scheme}://ann:{noise}{SECRET}@host/0")


@pytest.mark.parametrize("run", ["?passw", "&passw", "?", "passw", "?passw=", "://", "@", "?a=", "%"])
def test_twice_as_long_a_url_takes_twice_as_long(run: str) -> None:
    """Producers write the addresses of webhooks, and a page has many. Both times are of this run."""
    url = "https://h/?"
    assert any(_seconds(url + run * 2000) < 3 * _seconds(url + run * 1000) for _ in range(10))


def _seconds(url: str) -> float:
    times = list[float]()
    for _ in range(3):
        begun = thread_time()
        mask(url)
        times.append(thread_time() - begun)
    return min(times) + 1e-4


def test_settings_do_not_show_their_secrets(read: Load) -> None:
    settings = read({"REDIS_URL": "redis://ann:s3cret@a"}, redis_password=SECRET)
    for shown in (repr(settings), str(settings), repr(settings.redis), settings.redis.masked_url):
        assert SECRET not in shown
    assert settings.redis.url == "redis://ann:s3cret@a"
    assert settings.redis.masked_url == "redis://ann:***@a"


def test_an_error_of_the_constructor_does_not_show_its_input() -> None:
    with pytest.raises(ValueError) as refused:
        Settings(redis_url="http://:s3cret@a")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://a",
        "redis://[::1]:6379/15",
        "rediss://ann:p%40@a:1/0?ssl_ca_certs=/ca.pem&ssl_cert_reqs=none",
        "unix:///run/redis/redis.sock?db=2",
        "unix://:pw@/run/redis.sock",
    ],
)
def test_a_good_url_is_left_as_it_is(url: str) -> None:
    assert check(url) == url
    parse_url(url)


@pytest.mark.parametrize(
    ("url", "joined"),
    [
        ("redis://a:1/2", "redis://ann:p%40%2F@a:1/2"),
        ("redis://bob@a", "redis://bob:p%40%2F@a"),
        ("redis://bob:own@a", "redis://bob:own@a"),
        ("unix:///run/a.sock?db=1", "unix://ann:p%40%2F@/run/a.sock?db=1"),
        ("unix:///run/a.sock?password=own", "unix:///run/a.sock?password=own"),
        ("redis+sentinel://a:1,b:2/tasks", "redis+sentinel://ann:p%40%2F@a:1,b:2/tasks"),
        ("redis+cluster://[::1]:1,[::2]:2", "redis+cluster://ann:p%40%2F@[::1]:1,[::2]:2"),
    ],
)
def test_a_login_joins_a_url_that_has_none(url: str, joined: str) -> None:
    assert with_login(url, "ann", "p@/") == joined


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
def test_the_client_reads_back_any_login(user: str, password: str) -> None:
    parsed = parse_url(with_login(of_server("::1", 6380, 3), user, password))
    assert (parsed["username"], parsed["password"]) == (user, password)
    assert (parsed["host"], parsed["port"], parsed["db"]) == ("::1", 6380, 3)


def test_the_client_finds_the_embedded_store_wherever_it_lives(read: Load) -> None:
    settings = read(runtime_dir="/run/what a#place?%41")
    assert settings.embedded
    assert parse_url(settings.store_url)["path"] == "/run/what a#place?%41/store.sock"


def test_the_parts_of_a_client_are_handed_out(read: Load) -> None:
    flags = {"redis_max_connections": 3, "redis_answer_timeout": 3, "queue_name": "q"}
    assert read(redis_host="a", **flags).redis == RedisSettings("redis://a:6379/0", 3, "q", 5.0, 3.0)
