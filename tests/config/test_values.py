"""An invalid value is one line: the key as it was written, the value without secrets, and the allowed values."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_config import addresses, values
from holdfast_config.origin import shown
from tests.config.conftest import Load, Problems

DURATION = "must be seconds, or a duration such as 90s, 5m, 1h30m or 7d, from {} s to ten years"
QUEUE = "must be 1 to 128 printable characters without spaces and braces"
URLS = (
    "must be redis://[user:password@]host[:port][/db], the same with rediss:// (TLS), "
    "unix:///path/to/socket[?db=N], redis+sentinel://host,host/master[/db] or redis+cluster://host,host; "
    "special characters of a password are percent-encoded"
)
DATABASE = "the path of the URL must be the number of a database, as in redis://host:6379/0"
STORAGE = "must be redis or postgres; redis keeps task data where the queue is, postgres keeps it in a database, too"
SCHEDULER = "must be redis or memory; leave it out to use the embedded store"
SERVER = "needs a server: set REDIS_URL or REDIS_HOST, or leave this out to use the embedded store"
LISTEN = "must be PORT, HOST:PORT or unix:PATH, as in 9464, 0.0.0.0:9464 or unix:/run/holdfast/metrics.sock"
LONG_PATH = "the path of the socket has 108 bytes, the system allows 107; choose a shorter one"
TRACE_URL = "must be a URL with {trace_id}, and {span_id} if wanted, as in http://host:16686/trace/{trace_id}"
WEBHOOK = f"{addresses.WEBHOOK_RULE}; or off"
WEB_TOKEN = "must be 16 or more letters, digits and signs, without spaces"
WEBHOOK_SECRET = "must be whsec_ followed by base64, or another text that is not empty"

BAD = [
    ("HOLDFAST_WORKERS", "many", "'many'", "must be a whole number from 1 to 10000"),
    ("HOLDFAST_WORKERS", "0", "'0'", "must be a whole number from 1 to 10000"),
    ("SCHEDULER__WORKERS", "10001", "'10001'", "must be a whole number from 1 to 10000"),
    ("HOLDFAST_CONCURRENCY", "1.5", "'1.5'", "must be a whole number from 1 to 1000"),
    ("HOLDFAST_MAX_ATTEMPTS", "-1", "'-1'", "must be a whole number from 1 to 1000"),
    ("REDIS_MAX_CONNECTIONS", "9" * 50, repr("9" * 50), "must be a whole number from 1 to 10000"),
    ("REDIS_POLL_TIMEOUT", "0", "'0'", DURATION.format("0.001")),
    ("REDIS_POLL_TIMEOUT", "-1", "'-1'", DURATION.format("0.001")),
    ("HOLDFAST_DRAIN_TIMEOUT", "soon", "'soon'", DURATION.format("0")),
    ("HOLDFAST_DRAIN_TIMEOUT", "inf", "'inf'", DURATION.format("0")),
    ("HOLDFAST_KEEP", "nan", "'nan'", DURATION.format("0")),
    ("HOLDFAST_KEEP", "4000d", "'4000d'", DURATION.format("0")),
    ("HOLDFAST_FENCE", "hard", "'hard'", "must be lease or strict"),
    ("HOLDFAST_LOG_LEVEL", "loud", "'loud'", "must be debug or info or warning or error or critical"),
    ("HOLDFAST_LOG_FORMAT", "xml", "'xml'", "must be auto or json or console"),
    ("HOLDFAST_TRACE_MODE", "child", "'child'", "must be link or parent"),
    ("HOLDFAST_TRACE_URL", "http://j/trace", "'http://j/trace'", TRACE_URL),
    ("HOLDFAST_TRACE_URL", "http://j/{trace_id}/{name}", "'http://j/{trace_id}/{name}'", TRACE_URL),
    ("HOLDFAST_TRACE_URL", "j/{trace_id}", "'j/{trace_id}'", TRACE_URL),
    ("REDIS_QUEUE_NAME", "a b", "'a b'", QUEUE),
    ("REDIS_QUEUE_NAME", "{a}", "'{a}'", QUEUE),
    ("REDIS_QUEUE_NAME", "a\x1b", r"'a\x1b'", QUEUE),
    ("REDIS_QUEUE_NAME", "a" * 129, "'" + "a" * 76 + "...", QUEUE),
    ("HOLDFAST_APPLICATION", "a\x1b", r"'a\x1b'", "must be 1 to 200 bytes of printable text"),
    ("HOLDFAST_APPLICATION", "a" * 201, "'" + "a" * 76 + "...", "must be 1 to 200 bytes of printable text"),
    ("HOLDFAST_LANES", "a,,b", "'a,,b'", QUEUE),
    ("HOLDFAST_LANES", "a,a", "'a,a'", "names a lane twice"),
    ("HOLDFAST_HANDLER", "\t", r"'\t'", "must be a text that is not empty and has no control characters"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", "'collector:4317'", "must be http://host:port or https://host:port"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:x", "'http://h:x'", "must be http://host:port or https://host:port"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1", "'http://[::1'", "must be http://host:port or https://host:port"),
    ("HOLDFAST_METRICS", "65536", "'65536'", LISTEN),
    ("HOLDFAST_METRICS", "localhost", "'localhost'", LISTEN),
    ("HOLDFAST_METRICS", "http://h:1", "'http://h:1'", LISTEN),
    ("HOLDFAST_METRICS", "::1:9464", "'::1:9464'", LISTEN),
    ("HOLDFAST_METRICS", "unix:", "'unix:'", LISTEN),
    ("HOLDFAST_METRICS", "unix:/" + "a" * 107, "'unix:/" + "a" * 70 + "...", LONG_PATH),
    ("HOLDFAST_WEBHOOK_URL", "http://h:x/", "'http://h:x/'", WEBHOOK),
    ("HOLDFAST_WEBHOOK_URL", "http://[::1", "'http://[::1'", WEBHOOK),
    ("HOLDFAST_WEBHOOK_URL", "http://0177.0.0.1/", "'http://0177.0.0.1/'", WEBHOOK),
    ("HOLDFAST_WEBHOOK_SECRET", "whsec_no base64", "***", WEBHOOK_SECRET),
    ("HOLDFAST_WEBHOOK_SECRET", "whsec_", "***", WEBHOOK_SECRET),
    ("HOLDFAST_WEB_TOKEN", "fifteen-letters", "***", WEB_TOKEN),
    ("HOLDFAST_WEB_TOKEN", "seventeen letters", "***", WEB_TOKEN),
    ("HOLDFAST_WEB_TOKEN", "seventeen\x1bletters", "***", WEB_TOKEN),
    ("HOLDFAST_WEB_TOKEN", "siebzehn-zeichen-ä", "***", WEB_TOKEN),
    ("REDIS_URL", "http://:s3cret@a/0", "'http://:***@a/0'", URLS),
    ("REDIS_URL", "redis://:s3cret@a:port/0", "'redis://:***@a:port/0'", URLS),
    ("REDIS_URL", "redis://:s3/cret@a", "'redis://:***@a'", URLS),
    ("REDIS_URL", "redis://:s3#cret@a", "'redis://:***@a'", URLS),
    ("REDIS_URL", "s3cret@a", "'***@a'", URLS),
    ("REDIS_URL", "redis://a/x", "'redis://a/x'", DATABASE),
    ("REDIS_URL", "redis://a?db=x", "'redis://a?db=x'", "the URL option 'db' must be the number of a database"),
    (
        "REDIS_URL",
        "redis://a?socket_timeout=1",
        "'redis://a?socket_timeout=1'",
        "the URL option 'socket_timeout' is unknown; allowed: db, password, username",
    ),
    (
        "REDIS_URL",
        "unix://run/redis.sock",
        "'unix://run/redis.sock'",
        "a unix:// URL has three slashes and an absolute path: unix:///path/to/socket[?db=N]",
    ),
    ("REDIS_HOST", "me:s3cret@a", "'me:***@a'", "must be a host name or an address alone; use REDIS_URL for more"),
    ("REDIS_HOST", "a:6379", "'a:6379'", "must be a host name or an address alone; use REDIS_URL for more"),
    ("HOLDFAST_APP_DIR", "~nobody-here/x", "'~nobody-here/x'", "names the home folder of an unknown user"),
    ("SCHEDULER_TYPE", "rabbit", "'rabbit'", SCHEDULER),
    ("STORAGE_TYPE", "mongo", "'mongo'", STORAGE),
    ("STORAGE_TYPE", "postgres", "'postgres'", "needs DATABASE_URL, as in postgresql://user@host:5432/database"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "as_shown", "allowed"), BAD)
def test_a_bad_value_is_named_with_what_is_allowed(
    problems: Problems, key: str, value: str, as_shown: str, allowed: str
) -> None:
    assert problems({key: value}) == (f"{key}: {as_shown}: {allowed}",)


def test_a_token_of_the_dashboard_may_have_sixteen_characters(read: Load) -> None:
    token = read(environ={"HOLDFAST_WEB_TOKEN": "sixteen-letters!"}).web_token
    assert token is not None
    assert token.get_secret_value() == "sixteen-letters!"


def test_a_redis_that_is_asked_for_must_be_named(problems: Problems) -> None:
    line = "'redis': needs REDIS_URL or REDIS_HOST; leave this out to use the embedded store"
    assert problems({"SCHEDULER_TYPE": "redis"}) == (f"SCHEDULER_TYPE: {line}",)
    assert problems(scheduler_type="redis") == (f"--scheduler-type: {line}",)


def test_parts_of_a_server_without_the_server_are_refused(problems: Problems) -> None:
    lines = problems({"REDIS_PORT": "6380", "REDIS_PASSWORD": "s3cret"})
    assert lines == (f"REDIS_PORT: '6380': {SERVER}", f"REDIS_PASSWORD: ***: {SERVER}")


def test_a_key_of_a_file_and_a_flag_are_named_as_they_were_written(problems: Problems, tmp_path: Path) -> None:
    file = tmp_path / "supervisor.toml"
    file.write_text("workers = true\nqueue_name = 5\n")
    assert problems(drain_timeout="x") == (
        f"workers (in {file}): True: must be a whole number from 1 to 10000",
        f"queue_name (in {file}): 5: {QUEUE}",
        f"--drain-timeout: 'x': {DURATION.format('0')}",
    )


def test_all_problems_are_told_at_once(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("HOLDFAST_FOO=1\n")
    (tmp_path / "supervisor.toml").write_text("bar = 1\nlease = 'x'\n")
    lines = problems({"HOLDFAST_WORKERS": "x", "REDIS_URL": "a", "SCHEDULER__URL": "b"}, concurrency=0)
    assert len(lines) == 7
    assert len({line.split(":")[0] for line in lines}) == 7


@pytest.mark.parametrize("content", [b"workers = ", b"\xff\xfe"])
def test_a_broken_settings_file_is_named(problems: Problems, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "supervisor.toml"
    file.write_bytes(content)
    (line,) = problems()
    assert line.startswith((f"{file}: not TOML: ", f"{file}: cannot be read: not UTF-8"))


def test_a_broken_environment_file_is_named_with_its_line(problems: Problems, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("A=1\nHOLDFAST_HANDLER='x\n")
    assert problems() == (f"{file}: line 2 is not NAME=value",)


def test_a_credential_that_cannot_be_read_is_named(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "redis_url").mkdir()
    assert problems({"CREDENTIALS_DIRECTORY": str(tmp_path)}) == (
        "the credential redis_url cannot be read: Is a directory",
    )


@pytest.mark.parametrize(
    ("given", "lanes"),
    [
        (None, ("bindu:tasks",)),
        ("a", ("a",)),
        ("a, b", ("a", "b")),
        (["a", "b"], ("a", "b")),
        ("{bindu:tasks}:lane:high,bindu:tasks", ("{bindu:tasks}:lane:high", "bindu:tasks")),
    ],
)
def test_lanes_are_one_name_or_several(read: Load, given: object, lanes: tuple[str, ...]) -> None:
    assert read(lanes=given).lane_names == lanes


def test_the_only_lane_is_the_queue_unless_said(read: Load) -> None:
    assert read(queue_name="other").lane_names == ("other",)


@pytest.mark.parametrize(("value", "on"), [(True, True), ("1", True), (" Yes ", True), ("off", False), (0, False)])
def test_a_switch_takes_a_boolean_or_a_word(value: object, on: bool) -> None:
    assert values.switch(value) is on


@pytest.mark.parametrize("value", ["", "maybe", 2, 1.0, ["on"]])
def test_a_switch_takes_nothing_else(value: object) -> None:
    with pytest.raises(ValueError, match="must be true or false"):
        values.switch(value)


SECRET = "https://hooks.example.org/T0/s3cret"


@pytest.mark.parametrize("value", [SECRET, [SECRET], {"to": SECRET}, [{"to": [SECRET]}]])
def test_a_wrong_value_shows_no_secret_at_any_depth(value: object) -> None:
    text = shown("webhook_url", value)
    assert "s3cret" not in text
    assert "hooks.example.org" in text


@pytest.mark.parametrize("value", ["redis://a:s3cret@h", ["redis://a:s3cret@h"], {"url": "redis://a:s3cret@h"}])
def test_a_wrong_value_shows_no_password_at_any_depth(value: object) -> None:
    text = shown("redis_url", value)
    assert "s3cret" not in text
    assert "@h" in text
