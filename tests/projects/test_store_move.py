"""Data of earlier versions, and of a project that was renamed: who uses it, and how it is moved."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast_config.projects import Project
from holdfast_config.service_folders import holds_data
from holdfastd.embedded import data_move
from holdfastd.embedded.project_data import ProjectData
from tests.projects.conftest import Home, pool

EARLIER = "where earlier versions kept that of all projects: `supervisor store move`"


def has(cli_words: tuple[Home, str], task_id: str) -> bool:
    home, name = cli_words
    cli = home.at(home.folder / name)
    with pool(cli):
        return cli("tasks", "show", task_id).status == 0


def remarks(lines: list[str], text: str) -> list[str]:
    return [line for line in lines if text in line]


def test_data_in_the_place_of_earlier_versions_is_used_and_named_until_it_is_moved(home: Home) -> None:
    home.earlier("old")
    project = home.project("one")
    with pool(project) as lines:
        assert project("tasks", "show", "old").status == 0
        running = project("store", "move")
        assert (running.status, running.err.count("\n")) == (73, 1)
        assert f"a supervisor uses {home.data}: stop it first" in running.err
    assert len(remarks(lines, f"the data is in {home.data}, {EARLIER}")) == 1
    assert home.own(home.data) == []

    moved = project("store", "move")
    assert moved.status == 0
    (folder,) = home.own(home.data)
    assert moved.out == f"the data in {home.data}/store is now in {folder}/store, of {project.folder}\n"
    again = project("store", "move")
    assert (again.status, again.out) == (0, f"nothing to move: {folder} has the data, {home.data} has none\n")
    with pool(project) as lines:
        assert project("tasks", "show", "old").status == 0
    assert remarks(lines, EARLIER) == []
    assert not has((home, "elsewhere"), "old")


def test_a_project_with_data_of_its_own_leaves_that_of_earlier_versions_alone(home: Home) -> None:
    project = home.project("one")
    home.filled(project, "own")
    home.earlier("old")
    lines = home.filled(project, "second")
    assert remarks(lines, EARLIER) == []
    refused = project("store", "move")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "has data of its own" in refused.err
    assert "--set-aside" in refused.err
    assert holds_data(home.data)


def test_a_renamed_project_is_named_and_adopted(home: Home) -> None:
    project = home.project("one")
    home.filled(project, "before")
    renamed = project.folder.rename(home.folder / "renamed")
    cli = home.at(renamed)
    with pool(cli) as lines:
        assert cli("tasks", "show", "before").status == 1
    (line,) = remarks(lines, f"this project seems to be {project.folder}")
    order = line[line.index("`supervisor ") + len("`supervisor ") : line.rindex("`")].replace("'", "").split()
    assert order == ["store", "move", "--from", str(project.folder), "--set-aside"]
    assert [row["state"] for row in cli("store", "list", "--json").document].count("gone") == 1

    adopted = cli(*order)
    assert adopted.status == 0
    assert adopted.out.splitlines()[0].endswith("/store.aside-1")
    with pool(cli) as lines:
        assert cli("tasks", "show", "before").status == 0
    assert remarks(lines, "seems to be") == []
    assert len(home.own(home.data)) == 1


def test_a_copy_of_a_project_is_none_that_was_renamed(home: Home) -> None:
    home.filled(home.project("one"), "t")
    assert remarks(home.filled(home.project("copies/one"), "t"), "seems to be") == []


def test_a_move_may_be_killed_after_any_step(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    for killed_after in range(4):
        source, target = (pretended(home, f"{name}{killed_after}") for name in ("from", "to"))
        child = os.fork()
        if child == 0:
            steps = data_move.steps(source, target, set_aside=True)
            for _ in range(killed_after):
                next(steps, None)
            os.kill(os.getpid(), signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert content(source) | content(target) >= {source.state.name, target.state.name}
        list(data_move.steps(source, target, set_aside=True))
        assert (target.state / "store" / "engine").read_text() == source.state.name
        assert content(target) == {source.state.name, target.state.name}
        assert not source.state.exists()


def pretended(home: Home, name: str) -> ProjectData:
    """A state folder whose store has run."""
    project = Project.at(home.folder / name)
    state = home.data / project.name
    (state / "store").mkdir(parents=True)
    for folder in (home.data, state):
        folder.chmod(0o700)
    (state / "store" / "engine").write_text(state.name)
    project.write_note(state)
    return ProjectData(state, home.sockets / project.name, project)


def content(data: ProjectData) -> set[str]:
    return {path.read_text() for path in data.state.glob("*/engine")}


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["store", "move"], 1, "nothing to move: there is no data in "),
        (["store", "move", "--from", "."], 2, "that is this project itself"),
        (["store", "move", "--from", "nowhere"], 1, "nothing to move: there is no data in "),
        (["store", "adopt"], 2, "No such command 'adopt'"),
    ],
)
def test_what_cannot_be_moved_is_named(home: Home, words: list[str], status: int, says: str) -> None:
    answer = home.project("one")(*words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (status, "", 1), answer
    assert says in answer.err
    assert not home.data.exists()


def test_a_named_folder_is_not_moved_to(home: Home) -> None:
    project = home.project("one")
    (project.folder / "supervisor.toml").write_text(f'state_dir = "{home.folder / "mine"}"\n')
    answer = project("store", "move")
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    assert "is named by state_dir (in " in answer.err


def test_the_list_tells_what_runs_and_what_is_gone(home: Home) -> None:
    home.earlier("old")
    one = home.project("one")
    assert one("store", "move").status == 0
    two = home.project("two")
    with pool(two):
        rows = {Path(row["project"]).name: row["state"] for row in two("store", "list", "--json").document}
        assert rows == {"one": "stopped", "two": "running"}
        assert two("store", "list").out.splitlines()[0].split() == ["PROJECT", "STATE", "MIB", "FOLDER"]
