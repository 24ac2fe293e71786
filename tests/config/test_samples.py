"""The sample files name every setting, and nothing else, with its default; the sample Redis starts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from holdfast.core.task_states import State
from holdfast.store import open_store
from holdfast_config import RedisSettings, Settings, resolve
from holdfast_config.names import ALIASES, PREFIX
from tests.config.conftest import Load
from tests.lua.operations import submission
from tests.servers import SOCKET, redis_server, serve

CONFIG = Path(__file__).parents[2] / "config"
ENTRY = re.compile(r"^#(\w+) ?= ?(.+)$", re.MULTILINE)
# Defaults that depend on where one starts; the samples show those of the service.
FOLDERS = {"state_dir": Path("/var/lib/holdfast"), "runtime_dir": Path("/run/holdfast")}


def _env() -> dict[str, Any]:
    entries = ENTRY.findall((CONFIG / "supervisor.env").read_text())
    assert all(name.startswith(PREFIX) for name, _ in entries)
    return {name.removeprefix(PREFIX).lower(): value for name, value in entries}


def _toml() -> dict[str, Any]:
    return tomllib.loads("\n".join(match[0][1:] for match in ENTRY.finditer((CONFIG / "supervisor.toml").read_text())))


@pytest.mark.parametrize("sample", [_env, _toml])
def test_a_sample_names_each_field_once_and_no_other(sample: Any) -> None:
    assert sorted(sample()) == sorted(Settings.model_fields)


@pytest.mark.parametrize("sample", [_env, _toml])
def test_a_sample_shows_the_defaults(sample: Any) -> None:
    shown, plain = Settings(**sample()), Settings()
    for name, field in Settings.model_fields.items():
        if name in FOLDERS:
            assert getattr(shown, name) == FOLDERS[name]
        elif field.default is not None:
            assert getattr(shown, name) == getattr(plain, name), name


@pytest.mark.parametrize("name", ["supervisor.env", "supervisor.toml"])
def test_a_sample_explains_each_field_in_the_words_of_the_settings(name: str) -> None:
    text = (CONFIG / name).read_text()
    for field, info in Settings.model_fields.items():
        key = PREFIX + field.upper() if name.endswith("env") else field
        paragraph = next(part for part in text.split("\n\n") if re.search(rf"^#{key} ?=", part, re.MULTILINE))
        assert info.description is not None
        assert paragraph.startswith(f"# {info.description}")
        if name.endswith("env"):
            assert all(alias in paragraph for alias in ALIASES.get(field, ()))


def test_the_samples_as_they_are_change_nothing(read: Load) -> None:
    samples = {"env_file": CONFIG / "supervisor.env", "config": CONFIG / "supervisor.toml"}
    folders = {name: str(path) for name, path in FOLDERS.items()}  # a default depends on where the file lies
    assert read(**samples, **folders).model_dump() == read(**folders).model_dump()


def test_the_samples_with_every_line_taken_in_are_accepted(read: Load, tmp_path: Path) -> None:
    for sample, copy in (("supervisor.env", ".env"), ("supervisor.toml", "supervisor.toml")):
        (tmp_path / copy).write_text(ENTRY.sub(_taken_in, (CONFIG / sample).read_text()))
    assert read().redis.url == "redis://holdfast:change-me@127.0.0.1:6379/0"


def _taken_in(entry: re.Match[str]) -> str:
    """The line without its #, except for a command, which excludes a handler, and for TLS and Sentinel."""
    return entry[0] if entry[1].lower().removeprefix("holdfast_") in {"exec", *resolve.RULE_FIELDS} else entry[0][1:]


LOGIN = "unix://holdfast:CHANGE-ME@"


def _serve(folder: Path, conf: Path, program: Path | None = None) -> Any:
    own_place = ("--port", "0", "--unixsocket", str(folder / SOCKET))
    return serve(folder, "--include", str(conf), *own_place, program=program)


def test_the_sample_redis_keeps_what_it_accepted(short_path: Path) -> None:
    with _serve(short_path, CONFIG / "redis.conf") as server, Redis.from_url(server.url) as client:
        assert client.ping()
        actual: Any = client.config_get("*")
    expected = {
        "appendonly": "yes", "appendfsync": "everysec", "save": "60 1000", "maxmemory-policy": "noeviction",
        "maxmemory": str(512 * 1024**2), "bind": "127.0.0.1 -::1", "protected-mode": "yes",
    }  # fmt: skip
    assert {name: actual[name] for name in expected} == expected


def test_the_user_of_the_sample_reaches_its_queue_and_nothing_else(short_path: Path) -> None:
    conf = short_path / "redis.conf"
    conf.write_text((CONFIG / "redis.conf").read_text().replace("#user ", "user "))
    with _serve(short_path, conf) as server:
        login = server.url.replace("unix://", LOGIN)
        with Redis.from_url(server.url) as stranger, Redis.from_url(login) as client:
            with pytest.raises(Exception, match=r"(?i)authenticat"):
                stranger.ping()
            assert client.rpush("bindu:tasks", "x") == 1
            assert client.eval("return redis.call('set', KEYS[1], 1)", 1, "{bindu:tasks}:task:1")
            assert client.publish("{bindu:tasks}:done:1", "x") == 0
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
            with client.pubsub() as channel:  # who waits for many tasks subscribes to all of them
                channel.psubscribe("{bindu:tasks}:done:*")
                assert channel.get_message(timeout=5.0)
            for refused in (["SET", "other", "1"], ["FLUSHALL"], ["CONFIG", "SET", "maxmemory", "1"], ["KEYS", "*"]):
                with pytest.raises(Exception, match="permission"):
                    client.execute_command(*refused)


@pytest.mark.anyio
@pytest.mark.parametrize("program", [None, redis_server()], ids=["valkey", "redis"])
async def test_the_sample_with_its_users_keeps_the_tasks_over_a_restart(short_path: Path, program: Path | None) -> None:
    """Redis replays its AOF as the user `default`, whose rights the sample therefore keeps."""
    conf = short_path / "redis.conf"
    conf.write_text((CONFIG / "redis.conf").read_text().replace("#user ", "user "))
    with _serve(short_path, conf, program) as server:
        url = server.url.replace("unix://", LOGIN)
        async with open_store(RedisSettings(url, queue="bindu:tasks")) as store:
            await store.submit([submission(f"t{number}", "bindu:tasks") for number in range(20)])
    with _serve(short_path, conf, program):
        async with open_store(RedisSettings(url, queue="bindu:tasks")) as store:
            counts = await store.counts()
    assert counts.states[State.SUBMITTED] == 20
