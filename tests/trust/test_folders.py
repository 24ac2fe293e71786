"""Folders that another user made or could replace: neither servers nor clients use them. Real users, real processes."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.commands import Answer
from tests.trust.serving import HANDLER, serving
from tests.users import MEMBER, SERVICE, STRANGER, User, needs_users

ADA, EVE, ROOT = User(SERVICE), User(STRANGER), User(0)
PRODUCER = """
import anyio
from holdfast import create_broker

async def main():
    async with create_broker() as broker:
        await broker.manager.run_task("secret")

anyio.run(main)
"""
CLIENTS = (["status"], ["stop"], ["scale", "2"], ["reload"], ["submit", "hi"], ["tasks", "list"], ["work", HANDLER])


@pytest.fixture
def shared(short_path: Path) -> Path:
    """A folder such as /tmp: everybody may write in it, and remove what is their own."""
    needs_users()
    short_path.chmod(0o755)
    folder = short_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def ada(shared: Path) -> User:
    """A user without XDG_RUNTIME_DIR, whose sockets are in the shared folder."""
    return User(
        SERVICE, environ={"TMPDIR": str(shared), "XDG_RUNTIME_DIR": "", "HOME": str(ADA.folder(shared / "ada"))}
    )


@contextmanager
def listening(path: Path) -> Iterator[list[bytes]]:
    """Another user's server; what reaches it."""
    got: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o777)
        listener.listen()

        def serve() -> None:
            try:
                while True:
                    stream, _ = listener.accept()
                    with stream:
                        got.append(stream.recv(1 << 16))
            except OSError:
                return

        thread = Thread(target=serve)
        thread.start()
        yield got
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def refused(answer: Answer, folder: Path, *why: str) -> None:
    assert (answer.status, answer.out, answer.err.count("\n")) == (77, "", 1), answer
    assert answer.err.startswith(f"supervisor: {folder}: owned by user "), answer.err
    for part in why:
        assert part in answer.err


@pytest.mark.parametrize("command", CLIENTS, ids=lambda words: words[0])
def test_nobody_is_told_anything_in_a_strangers_default_folder(shared: Path, ada: User, command: list[str]) -> None:
    folder = EVE.folder(shared / f"holdfast-{SERVICE}", 0o755)
    with listening(folder / "control.sock") as told, listening(folder / "store.sock") as submitted:
        answer = ada.supervisor(*command, cwd=shared)
    refused(answer, folder, f"user {STRANGER}:", f"neither to user {SERVICE} nor to root")
    assert told + submitted == []


def test_no_service_starts_in_a_strangers_default_folder(shared: Path, ada: User) -> None:
    folder = EVE.folder(shared / f"holdfast-{SERVICE}", 0o777)
    refused(ada.supervisor("start", HANDLER, cwd=shared), folder, f"user {STRANGER}:")
    assert list(folder.iterdir()) == []


def test_root_does_not_trust_a_strangers_default_folder(shared: Path) -> None:
    folder = EVE.folder(shared / "holdfast-0", 0o755)
    root = User(0, environ={"TMPDIR": str(shared), "XDG_RUNTIME_DIR": ""})
    refused(root.supervisor("status", cwd=shared), folder, "neither to user root (0) nor to root")


def test_a_state_folder_of_a_strangers_is_refused(shared: Path, ada: User) -> None:
    EVE.folder(shared / "eve", 0o755)
    folder = EVE.folder(shared / "eve" / "holdfast", 0o777)
    eve = User(SERVICE, environ={**ada.environ, "XDG_STATE_HOME": str(shared / "eve")})
    refused(eve.supervisor("start", HANDLER, cwd=shared), folder, "its group or others can write in it")
    folder.chmod(0o755)
    refused(eve.supervisor("start", HANDLER, cwd=shared), folder, "--state-dir")


