"""`supervisor config show`: every setting with its value and where it came from, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_config import Settings
from tests.cli.commands import Cli, Inside


@pytest.fixture
def shown(short_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    monkeypatch.chdir(short_path)
    return Inside(short_path, (), capsys=capsys)


def test_every_setting_is_there_with_its_origin(short_path: Path) -> None:
    (short_path / "supervisor.toml").write_text("workers = 3\n")
    (short_path / ".env").write_text("HOLDFAST_CONCURRENCY=4\n")
    cli = Cli(short_path, environ={"HOLDFAST_MAX_ATTEMPTS": "5"})
    shown = cli("config", "show", "--lease", "20", "--json").document
    assert set(shown) == set(Settings.model_fields)
    assert shown["workers"] == {"value": 3, "source": "workers (in supervisor.toml)"}
    assert shown["concurrency"] == {"value": 4, "source": "HOLDFAST_CONCURRENCY (in .env)"}
    assert shown["max_attempts"] == {"value": 5, "source": "HOLDFAST_MAX_ATTEMPTS"}
    assert shown["lease"] == {"value": 20.0, "source": "--lease"}
    assert shown["keep"]["source"] == "default"


def test_secrets_are_masked(shown: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_REDIS_PASSWORD", "hunter2")
    answer = shown("config", "show", "--redis-url", "redis://ada:lovelace@h:1/0")
    assert "redis://ada:***@h:1/0" in answer.out
    assert not {"hunter2", "lovelace"} & set(answer.out.replace(":", " ").replace("@", " ").split())


def test_given_leaves_out_what_has_its_default(shown: Inside) -> None:
    lines = shown("config", "show", "--given", "--workers", "2").out.splitlines()
    assert any(line.split() == ["workers", "2", "--workers"] for line in lines)
    assert not any(line.startswith("max_attempts") for line in lines)


def test_what_start_would_refuse_is_refused(shown: Inside) -> None:
    answer = shown("config", "show", "--workers", "none")
    assert answer.status == 78
    assert "--workers: 'none'" in answer.err


def test_a_running_supervisor_comes_first_with_what_it_has_otherwise(pool: Cli) -> None:
    same, other = (pool("config", "show", "--workers", number).err for number in ("2", "3"))
    assert same.startswith("supervisor: a supervisor runs here: version ")
    assert "2 of 2 workers ready, queue bindu:tasks, store unix://" in same
    assert "unlike" not in same
    assert "supervisor: the settings of that supervisor differ from those of this command: workers 2\n" in other
    assert pool("config", "show", "--json").err == ""


def test_no_supervisor_is_no_word(alone: Cli) -> None:
    assert alone("config", "show").err == ""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"REDIS_URL": "redis://:hunter2@a", "SCHEDULER__URL": "redis://b"}, "REDIS_URL and SCHEDULER__URL disagree"),
        ({"SCHEDULER_TYPE": "redis"}, "SCHEDULER_TYPE: 'redis': needs REDIS_URL or REDIS_HOST"),
        ({"SCHEDULER_TYPE": "rabbitmq"}, "SCHEDULER_TYPE: 'rabbitmq': must be redis or memory"),
        ({"REDIS_POLL_TIMEOUT": "0"}, "REDIS_POLL_TIMEOUT: '0'"),
        ({"REDIS_POLL_TIMEOUT": "-1"}, "REDIS_POLL_TIMEOUT: '-1'"),
        ({"REDIS_POLL_TIMEOUT": "1e12"}, "REDIS_POLL_TIMEOUT: '1e12'"),
    ],
)
def test_start_refuses_in_one_line(
    shown: Inside, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], text: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    answer = shown("start", "agent:handle")
    assert answer.status == 78
    [line] = answer.err.splitlines()
    assert text in line
    assert "hunter2" not in line
