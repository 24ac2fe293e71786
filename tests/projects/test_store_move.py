"""Data of a project that was renamed: who is told of it, and how it is moved."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast_config.service_folders import Project
from holdfastd.embedded import project_data
from holdfastd.embedded.project_data import ProjectData
from tests.projects.conftest import Home, pool


def remarks(lines: list[str], text: str) -> list[str]:
    return [line for line in lines if text in line]


def test_data_is_moved_only_while_no_supervisor_runs_and_never_over_other_data(home: Home) -> None:
    old = home.project("old")
    home.filled(old, "t")
    project = home.project("one")
    words = ("store", "move", "--from", str(old.folder))
    with pool(project):
        running = project(*words)
        assert (running.status, running.err.count("\n")) == (73, 1)
        assert "a supervisor uses" in running.err
        assert "stop it first" in running.err
        assert project("submit", "x", "--wait", "--task-id", "own").status == 0
    refused = project(*words)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "has data of its own" in refused.err
    assert "--set-aside" in refused.err
    moved = home.project("two")("store", "move", "--from", str(old.folder))
    assert moved.status == 0
    again = home.at(home.folder / "two")("store", "move", "--from", str(old.folder))
    assert (again.status, again.out.startswith("nothing to move: ")) == (0, True)
    with pool(home.at(home.folder / "two")):
        assert home.at(home.folder / "two")("tasks", "show", "t").status == 0


def test_a_renamed_project_is_named_and_adopted(home: Home) -> None:
    project = home.project("one")
    home.filled(project, "before")
    renamed = project.folder.rename(home.folder / "renamed")
    cli = home.at(renamed)
    with pool(cli) as lines:
        assert cli("tasks", "show", "before").status == 1
    (line,) = remarks(lines, f"this project seems to be the renamed {project.folder}")
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
            steps = project_data.steps(source, target, set_aside=True)
            for _ in range(killed_after):
                next(steps, None)
            os.kill(os.getpid(), signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert content(source) | content(target) >= {source.state.name, target.state.name}
        list(project_data.steps(source, target, set_aside=True))
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
        (["store", "move"], 2, "Missing option '--from'"),
        (["store", "move", "--from", "."], 2, "this is the present path of the project"),
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
    answer = project("store", "move", "--from", "elsewhere")
    assert (answer.status, answer.err.count("\n")) == (78, 1)
    assert "is named by state_dir (in " in answer.err


def test_the_list_tells_what_runs_and_what_is_gone(home: Home) -> None:
    home.filled(home.project("one"), "t")
    two = home.project("two")
    with pool(two):
        rows = {Path(row["project"]).name: row["state"] for row in two("store", "list", "--json").document}
        assert rows == {"one": "stopped", "two": "running"}
        assert two("store", "list").out.splitlines()[0].split() == ["PROJECT", "STATE", "MIB", "FOLDER"]
