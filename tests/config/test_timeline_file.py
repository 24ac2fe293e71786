"""Two stanzas of a timeline scheduler's INI file are read, the rest of the file is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_config.lanes import Lane
from tests.config.conftest import Load, Problems

EXAMPLE = """
[server:main]
use = egg:whatever
debug
[redbike]
prefix: myapp
worker: somepackage.somemodule:MyWorkerClass("A:A:B")
timefile: /var/log/myapp.timefile
default-timeout: 30

[redbike-redis]
host: redis.example
port: 6380
db: 2
password: s3cret%%
decode_responses: true
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "x.conf"


def test_its_two_stanzas_are_read_and_others_are_not(read: Load, written: Path) -> None:
    written.write_text(EXAMPLE)
    settings = read(config=written)
    assert settings.queue_name == "myapp"
    assert settings.handler == 'somepackage.somemodule:MyWorkerClass("A:A:B")'
    assert settings.time_file == Path("/var/log/myapp.timefile")
    assert settings.task_timeout == 30
    assert settings.redis.url == "redis://:s3cret%25@redis.example:6380/2"


def test_a_worker_that_is_called_implies_its_lanes_and_one_run_at_a_time(read: Load, written: Path) -> None:
    written.write_text(EXAMPLE)
    settings = read(config=written)
    assert settings.lanes == (Lane("A", 2), Lane("B", 1))
    assert settings.concurrency == 1
    stronger = read({"HOLDFAST_LANES": "C", "HOLDFAST_CONCURRENCY": "5"}, config=written)
    assert (stronger.lane_names, stronger.concurrency) == (("C",), 5)
    assert read(handler='m:W("A:B")').lane_names == ("A", "B")
    assert read(handler="m:W(0)").lane_names == ("bindu:tasks",)
    assert read(handler="m:handle").concurrency == 10


@pytest.mark.parametrize(
    ("stanza", "url"),
    [
        ("db: 3", "redis://localhost:6379/3"),
        ("unix_socket_path: /run/redis/a b.sock\ndb: 3", "unix:///run/redis/a%20b.sock?db=3"),
        ("ssl: true\nhost: h", "rediss://h:6379/0"),
        ("ssl: false\nhost: h", "redis://h:6379/0"),
        ("", "redis://localhost:6379/0"),
    ],
)
def test_the_server_is_named_as_its_client_names_it(read: Load, written: Path, stanza: str, url: str) -> None:
    written.write_text(f"[redbike-redis]\n{stanza}\n")
    assert read(config=written).redis.url == url


def test_without_a_server_it_is_the_one_of_the_settings(read: Load, written: Path) -> None:
    written.write_text("[redbike]\nprefix: myapp\n")
    assert read({"REDIS_URL": "redis://h/1"}, config=written).redis.url == "redis://h/1"


def test_the_environment_is_stronger(read: Load, written: Path) -> None:
    written.write_text(EXAMPLE)
    assert read({"REDIS_URL": "redis://h/1", "REDIS_QUEUE_NAME": "q"}, config=written).queue_name == "q"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[redbike]\nprefx: a\n", "[redbike] prefx (in {file}): unknown setting; did you mean [redbike] prefix?"),
        ("[redbike-redis]\nhots: a\n", "[redbike-redis] hots (in {file}): unknown setting; did you mean"),
        ("[redbike]\ndefault-timeout: soon\n", "[redbike] default-timeout (in {file}): 'soon': must be seconds"),
        (
            "[redbike]\nprefix: %(nobody)s\n",
            "not an INI file: [redbike] prefix has a % that refers to nothing: write %%",
        ),
        ("prefix: a\n", "not an INI file: File contains no section headers"),
        ("[other]\na: b\n", "has neither a stanza [redbike] nor [redbike-redis]"),
    ],
)
def test_what_is_wrong_is_named(problems: Problems, written: Path, text: str, problem: str) -> None:
    written.write_text(text)
    assert any(problem.format(file=written) in line for line in problems(config=written)), problems(config=written)


@pytest.mark.parametrize("word", ["se%cret", "%(secret)s"])
def test_a_password_with_a_percent_sign_is_not_repeated(problems: Problems, written: Path, word: str) -> None:
    written.write_text(f"[redbike-redis]\nhost: h\npassword: {word}\n")
    lines = " ".join(problems(config=written))
    assert "[redbike-redis] password has a % that refers to nothing" in lines
    assert "cret" not in lines
