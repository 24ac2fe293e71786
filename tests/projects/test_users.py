"""Folders of projects belong to their user alone: other users, root, and folders that cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast_config import load
from holdfast_config.service_folders import NOTE, Project, RunningPool, noted
from holdfastd.cli.common.service_pool import found
from tests.cli.commands import clean
from tests.projects.conftest import Home, pool
from tests.trust.serving import serving
from tests.trust.test_folders import listening
from tests.users import ENTRY, SERVICE, STRANGER, User, needs_users

ADA, EVE = User(SERVICE), User(STRANGER)


def of(user: User, home: Path) -> User:
    """The user with a home of its own and one /tmp with others, without XDG folders."""
    environ = {"TMPDIR": str(home.parent), "XDG_RUNTIME_DIR": "", "XDG_STATE_HOME": "", "HOME": str(home)}
    return User(user.uid, environ=environ)


@pytest.fixture
def shared(short_path: Path) -> Path:
    """A folder such as /tmp."""
    needs_users()
    short_path.chmod(0o1777)
    return short_path


def test_two_users_in_one_folder_have_a_pool_each_and_root_a_third(shared: Path) -> None:
    project = shared / "p"
    project.mkdir(0o755)
    ada, eve = of(ADA, ADA.folder(shared / "ada")), of(EVE, EVE.folder(shared / "eve"))
    root = User(0, environ={"TMPDIR": str(shared), "XDG_RUNTIME_DIR": "", "HOME": str(shared / "root")})
    with serving(ada, cwd=project):
        assert ada.supervisor("status", cwd=project).status == 0
        for other in (eve, root):
            answer = other.supervisor("status", cwd=project)
            assert (answer.status, answer.err.count("\n")) == (1, 1)
            assert f"no supervisor runs in {shared}/holdfast-{other.uid}/p-" in answer.err
            assert str(SERVICE) not in answer.err
        with serving(eve, cwd=project):
            assert eve.supervisor("submit", "x", "--wait", "--task-id", "eves", cwd=project).status == 0
            assert ada.supervisor("tasks", "show", "eves", cwd=project).status == 1
    (base,) = shared.glob(f"holdfast-{SERVICE}")
    assert [(path.stat().st_uid, path.stat().st_mode & 0o777) for path in (base, *base.iterdir())] == [
        (SERVICE, 0o750)
    ] * 2


def test_a_strangers_folder_for_all_projects_is_refused(shared: Path) -> None:
    ada = of(ADA, ADA.folder(shared / "ada"))
    base = EVE.folder(shared / f"holdfast-{SERVICE}", 0o755)
    for words in (["status"], ["submit", "x"], ["start", "examples.wordcount:handle"]):
        answer = ada.supervisor(*words, cwd=shared / "ada")
        assert (answer.status, answer.err.count("\n")) == (77, 1)
        assert answer.err.startswith(
            f"supervisor: {base}: owned by user {STRANGER}: it belongs neither to user {SERVICE}"
        )


def test_pools_in_a_strangers_folder_are_neither_asked_nor_named(shared: Path) -> None:
    ada = of(ADA, ADA.folder(shared / "ada"))
    pool_of_eve = EVE.folder(EVE.folder(shared / f"holdfast-{SERVICE}", 0o755) / "p", 0o755)
    with listening(pool_of_eve / "control.sock") as told:
        answer = ada.supervisor("status", "--runtime-dir", str(shared / "ada" / "run"), cwd=shared / "ada")
    assert (answer.status, answer.err.count("\n")) == (1, 1)
    assert "no supervisor runs in" in answer.err
    assert str(pool_of_eve) not in answer.err
    assert told == []


def test_the_service_of_the_host_does_not_stand_in_for_a_strangers_folder(shared: Path) -> None:
    services = [RunningPool(Path("/run/holdfast"))]
    folder, environ = ADA.folder(shared / "ada"), {"XDG_RUNTIME_DIR": str(shared / "run")}
    settings = load(environ=environ, folder=folder)
    assert found(settings, services) == Path("/run/holdfast")
    (shared / "run").mkdir(0o755)
    EVE.folder(shared / "run" / "holdfast", 0o755)
    assert found(settings, services) is None


def test_a_folder_that_may_not_be_searched_is_named(shared: Path) -> None:
    ada = of(ADA, ADA.folder(shared / "ada"))
    EVE.folder(shared / "ada" / ".local", 0o700)
    answer = ada.supervisor("start", "examples.wordcount:handle", cwd=shared / "ada")
    assert (answer.status, answer.err.count("\n")) == (77, 1)
    assert f"{shared}/ada/.local/state" in answer.err


def test_a_read_only_folder_is_named_with_what_to_do(home: Home) -> None:
    """Even root cannot write below /proc, as on a file system that is mounted read-only."""
    project = home.project("one")
    for variable in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        environ = {**home.environ, variable: "/proc/sys"}
        answer = subprocess.run(
            [sys.executable, "-c", ENTRY, "start"],
            cwd=project.folder,
            env=clean(environ),
            capture_output=True,
            text=True,
        )
        assert answer.returncode in (77, 78)
        assert answer.stderr.count("\n") == 1
        assert "/proc/sys/holdfast" in answer.stderr
        assert "or choose another --runtime-dir or --state-dir" in answer.stderr


def test_a_working_folder_that_was_removed_is_no_error_of_its_own(home: Home) -> None:
    gone = home.folder / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2" -c "$3" status'
    words = ["sh", "-c", script, "sh", str(gone), sys.executable, ENTRY]
    answer = subprocess.run(words, env=clean(home.environ), capture_output=True, text=True)
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1), answer.stderr
    assert "no supervisor runs in" in answer.stderr


@pytest.mark.parametrize("damage", [b"", b"\xff", b"[]", b'{"path": 1}', b"[" * 100_000], ids=range(5))
def test_a_damaged_note_is_none(tmp_path: Path, damage: bytes) -> None:
    project = Project.at(tmp_path)
    project.write_note(tmp_path)
    assert noted(tmp_path) == project
    (tmp_path / NOTE).write_bytes(damage)
    assert noted(tmp_path) is None
    project.write_note(tmp_path)
    assert noted(tmp_path) == project
    assert [path.name for path in tmp_path.iterdir()] == [NOTE]


def test_a_pool_without_a_note_is_listed_by_its_folder(home: Home) -> None:
    project = home.project("one")
    with pool(project):
        (folder,) = home.own(home.sockets)
        (folder / NOTE).unlink()
        answer = home.at(home.folder)("status")
        assert answer.err.endswith(f"(there is {folder})\n")
