"""A settings file that is broken while its supervisor runs: commands that need only the control socket go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.exits import Exit
from tests.cli.commands import Cli
from tests.cli.conftest import running

ONLY_THE_SOCKET = (("status",), ("status", "--json"), ("workers", "--deaths"))
FOLDER = 'runtime_dir = "{}/run"\n'
TYPO, TORN = "concurency = 3\n", "concurrency = \n"


@pytest.fixture(autouse=True)
def _handler(short_path: Path) -> None:
    (short_path / "agent.py").write_text("def handle(messages):\n    return None\n")


@pytest.mark.parametrize("text", [FOLDER + TYPO, FOLDER + "max_attempts = 'many'\n"])
def test_they_go_on_with_one_warning(short_path: Path, text: str) -> None:
    """The file names the runtime folder, and the rest of the file is wrong."""
    with running(short_path) as (_, process):
        (short_path / "supervisor.toml").write_text(text.format(short_path))
        cli = Cli(short_path)
        for words in ONLY_THE_SOCKET:
            done = cli(*words)
            assert done.status == Exit.OK, (words, done)
            assert done.err.count("supervisor: warning: ") == 1
            assert done.err.count("\n") == 1
        assert "no counts from the store: the settings that name it are invalid" in cli("status").out
        assert cli("lanes", "list").status == Exit.CONFIG
        assert cli("stop").status == Exit.OK
        assert process.wait(60) == Exit.OK


def test_a_typo_does_not_hide_the_default_folder_of_the_project(short_path: Path) -> None:
    file = short_path / "supervisor.toml"
    file.write_text(TYPO)
    done = Cli(short_path)("status")
    assert (done.status, done.err.count("\n")) == (Exit.FAILED, 2)
    assert "no supervisor runs in" in done.err


def test_a_file_that_everybody_can_write_says_nothing_about_the_folder(short_path: Path) -> None:
    """Another user could have written the folder: a command must not go there."""
    file = short_path / "supervisor.toml"
    with running(short_path) as (cli, _):
        file.write_text("concurrency = 3\n")
        file.chmod(0o666)
        assert cli("status").status == Exit.OK
        file.write_text(FOLDER.format(short_path))
        assert cli("status").status == Exit.OK  # an option names the folder
        assert Cli(short_path)("status").status == Exit.CONFIG


@pytest.mark.parametrize("name", ["supervisor.toml", ".env"])
def test_a_file_that_cannot_be_read_could_name_another_folder(short_path: Path, name: str) -> None:
    with running(short_path) as (cli, _):
        (short_path / name).write_text(TORN if name != ".env" else "no variable\n")
        unknown = Cli(short_path)
        assert {unknown(*words).status for words in (*ONLY_THE_SOCKET, ("stop",))} == {Exit.CONFIG}
        named = Cli(short_path, environ={"HOLDFAST_RUNTIME_DIR": str(short_path / "run")})
        for known in (cli, named):
            assert {known(*words).status for words in ONLY_THE_SOCKET} == {Exit.OK}
        assert cli("stop").status == Exit.OK
