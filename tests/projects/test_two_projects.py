"""Without a URL each project has a pool of its own, which the commands in its folder find."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast_config.service_folders import SOCKET_PATH_LIMIT
from tests.projects.conftest import Home, pool


def stats(home: Home, base: Path) -> dict[str, int]:
    return {str(path.relative_to(home.folder)): path.stat().st_mode & 0o777 for path in (base, *home.own(base))}


def test_two_projects_run_side_by_side_and_share_nothing(home: Home) -> None:
    one, two = home.project("one"), home.project("two")
    with pool(one), pool(two):
        assert one("submit", "x", "--wait", "--task-id", "of-one").status == 0
        assert one("tasks", "show", "of-one").status == 0
        assert two("tasks", "show", "of-one").status == 1
        pids = {cli("status", "--json").document["pid"] for cli in (one, two)}
        assert len(pids) == 2
        assert two("stop").status == 0
        assert one("status").status == 0
    assert len(home.own(home.data)) == 2


def test_the_folders_are_private_and_hold_nothing_of_the_project(home: Home) -> None:
    project = home.project("one")
    home.filled(project, "t")
    assert set(stats(home, home.data).values()) == {0o700}
    assert set(stats(home, home.sockets).values()) == {0o750}
    assert {path.name for path in project.folder.iterdir()} - {"__pycache__"} == {"agent.py"}
    (note,) = home.data.glob("*/project.json")
    assert json.loads(note.read_text())["path"] == str(project.folder)


@pytest.mark.parametrize("name", ["with space", "Überweisungen ✓", "a" * 200, "$(id) 'x'", "-", "store"])
def test_any_name_of_a_folder_will_do(home: Home, name: str) -> None:
    project = home.project(name)
    with pool(project):
        assert project("submit", "x", "--wait").status == 0
        (folder,) = home.own(home.sockets)
    assert folder.name.isascii()
    assert len(folder.name) <= 21
    assert len(os.fsencode(folder)) < SOCKET_PATH_LIMIT


def test_a_name_that_is_not_utf_8_will_do(home: Home) -> None:
    folder = Path(os.fsdecode(os.fsencode(home.folder) + b"/\xff"))
    folder.mkdir()
    (folder / "agent.py").write_text("async def handle(messages): ...\n")
    project = home.at(folder)
    with pool(project):
        assert project("status").status == 0
        elsewhere = home.at(home.folder)("status")
        assert elsewhere.status == 1
        assert elsewhere.err.count("\n") == 1


def test_a_project_has_one_pool_by_whatever_path_it_is_reached(home: Home) -> None:
    project = home.project("real/one")
    (home.folder / "link").symlink_to(home.folder / "real")
    (home.folder / "direct").symlink_to(project.folder)
    with pool(home.at(home.folder / "link" / "one")):
        for path in (project.folder, home.folder / "direct"):
            assert home.at(path)("status").status == 0
        again = project("start")
        assert (again.status, again.err.count("\n")) == (73, 1)


def test_the_settings_file_names_the_project_then_the_folder_of_agent_py(home: Home) -> None:
    app, conf = home.project("app"), home.folder / "conf"
    conf.mkdir()
    (conf / "supervisor.toml").write_text(f'app_dir = "{app.folder}"\n')
    with pool(home.at(home.folder, "-c", str(conf / "supervisor.toml"))):
        assert home.at(conf)("status").status == 0
        assert app("status").status == 1
    with pool(home.at(home.folder, "--app-dir", "app")):
        assert app("status").status == 0


def test_config_show_tells_the_project_of_the_default_folders(home: Home) -> None:
    project = home.project("one")
    answer = project("config", "show", "--json")
    assert answer.err == ""
    for field, variable, base in (
        ("state_dir", "XDG_STATE_HOME", home.data),
        ("runtime_dir", "XDG_RUNTIME_DIR", home.sockets),
    ):
        row = answer.document[field]
        assert row["source"] == f"{variable}, project {project.folder}"
        assert Path(row["value"]).parent == base
    named = home.at(project.folder, "--runtime-dir", "/run/x")("config", "show", "--json").document
    assert named["runtime_dir"] == {"value": "/run/x", "source": "--runtime-dir"}


def test_a_command_elsewhere_names_the_pools_that_run(home: Home) -> None:
    one, two, elsewhere = home.project("one"), home.project("two"), home.at(home.folder)
    with pool(one), pool(two):
        for words in (["status"], ["stop"], ["scale", "2"]):
            answer = elsewhere(*words)
            assert (answer.status, answer.out, answer.err.count("\n")) == (1, "", 1)
            for cli in (one, two):
                assert f"{cli.folder} in {home.sockets}/{cli.folder.name}-" in answer.err
        answer = elsewhere("tasks", "list")
        assert (answer.status, answer.out, answer.err.count("\n")) == (69, "", 1)
        assert "no supervisor runs in " in answer.err
        assert f"{one.folder} in " in answer.err
    assert str(one.folder) not in elsewhere("status").err


def test_a_pool_on_a_redis_has_its_own_place_as_well(home: Home, server_url: str) -> None:
    one, two = home.project("one"), home.project("two")
    on = ("--redis-url", server_url)
    with (
        pool(one, *on, "--queue-name", f"test:{home.folder}:1"),
        pool(two, *on, "--queue-name", f"test:{home.folder}:2"),
    ):
        assert one("status", *on).status == two("status", *on).status == 0
