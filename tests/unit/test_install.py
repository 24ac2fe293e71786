"""`supervisor service show` and `install`, below a root of the test."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.commands import Answer, Cli
from tests.users import STRANGER, User, needs_users

NEW = [
    "etc/holdfast/supervisor.toml",
    "etc/systemd/system/holdfast.service",
    "etc/systemd/system/holdfast.service.d/credentials.conf",
    "etc/sysusers.d/holdfast.conf",
    "etc/tmpfiles.d/holdfast.conf",
]
UNIT = "etc/systemd/system/holdfast.service"
TOML = "etc/holdfast/supervisor.toml"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "image"


def install(cli: Cli, *arguments: str) -> Answer:
    return cli("service", "install", "agent:handle", "--root", "image", *arguments)


def actions(answer: Answer) -> dict[str, str]:
    assert answer.status == 0, answer.err
    return {Path(file["path"]).name: file["action"] for file in answer.document["files"]}


def written(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_print_shows_what_install_writes(cli: Cli, root: Path) -> None:
    printed = {file["path"]: file for file in cli("service", "show", "agent:handle", "--json").document}
    install(cli)
    assert written(root) == NEW == sorted(path.lstrip("/") for path in printed)
    for path, file in printed.items():
        there = root / path.lstrip("/")
        assert there.read_text() == file["text"]
        assert f"{there.stat().st_mode & 0o7777:04o}" == file["mode"]


def test_it_tells_each_file_and_what_to_type_next(cli: Cli, root: Path) -> None:
    answer = install(cli)
    assert all(f"written  {root / path}\n" in answer.out for path in NEW)
    assert "systemctl daemon-reload\n  systemctl enable --now holdfast\n" in answer.out
    assert "supervisor status --runtime-dir /run/holdfast\n" in answer.out


def test_the_unit_runs_this_command_and_the_settings_name_the_handler(cli: Cli, root: Path) -> None:
    install(cli, "--workers", "3", "--user", "ada")
    unit = (root / UNIT).read_text()
    command = next(line.split("=")[1].split()[0] for line in unit.splitlines() if line.startswith("ExecStart="))
    assert Path(command).samefile(Path(sys.executable).with_name("supervisor"))
    assert "\nUser=ada\n" in unit
    assert not (root / "etc/sysusers.d").exists()
    settings = tomllib.loads((root / TOML).read_text())
    assert settings == {"handler": "agent:handle", "workers": 3, "app_dir": str(cli.folder.resolve())}


def test_an_instance_has_its_own_settings_and_leaves_those_of_the_others(cli: Cli, root: Path) -> None:
    install(cli, "--workers", "3")
    before = (root / TOML).read_text()
    answer = install(cli, "--instance", "billing", "--redis-url", "redis://h/1")
    assert "systemctl enable --now holdfast@billing" in answer.out
    variables = root / "etc/holdfast/billing.env"
    assert variables.stat().st_mode & 0o777 == 0o600
    assert {'HOLDFAST_QUEUE_NAME="billing:tasks"', 'HOLDFAST_REDIS_URL="redis://h/1"'} < set(
        variables.read_text().splitlines()
    )
    assert (root / TOML).read_text() == before
    assert (root / "etc/systemd/system/holdfast@.service").exists()


def test_installing_again_changes_nothing(cli: Cli, root: Path) -> None:
    install(cli)
    before = {path: (root / path).stat().st_ino for path in written(root)}
    assert set(actions(install(cli, "--json")).values()) == {"unchanged"}
    assert {path: (root / path).stat().st_ino for path in written(root)} == before


def test_a_unit_that_only_we_have_written_is_renewed(cli: Cli, root: Path) -> None:
    install(cli)
    assert actions(install(cli, "--user", "ada", "--json"))["holdfast.service"] == "replaced"
    assert "User=ada" in (root / UNIT).read_text()


@pytest.mark.parametrize("path", [UNIT, TOML])
def test_what_somebody_has_changed_is_kept_unless_forced(cli: Cli, root: Path, path: str) -> None:
    install(cli)
    with (root / path).open("a") as file:
        file.write("# mine\n")
    answer = install(cli, "--user", "ada", "--workers", "7")
    assert answer.status == 0
    assert f"kept  {root / path}\n" in answer.out
    assert f"{root / path} was edited and is kept: --force replaces it" in answer.err
    assert (root / path).read_text().endswith("# mine\n")
    install(cli, "--user", "ada", "--workers", "7", "--force")
    assert "# mine" not in (root / path).read_text()


@pytest.mark.parametrize("instance", [(), ("--instance", "billing")])
def test_installed_again_without_a_word_it_is_as_before(cli: Cli, root: Path, instance: tuple[str, ...]) -> None:
    agent = cli.folder.resolve() / "apps"
    agent.mkdir()
    install(cli, "--user", "ada", "--app-dir", str(agent), *instance)
    again = cli("service", "install", "--root", "image", "--json", *instance)
    assert set(actions(again).values()) <= {"unchanged", "kept"}
    assert again.err == ""
    unit = next((root / "etc/systemd/system").glob("*.service")).read_text()
    assert "User=ada" in unit
    assert (f"BindReadOnlyPaths={agent}" in unit) == agent.is_relative_to("/tmp")  # as pytest's folders are


def test_settings_are_never_written_twice(cli: Cli, root: Path) -> None:
    install(cli, "--workers", "3")
    answer = cli("service", "install", "--root", "image")
    assert (answer.status, answer.err.count("kept")) == (0, 0)
    assert tomllib.loads((root / TOML).read_text())["workers"] == 3


def test_a_dry_run_writes_nothing(cli: Cli, root: Path) -> None:
    answer = install(cli, "--dry-run")
    assert f"would be written  {root / UNIT}\n" in answer.out
    assert not root.exists()


def test_a_folder_with_an_agent_needs_no_name(cli: Cli, root: Path) -> None:
    (cli.folder / "agent.py").write_text("def handle(messages): ...\n")
    assert "no handler" not in cli("service", "install", "--root", "image").err
    assert tomllib.loads((root / TOML).read_text())["handler"] == "agent:handle"


def test_a_command_is_written_by_its_path_and_its_folder_is_shown(cli: Cli, root: Path) -> None:
    tool = cli.folder / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    answer = cli("service", "install", "--root", "image", "--exec", "./tool -n 'a b'")
    assert "no handler" not in answer.err
    settings = tomllib.loads((root / TOML).read_text())
    assert settings == {"exec": f"{tool} -n 'a b'", "app_dir": str(cli.folder)}
    assert f"BindReadOnlyPaths={cli.folder}\n" in (root / UNIT).read_text()


def test_without_a_handler_it_says_where_to_name_one(cli: Cli) -> None:
    answer = cli("service", "install", "--root", "image")
    assert answer.status == 0
    assert "no handler is set" in answer.err


def test_whatever_the_umask_the_service_can_read_its_settings(cli: Cli, root: Path) -> None:
    before = os.umask(0o077)
    try:
        install(cli)
    finally:
        os.umask(before)
    assert {oct((root / path).stat().st_mode & 0o777) for path in ("etc", "etc/holdfast", "etc/systemd")} == {"0o755"}
    assert (root / TOML).stat().st_mode & 0o777 == 0o644


def test_without_rights_it_says_so_in_one_line(short_path: Path) -> None:
    words = ("service", "install", "agent:handle")
    if os.geteuid() == 0:  # as another user, because the folders of the machine are root's own
        needs_users()
        short_path.chmod(0o755)
        answer = User(STRANGER).supervisor(*words, cwd=short_path)
    else:
        answer = Cli(short_path)(*words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (77, "", 1)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--instance", "../etc"), 2, "instance '../etc': write 1 to 64 letters"),
        (("--instance", "supervisor"), 2, "not 'supervisor'"),
        (("--user", "a b"), 2, "user 'a b'"),
        (("--workers", "0"), 78, "--workers"),
        (("--redis-url", "redis://:secret@h"), 78, "/etc/holdfast/credentials/redis_password"),
        (("--app-dir", "/srv/100% mine"), 2, "a unit file cannot carry '%' safely"),
        (("--now",), 2, "--now"),
        (("--exec", "cat"), 78, "HANDLER and --exec both name what runs the tasks"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    cli: Cli, root: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    answer = install(cli, *arguments)
    assert (answer.status, answer.out, answer.err.count("\n")) == (status, "", 1)
    assert said in answer.err
    assert "secret" not in answer.err
    assert not root.exists()
