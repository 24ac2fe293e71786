"""Values that nobody means: each is refused in one line that names it, with the right exit status."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from holdfast_config import RedisSettings
from holdfastd.cli.common.error_report import report
from tests.cli.commands import Cli, Inside
from tests.cli.test_bad_beginnings import start

LONG = "/tmp/" + "a" * 5000
NOT_UTF8 = os.fsdecode(b"\xff\xfe")
LONGEST_LINE = 1000


@pytest.mark.parametrize("command", ["stop", "reload"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300", "-1", "1e18", "soon"])
def test_a_time_to_wait_that_cannot_be_is_refused(inside: Inside, command: str, value: str) -> None:
    answer = replace(inside, options=())(command, "--timeout", value)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert f"--timeout': '{value}'" in answer.err
    assert "from 0 to 365d" in answer.err


def test_a_folder_in_the_place_of_the_control_socket_is_named(short_path: Path) -> None:
    (short_path / "run" / "control.sock").mkdir(parents=True, mode=0o700)
    answer = start(short_path)
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    assert f"{short_path / 'run' / 'control.sock'} is a folder, and the supervisor needs a socket there" in answer.err


@pytest.mark.parametrize(("name", "options"), [("run", ()), ("state", ()), ("above", ("--state-dir", "above/state"))])
def test_a_file_in_the_place_of_a_folder_is_named(short_path: Path, name: str, options: tuple[str, ...]) -> None:
    (file := short_path / name).write_text("")
    answer = start(short_path, *options)
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    assert f"{file} is no folder, and the supervisor needs one there: remove it, or choose another " in answer.err


@pytest.mark.parametrize("command", [("tasks", "list"), ("submit", "x"), ("tasks", "count")])
def test_a_database_that_the_server_has_not_is_a_wrong_setting(inside: Inside, command: tuple[str, ...]) -> None:
    url = inside.options[1]
    answer = replace(inside, options=())(*command, "--redis-url", f"{url}?db=99")
    assert answer.status == 78
    assert answer.err.splitlines()[0].startswith(f"supervisor: Redis at {url}?db=99 has no such database: ")


@contextmanager
def no_redis(path: Path) -> Iterator[None]:
    """A server of another kind, at this socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(4096)
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_server_that_is_no_redis_is_named(short_path: Path) -> None:
    place = short_path / "http.sock"
    with no_redis(place):
        for command in (("tasks", "list"), ("submit", "x")):
            answer = Cli(short_path)(*command, "--redis-url", f"unix://{place}")
            assert answer.status == 78
            assert answer.err.splitlines()[0].startswith(f"supervisor: unix://{place} is no Redis: it answers ")
        assert start(short_path, "--redis-url", f"unix://{place}").status == 78


@pytest.fixture
def client(redis_settings: RedisSettings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_settings.url) as client:
        yield client


@pytest.mark.parametrize(("field", "value"), [("state", "nonsense"), ("turn", "x"), ("due", "nan"), ("message", None)])
def test_a_record_that_cannot_be_read_is_named_and_hides_no_other(
    inside: Inside, client: redis.Redis, redis_settings: RedisSettings, field: str, value: str | None
) -> None:
    assert inside("submit", "hello", "--task-id", "good").status == 0
    assert inside("submit", "hello", "--task-id", "bad").status == 0
    key = f"{{{redis_settings.queue}}}:task:bad"
    client.hset(key, field, value) if value is not None else client.hdel(key, field)
    for command in (("tasks", "show", "bad"), ("why", "bad")):
        answer = inside(*command)
        assert (answer.status, answer.err.count("\n")) == (1, 1), answer.err
        assert answer.err.startswith("supervisor: the record of task 'bad' cannot be read: ")
        assert field in answer.err
    listed = inside("tasks", "list", "--json")
    assert [task["task_id"] for task in listed.lines] == ["good"]
    assert (listed.status, "bad" in listed.err) == (0, field != "state")  # a state that none asked for is not looked at


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("status", "--runtime-dir", LONG), 78),
        (("start", "agent:handle", "--state-dir", LONG), 78),
        (("check", "--exec", LONG), 78),
        (("check", "agent:handle", "--app-dir", LONG), 78),
        (("submit", "--lines", LONG), 2),
        (("-c", LONG, "status"), 78),
        (("tasks", "list", "--redis-url", f"unix://{LONG}"), 69),
        (("service", "show", "--redis-url", f"unix://{LONG}", "--app-dir", LONG), 78),
    ],
)
def test_a_path_that_is_too_long_is_one_short_line(short_path: Path, command: tuple[str, ...], status: int) -> None:
    (short_path / "agent.py").write_text("def handle(messages): ...\n")
    answer = Cli(short_path)(*command)
    assert (answer.status, answer.err.count("\n")) == (status, 1), answer.err[-300:]
    assert answer.err.startswith("supervisor: ")
    assert len(answer.err) <= LONGEST_LINE


