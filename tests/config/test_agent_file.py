"""Two blocks of the agent framework's JSON file are read, the rest of the file is ignored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.config.conftest import Load, Problems

AGENT = {
    "author": "ada@example.org",
    "name": "echo",
    "deployment": {"url": "http://localhost:3773", "workers": 99},
    "scheduler": {
        "type": "redis",
        "redis_url": "redis://queue.example:6380/2",
        "workers": 4,
        "max_connections": 20,
        "poll_timeout": 2,
        "retry_on_timeout": True,
        "queue_name": "bindu:tasks",
        "password": None,
    },
}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "agent_config.json"


def test_its_scheduler_block_is_read_and_its_siblings_are_not(read: Load, written: Path) -> None:
    written.write_text(json.dumps(AGENT))
    settings = read(config=written)
    assert settings.redis.url == "redis://queue.example:6380/2"
    assert (settings.workers, settings.redis_max_connections, settings.redis_poll_timeout) == (4, 20, 2.0)


def test_the_environment_is_stronger(read: Load, written: Path) -> None:
    written.write_text(json.dumps(AGENT))
    assert read({"SCHEDULER__WORKERS": "7"}, config=written).workers == 7


def test_host_and_port_make_a_url(read: Load, written: Path) -> None:
    written.write_text(json.dumps({"scheduler": {"host": "h", "port": 1, "db": 2}, "storage": {"type": "redis"}}))
    assert read(config=written).redis.url == "redis://h:1/2"


def test_a_json_file_without_these_blocks_holds_our_own_keys(read: Load, written: Path) -> None:
    written.write_text('{"workers": 3, "max_attempts": 5}')
    assert read(config=written).max_attempts == 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"scheduler": {"typ": "redis"}}', "scheduler.typ (in {}): unknown setting; did you mean scheduler.type?"),
        (
            '{"scheduler": {"url": "redis://a", "redis_url": "redis://b"}}',
            "scheduler.url and scheduler.redis_url (in {}) disagree",
        ),
        ('{"scheduler": {"workers": "many"}}', "scheduler.workers (in {}): 'many'"),
        ('{"wrkers": 3}', "wrkers (in {}): unknown setting; did you mean workers?"),
        ("[]", "{}: not an object of settings but list"),
        ("{", "{}: not JSON: "),
    ],
)
def test_what_is_wrong_is_named_with_its_place(problems: Problems, written: Path, text: str, reason: str) -> None:
    written.write_text(text)
    (line,) = problems(config=written)
    assert line.startswith(reason.format(written))


@pytest.mark.parametrize("wrapped", ['["redis://me:hunter2@h"]', '{"url": ["redis://me:hunter2@h"]}'])
def test_a_secret_within_a_value_of_another_kind_is_masked(problems: Problems, written: Path, wrapped: str) -> None:
    written.write_text(f'{{"scheduler": {{"redis_url": {wrapped}}}}}')
    (line,) = problems(config=written)
    assert line.startswith("scheduler.redis_url")
    assert "hunter2" not in line


SCHEDULER = "SCHEDULER_TYPE=redis\nREDIS_URL=rediss://default:secret@redis-12345.upstash.io:6379\n"
STORAGE = "STORAGE_TYPE=postgres\nDATABASE_URL=postgresql+asyncpg://user:secret@db.example:5432/bindu\n"


def test_the_documented_environment_file_is_served_as_it_stands(read: Load, tmp_path: Path) -> None:
    """`.env.example` of the framework: comments, both blocks, or everything in memory."""
    dotenv = tmp_path / ".env"
    dotenv.write_text(f"# Scheduler Configuration\n{SCHEDULER}REDIS_POLL_TIMEOUT=5\n\n# Storage\n{STORAGE}")
    settings = read()
    assert settings.redis.url == "rediss://default:secret@redis-12345.upstash.io:6379"
    assert (settings.storage_type, settings.redis_poll_timeout) == ("postgres", 5.0)
    assert settings.postgres is not None
    dotenv.write_text("STORAGE_TYPE=memory\nSCHEDULER_TYPE=memory\n")
    assert (read().scheduler_type, read().storage_type) == ("memory", "redis")


@pytest.mark.parametrize("word", ["memory", "redis", "Memory"])
def test_storage_in_memory_keeps_task_data_where_the_queue_is(read: Load, word: str) -> None:
    assert read({"STORAGE_TYPE": word, "SCHEDULER_TYPE": "memory"}).storage_type == "redis"
