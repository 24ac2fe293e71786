"""The files for Kubernetes say what is: settings that exist, commands, times that fit; and their Redis starts."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from holdfast_config import Settings, load
from holdfast_config.names import in_environment
from tests.docs.test_docs import unknown
from tests.servers import SOCKET, serve

FOLDER = Path(__file__).parents[2] / "examples/kubernetes"
WORKER, REDIS, SCALING = ((FOLDER / name).read_text() for name in ("worker.yaml", "redis.yaml", "scaling.yaml"))
COMMAND = re.compile(r"^ *(?:command|args): (\[.*\])$", re.MULTILINE)
VALUE = re.compile(r'^ *- name: ([A-Z_]+)\n +value: "?([^"\n]+)"?$', re.MULTILINE)
SECRET = re.compile(r"^ *- name: ([A-Z_]+)\n +valueFrom:\n +secretKeyRef:\n +name: (\S+)\n +key: (\S+)$", re.MULTILINE)


def number(text: str, key: str) -> int:
    (found,) = re.findall(rf"^ *{key}: (\d+)$", text, re.MULTILINE)
    return int(found)


def environment() -> dict[str, str]:
    """The variables of a worker's container; the secret is any password."""
    return {**dict(VALUE.findall(WORKER)), **{name: "p@ss/word" for name, _, _ in SECRET.findall(WORKER)}}


def test_a_worker_is_given_settings_that_exist() -> None:
    given = environment()
    assert given.keys() <= in_environment(Settings.model_fields).keys()
    assert load(environ=given).redis.url == "redis://:p%40ss%2Fword@holdfast-redis:6379/0"


def test_a_pod_has_longer_than_its_drain() -> None:
    assert number(WORKER, "terminationGracePeriodSeconds") >= load(environ=environment()).drain_timeout + 10


def test_the_password_comes_from_one_secret_everywhere() -> None:
    secrets = {(secret, key) for _, secret, key in SECRET.findall(WORKER) + SECRET.findall(REDIS)}
    assert secrets == {("holdfast-redis", "password")}
    assert re.search(r"parameter: password\n +name: holdfast-redis\n +key: password$", SCALING, re.MULTILINE)


def test_each_command_of_a_worker_exists() -> None:
    commands = [shlex.join(json.loads(words)) for words in COMMAND.findall(WORKER)]
    assert len(commands) == 2
    assert {line: word for line in commands if (word := unknown(line))} == {}


def test_it_scales_by_the_public_queue() -> None:
    assert f"listName: {load(environ={}).queue_name}\n" in SCALING
    assert "scaleTargetRef:\n    name: holdfast-worker\n" in SCALING
    assert "name: holdfast-worker\n" in WORKER


def test_redis_has_a_volume_where_it_writes() -> None:
    assert "volumeClaimTemplates:" in REDIS
    assert "name: data\n              mountPath: /data\n" in REDIS


def test_its_redis_keeps_what_it_accepted(short_path: Path) -> None:
    (block,) = re.findall(r"redis\.conf: \|\n((?:    .*\n)+)", REDIS)
    conf = short_path / "redis.conf"
    conf.write_text(textwrap.dedent(block).replace("dir /data", f"dir {short_path}"))
    own_place = ("--port", "0", "--unixsocket", str(short_path / SOCKET))
    with (
        serve(short_path, "--include", str(conf), *own_place, "--requirepass", "secret") as server,
        Redis.from_url(server.url) as stranger,
        Redis.from_url(server.url, password="secret") as client,
    ):
        with pytest.raises(Exception, match="authenticated"):
            stranger.ping()
        told: Any = client.config_get("*")
    expected = {"appendonly": "yes", "appendfsync": "everysec", "save": "60 1000", "maxmemory-policy": "noeviction"}
    assert {name: told[name] for name in expected} == expected
    assert int(told["maxmemory"]) * 2 <= 1024**3, "a snapshot may need as much again"
