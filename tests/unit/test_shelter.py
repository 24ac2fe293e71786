"""The folders that are hidden from the service, and the users that cannot reach its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from holdfastd.unit import access
from holdfastd.unit.access import Sandbox, ServiceUser, outermost

NOBODY = ServiceUser(-1, frozenset())


def directives(*needed: str) -> list[str]:
    """Without the comments."""
    return [line for line in Sandbox(tuple(map(Path, needed))).directives() if not line.startswith("#")]


def test_homes_are_hidden_when_nothing_in_them_is_needed() -> None:
    assert directives("/opt/holdfast", "/srv/agent", "/homestead") == ["ProtectHome=yes"]


def test_of_a_home_only_what_is_needed_is_shown() -> None:
    shown = ["BindReadOnlyPaths=/home/ada/app", "BindReadOnlyPaths=/home/bob/agent"]
    assert directives("/home/ada/app/.venv", "/home/bob/agent", "/home/ada/app") == ["ProtectHome=tmpfs", *shown]


def test_roots_home_can_only_be_shown_as_it_is() -> None:
    assert directives("/root/.pyenv/versions/3", "/home/ada/app") == ["ProtectHome=read-only"]


def test_a_temporary_folder_is_shown_inside_of_the_services_own() -> None:
    assert directives("/tmp/agent") == ["ProtectHome=yes", "BindReadOnlyPaths=/tmp/agent"]


def test_a_folder_inside_of_another_is_not_named_again() -> None:
    assert outermost(map(Path, ("/a/b", "/a", "/ab", "/a"))) == [Path("/a"), Path("/ab")]


def test_the_interpreter_is_needed_wherever_its_links_lead() -> None:
    needed = access.needed(access.own_command(), ())
    for path in (Path(sys.prefix), Path(sys.executable).resolve(), Path(os.__file__)):
        assert any(path.is_relative_to(folder) for folder in needed)


def test_of_another_command_its_environment_and_interpreter_are_needed(tmp_path: Path) -> None:
    (tmp_path / "python3.11/bin").mkdir(parents=True)
    (tmp_path / "python3.11/bin/python").touch()
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to(tmp_path / "python3.11/bin/python")
    needed = access.needed(tmp_path / "venv/bin/supervisor", [Path("/srv/agent")])
    assert needed == (Path("/srv/agent"), tmp_path / "python3.11", tmp_path / "venv")


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder that only its owner may enter, with one for everybody in it; all above it is open."""
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if folder.stat().st_uid == os.getuid() and folder != Path("/tmp"):
            folder.chmod(0o755)
    (tmp_path / "private/open").mkdir(parents=True)
    (tmp_path / "private").chmod(0o700)
    return tmp_path / "private"


def test_a_user_is_stopped_where_others_may_not_enter(private: Path) -> None:
    assert NOBODY.stopped_at(private / "open", Sandbox()) == private
    assert ServiceUser(os.getuid(), frozenset()).stopped_at(private / "open", Sandbox()) is None
    private.chmod(0o710)
    assert ServiceUser(-1, frozenset({private.stat().st_gid})).stopped_at(private / "open", Sandbox()) is None


def test_what_is_shown_by_itself_has_no_way_to_it(private: Path) -> None:
    bound = Sandbox((private / "open",))
    if bound.bound:  # as pytest's folders lie in /tmp
        assert NOBODY.stopped_at(private / "open", bound) is None
