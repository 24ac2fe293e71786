"""Settings files of other systems, found by their usual names: used, and told in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis as redis_library

from holdfast_config import RedisSettings
from tests.cli.commands import NOBODY, ROOT, Cli

# The framework's own example, with a `scheduler` block as its factory takes it.
AGENT: dict[str, Any] = {
    "author": "you@example.com",
    "name": "first Agent",
    "description": "A basic AI agent for simple question answering",
    "deployment": {"url": "http://localhost:3773", "expose": True},
    "storage": {"type": "memory"},
}


@pytest.fixture
def bare(short_path: Path) -> Cli:
    """Commands that are told nothing but where sockets are."""
    return Cli(short_path, (), {"HOLDFAST_RUNTIME_DIR": str(short_path / "run")})


def agent_file(folder: Path, **scheduler: object) -> Path:
    path = folder / "agent_config.json"
    path.write_text(json.dumps(AGENT | {"scheduler": scheduler}))
    return path


def lengths(settings: RedisSettings, *names: str) -> list[int]:
    with redis_library.Redis.from_url(settings.url) as client:
        return [int(client.llen(name)) for name in names]  # type: ignore[arg-type]  # not async


def test_the_agents_file_is_used_and_told_in_one_line(bare: Cli, redis_settings: RedisSettings) -> None:
    where = redis_settings
    path = agent_file(
        bare.folder, type="redis", redis_url=where.url, queue_name=where.queue, prefetch=3, max_conections=2
    )
    answer = bare("submit", "hello")
    assert answer.status == 0
    [told, warned] = answer.err.splitlines(keepends=True)
    assert warned == NOBODY
    assert told == (
        f"supervisor: found {path.name}: taken: scheduler.type 'redis', scheduler.redis_url {where.url!r}, "
        f"scheduler.queue_name {where.queue!r}, storage.type 'memory'; "
        "not understood: scheduler.prefetch, scheduler.max_conections; did you mean scheduler.max_connections?\n"
    )
    assert lengths(where, where.queue) == [1]


def test_it_is_looked_for_in_the_applications_folder(bare: Cli) -> None:
    (bare.folder / "app").mkdir()
    agent_file(bare.folder / "app", redis_url="redis://:hunter2@queue.example/1")
    assert "found" not in bare("config", "show").err
    answer = bare("config", "show", "--app-dir", "app", "--json")
    assert answer.document["redis_url"]["source"] == "scheduler.redis_url (in app/agent_config.json)"
    assert "taken: scheduler.redis_url 'redis://" in answer.err
    assert "hunter2" not in answer.err + answer.out


def test_a_supervisor_toml_is_read_in_its_place(bare: Cli) -> None:
    agent_file(bare.folder, workers=4)
    (bare.folder / "supervisor.toml").write_text("concurrency = 3\n")
    (bare.folder / ".redbike.conf").write_text("[redbike]\nprefix: other\n")
    answer = bare("config", "show", "--given", "--json")
    assert "workers" not in answer.document
    assert answer.err == ""


def test_the_environment_is_stronger_than_a_found_file(bare: Cli) -> None:
    agent_file(bare.folder, type="memory", workers=4)
    shown = Cli(bare.folder, (), {"REDIS_URL": "redis://h/1"})("config", "show", "--json").document
    assert (shown["redis_url"]["value"], shown["scheduler_type"]["source"]) == ("redis://h/1", "default")
    assert shown["workers"]["value"] == 4


@pytest.fixture
def notice(bare: Cli, redis_settings: RedisSettings) -> Iterator[str]:
    """The line that says what was taken from the timeline's file, which is there."""
    where = redis_settings
    (bare.folder / ".redbike.conf").write_text(
        "[server:main]\nuse = egg:whatever\n"
        "[redbike]\nprefix: myapp\nworker: mymodule:MyWorkerClass('A:A:B')\ntimefile: myapp.redbike.timefile\n"
        f"colour: red\n[redbike-redis]\nunix_socket_path: {where.url.removeprefix('unix://')}\n"
    )
    yield (
        "supervisor: found .redbike.conf: taken: [redbike] prefix 'myapp', "
        "[redbike] worker \"mymodule:MyWorkerClass('A:A:B')\", [redbike] timefile 'myapp.redbike.timefile', "
        f"[redbike-redis] unix_socket_path '{where.url}?db=0'; not understood: [redbike] colour\n"
    )
    with redis_library.Redis.from_url(where.url) as client:
        client.delete(*client.keys("*myapp*"), "A")  # type: ignore[misc]  # not async


