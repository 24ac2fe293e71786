"""Files, pipes and credentials are read whole or reported as errors; the constructor reads nothing."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from holdfast_config import Settings
from holdfast_config.resolve import Resolved, resolve
from tests.config.conftest import Load, Problems


def test_the_constructor_reads_neither_the_environment_nor_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "supervisor.toml").write_text("workers = 7\n")
    (tmp_path / ".env").write_text("HOLDFAST_WORKERS=8\n")
    for name in ("HOLDFAST_WORKERS", "WORKERS", "workers"):
        monkeypatch.setenv(name, "9")
    assert Settings().workers == 1
    assert Settings(concurrency=2).concurrency == 2


@pytest.mark.parametrize(("name", "text"), [("settings.toml", "workers = 3\n"), ("settings.json", '{"workers": 3}')])
def test_a_settings_file_can_be_a_pipe(read: Load, tmp_path: Path, name: str, text: str) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    assert read(config=pipe).workers == 3
    writer.join(10)


def test_an_environment_file_can_be_a_pipe(read: Load, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("HOLDFAST_WORKERS=3\n",), daemon=True)
    writer.start()
    assert read(env_file=pipe).workers == 3
    writer.join(10)


@pytest.mark.parametrize("text", ["", " \n", "3", "[]", '["workers"]', "null"])
def test_a_json_file_without_an_object_is_an_error(problems: Problems, tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    (line,) = problems(config=file)
    assert line.startswith((f"{file}: not JSON: ", f"{file}: not an object of settings but "))


def test_spaces_of_a_credential_belong_to_it(read: Load, tmp_path: Path) -> None:
    (tmp_path / "redis_password").write_text(" s3cret \n")
    settings = read({"CREDENTIALS_DIRECTORY": str(tmp_path)}, redis_host="a")
    assert settings.redis_password is not None
    assert settings.redis_password.get_secret_value() == " s3cret "


def test_other_files_of_the_credentials_folder_are_no_settings(read: Load, tmp_path: Path) -> None:
    for name in ("workers", "HOLDFAST_WORKERS", "queue_name"):
        (tmp_path / name).write_text("7")
    assert read({"CREDENTIALS_DIRECTORY": str(tmp_path)}) == read()


def test_each_value_has_the_origin_of_the_source_that_won(tmp_path: Path) -> None:
    (tmp_path / "supervisor.toml").write_text("workers = 2\nconcurrency = 2\nmax_attempts = 2\n")
    (tmp_path / ".env").write_text("HOLDFAST_WORKERS=3\nHOLDFAST_CONCURRENCY=3\n")
    environ = {"SCHEDULER__WORKERS": "4", "XDG_RUNTIME_DIR": "/run/user/1"}
    origins = resolve({"lease": "20"}, environ=environ, folder=tmp_path).origins
    assert {field: origins[field].key for field in ("workers", "concurrency", "max_attempts", "lease")} == {
        "workers": "SCHEDULER__WORKERS",
        "concurrency": f"HOLDFAST_CONCURRENCY (in {tmp_path / '.env'})",
        "max_attempts": f"max_attempts (in {tmp_path / 'supervisor.toml'})",
        "lease": "--lease",
    }
    assert not origins["state_dir"].named


def test_an_excluded_setting_has_no_origin(tmp_path: Path) -> None:
    (tmp_path / "supervisor.toml").write_text('redis_url = "redis://weak"\nhandler = "weak:one"\n')
    origins = resolve({"redis_host": "strong", "exec": "cat"}, environ={}, folder=tmp_path).origins
    assert {"redis_host", "exec"} <= origins.keys()
    assert not {"redis_url", "handler"} & origins.keys()


def test_implied_settings_name_the_handler_as_their_origin(tmp_path: Path) -> None:
    origins = resolve({"concurrency": 5}, environ={"HOLDFAST_HANDLER": 'm:W("A:B")'}, folder=tmp_path).origins
    assert origins["lanes"].key == "HOLDFAST_HANDLER (implied)"
    assert origins["concurrency"].key == "--concurrency"


def found(folder: Path, text: str, framework: dict[str, object] | None = None) -> Resolved:
    (folder / "agent_config.json").write_text(text)
    return resolve({}, environ={}, folder=folder, framework=framework)


def test_a_found_file_is_reported_and_its_unknown_keys_are_no_errors(tmp_path: Path) -> None:
    resolved = found(tmp_path, '{"scheduler": {"workers": 4, "prefetch": 3}}')
    assert resolved.settings.workers == 4
    file = tmp_path / "agent_config.json"
    assert resolved.notices == (f"found {file}: taken: scheduler.workers 4; not understood: scheduler.prefetch",)


def test_only_an_application_of_the_framework_ignores_memory_in_a_found_file(tmp_path: Path) -> None:
    text = '{"scheduler": {"type": "memory", "workers": 4}, "storage": {"type": "memory"}}'
    assert found(tmp_path, text).settings.workers == 4
    resolved = found(tmp_path, text, framework={})
    assert (resolved.settings.workers, resolved.settings.scheduler_type) == (1, "redis")
    assert resolved.origins["storage_type"].key.startswith("storage.type")


def test_a_block_that_is_no_object_is_an_unknown_key_without_a_similar_one(problems: Problems, tmp_path: Path) -> None:
    file = tmp_path / "agent.json"
    file.write_text('{"scheduler": "redis", "storage": {"type": "memory"}}')
    assert problems(config=file) == (f"scheduler (in {file}): unknown setting",)