@pytest.mark.parametrize(
    "command",
    [
        ("queue", "peek", "--lane", NOT_UTF8),
        ("queue", "clear", "--yes", "--lane", NOT_UTF8),
        ("tasks", "list", "--lane", NOT_UTF8),
        ("tasks", "list", "--name", NOT_UTF8),
        ("tasks", "list", "--cursor", NOT_UTF8),
        ("tasks", "clean", "--yes", "--lane", NOT_UTF8),
        ("submit", "x", "--lane", NOT_UTF8),
        ("submit", "x", "--webhook", f"http://h/{NOT_UTF8}"),
        ("submit", NOT_UTF8),
        ("submit", "x", "--unique", NOT_UTF8),
        ("submit", "x", "--after", NOT_UTF8),
        ("schedules", "set", "x", "--every", "60", "--text", NOT_UTF8),
        ("schedules", "list", "--owner", NOT_UTF8),
        ("lanes", "pause", "x", "--reason", NOT_UTF8),
        ("lanes", "set", "x", NOT_UTF8),
        ("dead", "list", "--name", NOT_UTF8),
        ("dead", "list", "--cursor", NOT_UTF8),
        ("queue", "unreadable", "show", NOT_UTF8),
        ("quiet", "--reason", NOT_UTF8),
        ("quiet", "--host", NOT_UTF8),
        ("schedules", "show", NOT_UTF8),
    ],
)
def test_what_is_not_utf8_is_refused(inside: Inside, command: tuple[str, ...]) -> None:
    answer = inside(*command)
    assert answer.status == 2, answer.err
    assert answer.err.count("\n") == 1
    assert r"\xff" in answer.err
    assert "(a bug" not in answer.err


def test_a_lack_of_rights_names_a_file_only_where_there_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(PermissionError(errno.EACCES, "Permission denied"), debug=False) == 77
    assert report(PermissionError(errno.EACCES, "Permission denied", "/run/x"), debug=False) == 77
    assert capsys.readouterr().err == "supervisor: Permission denied\nsupervisor: /run/x: Permission denied\n"


def set_to_text(cli: Cli, key: str) -> str:
    """The key, after somebody has made it a string."""
    _, url, _, queue = cli.options
    named = key.replace("QUEUE", queue)
    with redis.Redis.from_url(url) as client:
        client.set(named, "x")
    return named


@pytest.mark.parametrize("order", ["tasks show", "tasks cancel", "tasks pause", "tasks resume", "tasks retry", "why"])
def test_a_task_whose_key_is_of_another_type_is_told_by_the_name_of_the_key(cli: Cli, order: str) -> None:
    key = set_to_text(cli, "{QUEUE}:task:t1")
    answer = cli(*order.split(), "t1")
    assert answer.status == 78
    assert f"key {key} is a string, and a task has a hash there; rename it" in answer.err
    assert answer.err.count("\n") == 1
    assert "WRONGTYPE" not in answer.err


@pytest.mark.parametrize(("lane", "key"), [("QUEUE:mail", "QUEUE:mail"), ("mail", "{QUEUE}:lane:mail")])
def test_a_submit_to_a_lane_whose_key_is_of_another_type_exits_78(cli: Cli, lane: str, key: str) -> None:
    named = set_to_text(cli, key)
    answer = cli("submit", "x", "--lane", lane.replace("QUEUE", cli.options[3]))
    assert answer.status == 78
    assert named.rpartition("}")[2] in answer.err
    assert "is not a list; rename this key" in answer.err
