"""Settings files that others can write are refused, those that show a secret to everybody are warned of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast_config import ConfigError
from holdfast_config.resolve import Resolved, resolve
from tests.users import SERVICE, User, needs_users

SYSTEMD = {"RUNTIME_DIRECTORY": "/run/holdfast"}
NAMES = ("supervisor.toml", ".env", "agent.json", "agent.conf")
TEXTS = {
    "supervisor.toml": 'redis_url = "redis://ada:hunter2@db:6379/0"\nworkers = 2\n',
    ".env": "REDIS_URL=redis://ada:hunter2@db:6379/0\n",
    "agent.json": '{"redis_host": "db", "redis_password": "hunter2"}',
    "agent.conf": "[redbike-redis]\nhost = db\npassword = hunter2\n",
}


def written(folder: Path, name: str, mode: int) -> Path:
    path = folder / name
    path.write_text(TEXTS[name])
    path.chmod(mode)
    return path


def read(path: Path, environ: dict[str, str] | None = None) -> Resolved:
    flags = {} if path.name in {"supervisor.toml", ".env"} else {"config": str(path)}
    return resolve(flags, environ=environ or {}, folder=path.parent)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [0o666, 0o602])
def test_one_that_everybody_can_write_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    path = written(tmp_path, name, mode)
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert caught.value.problems == (f"{path}: everybody can write it (mode {mode:o}): chmod o-w {path}",)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_its_group_can_write_is_refused_as_a_service(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, 0o660)
    with pytest.raises(ConfigError, match=r"its group can write it \(mode 660\): chmod g-w"):
        read(path, SYSTEMD)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is root")
def test_one_that_its_group_can_write_is_refused_as_root(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"its group can write it \(mode 660\): chmod g-w"):
        read(written(tmp_path, "supervisor.toml", 0o660))


def test_other_users_are_warned_of_one_that_their_group_can_write(short_path: Path) -> None:
    needs_users()
    short_path.chmod(0o755)
    folder = User(SERVICE).folder(short_path / "ada")
    path = written(folder, "supervisor.toml", 0o660)
    path.write_text("workers = 2\n")
    os.chown(path, SERVICE, SERVICE)
    for command in ("config show", "check examples.wordcount:handle", "doctor examples.wordcount:handle"):
        answer = User(SERVICE).supervisor(*command.split(), cwd=folder)
        text = " ".join((answer.out + answer.err).split())
        assert f"{path.name}: its group can write it (mode 660)" in text, command
        assert f"chmod g-w {path.name}" in text
    assert User(SERVICE).supervisor("config", "show", cwd=folder).status == 0
    assert "its group" not in User(SERVICE).supervisor("status", cwd=folder).err


@pytest.mark.parametrize("name", NAMES)
def test_one_that_holds_secrets_and_everybody_can_read_is_warned_of(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, 0o644)
    (warning,) = read(path).warnings
    assert warning.startswith(f"{path}: everybody can read it (mode 644), and it holds ")
    assert warning.endswith(f": chmod o-r {path}")
    assert "hunter2" not in warning
    path.chmod(0o640)
    assert read(path).warnings == ()


def test_one_without_secrets_may_be_read_by_everybody(tmp_path: Path) -> None:
    path = written(tmp_path, "supervisor.toml", 0o644)
    path.write_text('redis_url = "redis://db:6379/0"\nwebhook_url = "https://example.org/hook"\n')
    assert read(path).warnings == ()


def test_a_device_is_no_file_of_anybodys() -> None:
    assert resolve({"config": os.devnull, "env_file": os.devnull}, environ={}).warnings == ()


def test_a_service_that_is_not_root_refuses_one_that_its_group_can_write(short_path: Path) -> None:
    needs_users()
    short_path.chmod(0o755)
    folder = User(SERVICE).folder(short_path / "ada")
    path = written(folder, "supervisor.toml", 0o660)
    os.chown(path, SERVICE, SERVICE)
    answer = User(SERVICE, environ=SYSTEMD).supervisor("config", "show", cwd=folder)
    assert (answer.status, answer.out) == (78, "")
    assert answer.err == f"supervisor: {path.name}: its group can write it (mode 660): chmod g-w {path.name}\n"


@pytest.mark.parametrize("command", ["config show", "check"])
def test_a_folder_that_may_not_be_searched_is_named(short_path: Path, command: str) -> None:
    """`check` finds its settings here, and looks for a handler there."""
    needs_users()
    short_path.chmod(0o755)
    folder, closed = User(SERVICE).folder(short_path / "ada"), short_path / "closed"
    closed.mkdir(0o700)
    if command == "check":
        (folder / "supervisor.toml").touch()
    answer = User(SERVICE).supervisor(*command.split(), "--app-dir", str(closed), cwd=folder)
    name = "agent.py" if command == "check" else "agent_config.json"
    assert answer.status == 78
    text = f"{closed / name}: this user has no x permission on the folder of this file: chmod +x the folder, or use "
    assert text in answer.err
    assert "Traceback" not in answer.err
    assert answer.err.count("\n") == 1