def test_beside_an_agents_file_only_the_timelines_verbs_use_theirs(
    bare: Cli, notice: str, redis_settings: RedisSettings
) -> None:
    agent_file(bare.folder, queue_name="never")
    answer = bare("set", "JOB1:A", "NOW")
    assert (answer.status, answer.err) == (0, notice)
    assert lengths(redis_settings, "{myapp}:lane:A", "A") in ([1, 0], [0, 1])
    for verb in (["tell", "JOB1:A"], ["statuses"], ["schedules", "--csv"], ["schedules"], ["unset", "JOB1:A"]):
        answer = bare(*verb)
        assert (answer.status, answer.err) == (0, notice), verb
    assert "found agent_config.json" in bare("config", "show").err


def test_all_commands_of_a_folder_find_the_timelines_file(bare: Cli, notice: str) -> None:
    """A command that a message advises acts on the same queue: `resume` ends the pause that `work` reports."""
    assert bare("quiet").out.startswith("all hosts are quiet: ")
    assert "quiet hosts" in {finding["look"] for finding in bare("doctor", "--json").document}
    assert bare("resume").out.startswith("all hosts are resumed: ")
    for command in (["status"], ["why", "t1"], ["config", "show"]):
        assert bare(*command).err.startswith(notice), command


@pytest.mark.parametrize(
    ("name", "text", "mode", "told"),
    [
        ("agent_config.json", "{", 0o644, "agent_config.json: not JSON: "),
        ("agent_config.json", "[]", 0o644, "agent_config.json: not an object of settings but list"),
        (
            "agent_config.json",
            '{"scheduler": {"workers": "many"}}',
            0o644,
            "scheduler.workers (in agent_config.json): ",
        ),
        ("agent_config.json", "{}", 0o666, "agent_config.json: everybody can write it (mode 666): chmod o-w"),
        (".redbike.conf", "prefix: a\n", 0o644, ".redbike.conf: not an INI file: "),
        (".redbike.conf", "[other]\na: b\n", 0o644, ".redbike.conf: has neither a stanza [redbike] nor"),
        (".redbike.conf", "[redbike]\nprefix: a\n", 0o666, ".redbike.conf: everybody can write it (mode 666): chmod"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(bare: Cli, name: str, text: str, mode: int, told: str) -> None:
    path = bare.folder / name
    path.write_text(text)
    path.chmod(mode)
    answer = bare("statuses")
    assert answer.status == 78
    [line] = answer.err.splitlines()
    assert told in line


def test_a_block_that_is_no_object_is_not_understood(bare: Cli) -> None:
    (bare.folder / "agent_config.json").write_text('{"name": "a", "scheduler": "redis", "storage": {"type": "memory"}}')
    answer = bare("config", "show")
    assert answer.status == 0
    assert (
        answer.err == "supervisor: found agent_config.json: taken: storage.type 'memory'; not understood: scheduler\n"
    )


def test_the_agents_file_serves_and_submits_alike(bare: Cli, redis_settings: RedisSettings) -> None:
    """`start` in the application's folder reads what the framework reads, and runs what was submitted there."""
    where = redis_settings
    agent_file(bare.folder, type="redis", redis_url=where.url, queue_name=where.queue)
    shutil.copy(ROOT / "examples" / "agent.py", bare.folder / "agent.py")
    assert bare("submit", "hello").status == 0
    answer = bare("start", "--burst")
    assert answer.status == 0, answer.err
    assert "found agent_config.json: taken: scheduler.type 'redis'" in answer.err
    assert lengths(where, where.queue) == [0]