@pytest.mark.parametrize(
    "command", [["status"], ["submit", "hi"], ["start", HANDLER], ["doctor"]], ids=lambda words: words[0]
)
def test_a_link_in_the_place_of_the_folder_is_not_followed(shared: Path, ada: User, command: list[str]) -> None:
    ADA.folder(shared / "mine", 0o750)
    link = shared / f"holdfast-{SERVICE}"
    link.symlink_to(shared / "mine")
    os.lchown(link, STRANGER, STRANGER)
    answer = ada.supervisor(*command, cwd=shared)
    if command == ["doctor"]:
        assert f"{link}: owned by user {STRANGER}: it is a symbolic link" in " ".join(answer.out.split())
    else:
        refused(answer, link, "it is a symbolic link")


def test_links_above_the_folder_are_followed_and_the_real_way_is_looked_at(shared: Path) -> None:
    ADA.folder(shared / "home", 0o755)
    (shared / "link").symlink_to(shared / "home")
    places = ("--runtime-dir", str(shared / "link" / "run"))
    with serving(ADA, *places, "--state-dir", str(shared / "link" / "state"), cwd=shared):
        assert ADA.supervisor("status", *places, cwd=shared).status == 0
        (shared / "home").chmod(0o777)
        answer = ADA.supervisor("status", *places, cwd=shared)
        refused(answer, shared / "link" / "run", f"because they can write in {shared / 'home'} (mode 777)")


def test_a_named_folder_of_another_user_is_trusted_where_nobody_else_can_replace_it(shared: Path) -> None:
    ADA.folder(shared / "ada", 0o755)
    places = ("--runtime-dir", str(shared / "ada" / "run"))
    member = User(MEMBER, groups=[SERVICE])
    with serving(ADA, *places, "--state-dir", str(shared / "ada" / "state"), cwd=shared):
        assert ROOT.supervisor("status", *places, cwd=shared).status == 0
        assert ROOT.supervisor("submit", "hi", "--wait", *places, cwd=shared).status == 0
        assert member.supervisor("status", *places, cwd=shared).status == 0
        stranger = EVE.supervisor("status", *places, cwd=shared)
        assert (stranger.status, stranger.err.count("\n")) == (77, 1)
        assert str(shared / "ada" / "run") in stranger.err
        os.chown(shared / "ada", STRANGER, STRANGER)
        answer = ROOT.supervisor("status", *places, cwd=shared)
        refused(
            answer,
            shared / "ada" / "run",
            f"user {SERVICE}: user {STRANGER} owns {shared / 'ada'} and can replace this folder",
        )
        os.chown(shared / "ada", SERVICE, SERVICE)


def test_folders_that_others_can_write_in_are_refused_even_of_ones_own(short_path: Path) -> None:
    run = short_path / "run"
    run.mkdir()
    run.chmod(0o770)
    me, places = User(os.geteuid()), ("--runtime-dir", str(run))
    for command in (["status"], ["start", HANDLER, "--state-dir", str(short_path / "s")]):
        answer = me.supervisor(*command, *places, cwd=short_path)
        refused(answer, run, "its group or others can write in it (mode 770): chmod go-w")


def test_what_is_made_can_be_written_by_its_owner_alone_whatever_the_umask(short_path: Path) -> None:
    places = ("--runtime-dir", str(short_path / "a/b/run"), "--state-dir", str(short_path / "c/d/state"))
    shell = ("sh", "-c", 'umask 0; exec "$@"', "sh")
    assert User(os.geteuid()).popen("start", HANDLER, "--burst", *places, cwd=short_path, before=shell).wait(60) == 0
    loose = [path for path in short_path.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022]
    assert loose == []


def test_a_producer_with_nothing_set_asks_nobody_in_a_strangers_default_folder(shared: Path, ada: User) -> None:
    folder = EVE.folder(shared / f"holdfast-{SERVICE}", 0o755)
    script = shared / "produce.py"
    script.write_text(PRODUCER)
    with listening(folder / "control.sock") as told:
        answer = ada.python(str(script), cwd=shared)
    assert answer.status == 1
    assert f"StoreRefusedError: {folder}: owned by user {STRANGER}: it belongs neither" in answer.err
    assert told == []
