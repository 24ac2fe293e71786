"""URLs of Sentinel and Cluster are parsed, and settings that do not fit the URL are errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from redis.asyncio.connection import parse_url

from holdfast_config import ConfigError
from holdfast_config.redis_urls import check, parse_topology, with_options
from tests.certificates import certificates
from tests.config.conftest import Load
from tests.users import bound_by_modes

QUEUE = "bindu:tasks"


def test_a_sentinel_url_names_sentinels_a_master_and_a_database() -> None:
    servers = parse_topology(
        "redis+sentinel://ann:p%40@h1:7,[::1]/my%20tasks/2?sentinel_username=eve&sentinel_password=p%26"
    )
    assert (servers.form, servers.hosts, servers.master) == ("sentinel", (("h1", 7), ("::1", 26379)), "my tasks")
    assert servers.sentinel_login == {"username": "eve", "password": "p&"}
    assert parse_url(servers.server) == {"host": "found", "db": 2, "username": "ann", "password": "p@"}


def test_a_cluster_url_names_nodes_and_takes_options_of_tls() -> None:
    servers = parse_topology("rediss+cluster://h1,h2:7/?ssl_ca_certs=/a%20b&ssl_check_hostname=no")
    assert (servers.form, servers.hosts, servers.master) == ("cluster", (("h1", 6379), ("h2", 7)), "")
    server = parse_url(servers.server)
    assert (server["ssl_ca_certs"], server["ssl_check_hostname"], server["db"]) == ("/a b", False, 0)


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("redis+sentinel://h1", "the master's name"),
        ("redis+sentinel://h1/tasks/0/1", "the master's name"),
        ("redis+sentinel:///tasks", "must be redis+sentinel"),
        ("redis+sentinel://h1:0/tasks", "each server of the URL"),
        ("redis+sentinel://h1,,h2/tasks", "each server of the URL"),
        ("redis+sentinel://h1/tasks?db=1", "'db' is unknown"),
        ("redis+sentinel://h1/tasks?ssl_ca_certs=/ca", "'ssl_ca_certs' is unknown"),
        ("redis+cluster://h1/1", "one database"),
        ("redis+cluster://h1?sentinel_password=p", "'sentinel_password' is unknown"),
        ("redis+proxy://h1", "must be redis://"),
        ("redis://h1,h2", "several servers"),
    ],
)
def test_a_wrong_url_is_refused_with_what_is_allowed(url: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        check(url)


def test_options_join_a_url_where_its_form_knows_them_and_it_has_none_of_its_own() -> None:
    options = {"ssl_ca_certs": Path("/a b&c"), "sentinel_password": "p&", "ssl_keyfile": None}
    assert with_options("redis://a", options) == "redis://a"
    assert with_options("rediss://a?ssl_ca_certs=/own", options) == "rediss://a?ssl_ca_certs=/own"
    full = with_options("rediss+sentinel://a,b/tasks", options)
    assert full == "rediss+sentinel://a,b/tasks?ssl_ca_certs=/a%20b%26c&sentinel_password=p%26"
    assert parse_topology(full).sentinel_login == {"password": "p&"}


def test_files_and_logins_of_the_settings_join_the_url_and_passwords_are_not_shown(read: Load, tmp_path: Path) -> None:
    made = certificates(tmp_path)
    files = {"redis_ca_file": made.authority, "redis_cert_file": made.certificate, "redis_key_file": made.key}
    settings = read(
        {"REDIS_SENTINEL_PASSWORD": "s3cret", "REDIS_SENTINEL_USERNAME": "eve"},
        redis_url="rediss+sentinel://a,b/tasks",
        **files,
    )
    server = parse_url(parse_topology(settings.redis.url).server)
    assert [server[f"ssl_{name}"] for name in ("ca_certs", "certfile", "keyfile")] == [*map(str, files.values())]
    assert parse_topology(settings.redis.url).sentinel_login == {"username": "eve", "password": "s3cret"}
    for shown in (repr(settings), settings.redis.masked_url, repr(settings.redis)):
        assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("flags", "wrong"),
    [
        ({"redis_ca_file": "/ca.pem"}, "--redis-ca-file: '/ca.pem': needs a server: set REDIS_URL or REDIS_HOST"),
        ({"redis_ca_file": "/ca.pem", "redis_host": "a"}, "--redis-ca-file: '/ca.pem': is for TLS"),
        ({"redis_cert_file": "/c.pem", "redis_url": "unix:///s"}, "--redis-cert-file: '/c.pem': is for TLS"),
        ({"redis_sentinel_username": "eve", "redis_url": "redis://a"}, "'eve': belongs to Sentinel"),
        ({"redis_ca_file": "/no.pem", "redis_url": "rediss://a"}, "'/no.pem': cannot be read: No such file"),
        ({"redis_url": "rediss://a?ssl_ca_certs=/no.pem"}, "--redis-url: ssl_ca_certs=/no.pem: cannot be read"),
        ({"redis_ca_file": __file__, "redis_url": "rediss://a"}, "holds no certificates"),
        ({"redis_cert_file": __file__, "redis_url": "rediss://a"}, "not a certificate with its key"),
        ({"redis_key_file": __file__, "redis_url": "rediss://a"}, "but none is named: set REDIS_CERT_FILE"),
        (
            {"lanes": f"{QUEUE},{QUEUE}:high", "redis_url": "redis+cluster://a"},
            f"lane '{QUEUE}:high': a Cluster may keep",
        ),
    ],
)
def test_what_does_not_fit_or_cannot_be_used_is_refused_by_name(read: Load, flags: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(**flags)
    (problem,) = refused.value.problems
    assert wrong in problem


def test_a_key_of_another_certificate_is_refused(read: Load, short_path: Path) -> None:
    for name in ("one", "other"):
        (short_path / name).mkdir()
    one, other = certificates(short_path / "one"), certificates(short_path / "other")
    with pytest.raises(ConfigError, match=r"client.pem' and --redis-key-file.*not a certificate with its key"):
        read(redis_url="rediss://a", redis_cert_file=str(one.certificate), redis_key_file=str(other.key))


def test_a_key_that_only_others_may_read_is_left_to_them(read: Load, short_path: Path) -> None:
    made = certificates(short_path)
    made.key.chmod(0)
    with bound_by_modes():
        assert read(redis_url="rediss://a", redis_cert_file=str(made.certificate), redis_key_file=str(made.key))


def test_in_a_cluster_lanes_of_the_namespace_are_allowed(read: Load) -> None:
    lanes = f"{QUEUE},{{{QUEUE}}}:lane:high"
    assert read(redis_url="redis+cluster://a", lanes=lanes).lane_names == tuple(lanes.split(","))
