"""Flags override the environment, which overrides .env, which overrides supervisor.toml."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast_config import load
from tests.config.conftest import Load, Problems


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "supervisor.toml").write_text("workers = 2\nconcurrency = 2\nmax_attempts = 2\n")
    (tmp_path / ".env").write_text("HOLDFAST_WORKERS=3\nHOLDFAST_CONCURRENCY=3\nOTHER=x\n")
    return tmp_path


def test_each_layer_overrides_the_weaker_ones(read: Load, files: Path) -> None:
    assert read().retry_base == 1.0
    assert read().max_attempts == 2
    assert read().concurrency == 3
    assert read({"HOLDFAST_WORKERS": "4"}).workers == 4
    assert read({"HOLDFAST_WORKERS": "4"}, workers=5).workers == 5


def test_flags_that_were_not_given_change_nothing(read: Load, files: Path) -> None:
    assert read(workers=None, lanes=()).workers == 3


def test_an_empty_variable_counts_as_not_given(read: Load, files: Path) -> None:
    assert read({"HOLDFAST_WORKERS": ""}).workers == 3


def test_the_real_environment_is_read_unless_another_is_passed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("HOLDFAST_", "REDIS_", "SCHEDULER_", "STORAGE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_WORKERS", "7")
    (tmp_path / "supervisor.toml").write_text("workers = 2\nconcurrency = 6\n")
    settings = load({})
    assert (settings.workers, settings.concurrency) == (7, 6)


@pytest.mark.parametrize("how", ["flag", "environment", "dotenv"])
def test_the_settings_file_can_be_named(read: Load, tmp_path: Path, how: str) -> None:
    other = tmp_path / "other.toml"
    other.write_text("workers = 9\n")
    (tmp_path / "supervisor.toml").write_text("workers = 2\n")
    if how == "dotenv":
        (tmp_path / ".env").write_text(f"HOLDFAST_CONFIG={other}\n")
    environ = {"HOLDFAST_CONFIG": str(other)} if how == "environment" else {}
    assert read(environ, config=other if how == "flag" else None).workers == 9


def test_the_environment_file_can_be_named(read: Load, files: Path) -> None:
    (files / "other.env").write_text("export HOLDFAST_WORKERS='8'\n")
    assert read(env_file=str(files / "other.env")).workers == 8


def test_a_named_file_that_is_missing_is_refused(problems: Problems, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert problems(config=missing) == (f"{missing}: cannot be read: No such file or directory",)
    assert problems(env_file=missing) == (f"{missing}: cannot be read: No such file or directory",)


def test_a_folder_called_env_is_no_environment_file(read: Load, tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert read().workers == 1


def test_a_host_of_a_stronger_layer_beats_the_url_of_a_weaker_one(read: Load) -> None:
    environ = {"REDIS_URL": "redis://one:1/1"}
    assert read(environ, redis_host="two").store_url == "redis://two:6379/0"
    assert read(environ | {"REDIS_HOST": "two"}).store_url == "redis://one:1/1"


@pytest.mark.parametrize(
    ("name", "value", "store"), [("REDIS_HOST", "one", "redis://one:6379/0"), ("REDIS_URL", "redis://one:1/1", None)]
)
@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_a_server_of_a_stronger_layer_beats_the_kind_of_store_of_a_weaker_one(
    read: Load, tmp_path: Path, name: str, value: str, store: str | None, kind: str
) -> None:
    (tmp_path / "supervisor.toml").write_text(f'scheduler_type = "{kind}"\n')
    assert read({name: value}).store_url == (store or value)
    assert read({name: value}, scheduler_type="memory").store_url == "memory://"


def test_credential_files_stand_between_environment_and_files(read: Load, tmp_path: Path) -> None:
    (tmp_path / "redis_password").write_text("s3cret\n")
    (tmp_path / "redis_url").write_text("redis://from-credential:1/0\n")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    (tmp_path / ".env").write_text("REDIS_PASSWORD=weaker\n")
    assert read(environ).store_url == "redis://:s3cret@from-credential:1/0"
    assert read(environ | {"REDIS_URL": "redis://stronger"}).store_url == "redis://:s3cret@stronger"


@pytest.mark.parametrize(("weaker", "stronger"), [("handler", "exec"), ("exec", "handler")])
def test_what_runs_the_tasks_is_what_the_strongest_layer_says(
    read: Load, tmp_path: Path, weaker: str, stronger: str
) -> None:
    (tmp_path / "supervisor.toml").write_text(f'{weaker} = "weak:one"\n')
    settings = read({f"HOLDFAST_{stronger.upper()}": "strong:one"})
    assert (getattr(settings, stronger), getattr(settings, weaker)) == ("strong:one", None)


def test_a_handler_and_a_command_in_one_place_are_refused_both_named(problems: Problems, tmp_path: Path) -> None:
    both = "both name what runs the tasks: keep one"
    assert problems(handler="a:b", exec="cat") == (f"HANDLER and --exec {both}",)
    environ = {"HOLDFAST_HANDLER": "a:b", "HOLDFAST_EXEC": "cat"}
    assert problems(environ) == (f"HOLDFAST_HANDLER and HOLDFAST_EXEC {both}",)
    file = tmp_path / "supervisor.toml"
    file.write_text('handler = "a:b"\nexec = "cat"\n')
    (problem,) = problems()
    assert problem.endswith(both)
    assert problem.count(str(file.name)) == 2
