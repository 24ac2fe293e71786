"""State and sockets are in the folders that the user names, else in those of systemd, else in the project's XDG
folders."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from holdfast_config.service_folders import (
    LONGEST_SOCKET,
    NOTE,
    SOCKET_PATH_LIMIT,
    Project,
    listens,
    noted,
    runtime_base,
    state_base,
)
from tests.config.conftest import Load, Problems

SERVICE = {"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "RUNTIME_DIRECTORY": "/run/a:/run/b"}
USER = {"XDG_STATE_HOME": "/home/u/state", "XDG_RUNTIME_DIR": "/run/user/7"}


def test_ours_then_systemds_first_then_xdg(read: Load, tmp_path: Path) -> None:
    name = Project.at(tmp_path).name
    ours = {"HOLDFAST_STATE_DIR": "/s", "HOLDFAST_RUNTIME_DIR": "/r"}
    for environ, state, runtime in (
        (USER | SERVICE | ours, "/s", "/r"),
        (USER | SERVICE, "/var/lib/a", "/run/a"),
        (USER, f"/home/u/state/holdfast/{name}", f"/run/user/7/holdfast/{name}"),
    ):
        settings = read(environ)
        assert (str(settings.state_dir), str(settings.runtime_dir)) == (state, runtime)


def test_without_any_the_home_and_the_temporary_folder_are_used() -> None:
    assert state_base({"HOME": "/home/u"}).value == Path("/home/u/.local/state/holdfast")
    assert runtime_base({}).value == Path(tempfile.gettempdir(), f"holdfast-{os.getuid()}")


def test_relative_xdg_paths_are_ignored() -> None:
    assert state_base({"XDG_STATE_HOME": "here", "HOME": "/h"}).value == Path("/h/.local/state/holdfast")


def test_given_folders_become_absolute(read: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/u")
    settings = read(state_dir="~/s", runtime_dir="/r", app_dir="src")
    assert settings.state_dir == Path("/home/u/s")
    assert read(state_dir="s").state_dir == tmp_path / "s"
    assert settings.app_dir == Path("src")


def _folder(length: int) -> str:
    return "/" + "r" * (length - len(f"//{LONGEST_SOCKET}"))


def test_a_runtime_folder_that_just_fits_its_sockets_is_accepted(read: Load) -> None:
    read(runtime_dir=_folder(SOCKET_PATH_LIMIT))


def test_a_runtime_folder_too_long_for_sockets_is_refused_with_the_way_out(problems: Problems) -> None:
    (line,) = problems(runtime_dir=_folder(SOCKET_PATH_LIMIT + 1))
    assert line.startswith("--runtime-dir: '/rrr")
    assert "a path of 108 bytes, the system allows 107" in line
    assert "set --runtime-dir or HOLDFAST_RUNTIME_DIR to a shorter folder" in line


def test_bytes_are_counted_not_characters(problems: Problems) -> None:
    problems({"HOLDFAST_RUNTIME_DIR": "/" + "é" * 50})


def test_a_default_that_is_too_long_names_the_variable_it_came_from(problems: Problems) -> None:
    (line,) = problems({"XDG_RUNTIME_DIR": "/" + "r" * 100})
    assert line.startswith("XDG_RUNTIME_DIR: ")


def test_a_process_whose_queue_of_connections_is_full_listens(short_path: Path) -> None:
    path = short_path / "a.sock"
    assert not listens(path)
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(path))
        assert not listens(path)
        server.listen(0)
        assert listens(path)
        with suppress(BlockingIOError):
            while True:
                client = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
                client.connect(str(path))
        assert listens(path)
    assert not listens(short_path / ("a" * 200))


def test_a_note_names_the_project_and_is_written_once(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write_note(tmp_path)
    note = tmp_path / NOTE
    assert (noted(tmp_path), note.stat().st_mode & 0o777) == (project, 0o600)
    first = note.stat().st_ino
    project.write_note(tmp_path)
    assert note.stat().st_ino == first
    moved = Project(tmp_path / "other", project.device, project.inode)
    moved.write_note(tmp_path)
    assert noted(tmp_path) == moved
    assert [path.name for path in tmp_path.iterdir()] == [NOTE]


NOTED = {"path": "/p", "device": 1, "inode": 2}


@pytest.mark.parametrize(
    "damaged",
    [
        *(NOTED | {name: value} for name in NOTED for value in (None, [], {}, 1.5, 3 if name == "path" else "3")),
        *({name: NOTED[name] for name in NOTED if name != left_out} for left_out in NOTED),
        [NOTED],
        "text",
        None,
    ],
)
def test_a_damaged_note_names_no_project(tmp_path: Path, damaged: object) -> None:
    (tmp_path / NOTE).write_text(json.dumps(damaged))
    assert noted(tmp_path) is None


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"\xff", b"[" * 100_000], ids=["missing", "empty", "torn", "bytes", "deep"]
)
def test_a_note_that_is_no_json_names_no_project(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / NOTE).write_bytes(content)
    assert noted(tmp_path) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [((1, 2), (1, 2), True), ((1, 2), (1, 3), False), ((1, 2), (2, 2), False), ((0, 0), (0, 0), False)],
)
def test_a_renamed_folder_is_the_same_by_its_device_and_inode(
    one: tuple[int, int], other: tuple[int, int], same: bool
) -> None:
    assert Project(Path("/a"), *one).is_same_folder(Project(Path("/b"), *other)) is same
