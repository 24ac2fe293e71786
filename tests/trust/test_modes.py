"""The service's group may use the control socket. Data, locks and the store's socket are for its user alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.trust.serving import HANDLER, serving
from tests.users import MEMBER, SERVICE, User, needs_users

ADA = User(SERVICE)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")}


def test_only_the_runtime_folder_and_the_control_socket_are_for_the_group(short_path: Path) -> None:
    """With the widest umask, and over what somebody left open to the group."""
    needs_users()
    short_path.chmod(0o755)
    home = ADA.folder(short_path / "ada", 0o755)
    for folder in ("state", "state/store", "run", "run/incarnations"):
        ADA.folder(home / folder, 0o750)
    for name in ("state/store/server.log", "run/supervisor.lock"):
        (home / name).touch()
        os.chown(home / name, SERVICE, SERVICE)
        (home / name).chmod(0o640)
    places = ("--runtime-dir", str(home / "run"), "--state-dir", str(home / "state"))
    shell = ("sh", "-c", 'umask 0; exec "$@"', "sh")
    with serving(ADA, *places, cwd=home, before=shell):
        assert ADA.supervisor("submit", "hi", "--wait", "--runtime-dir", str(home / "run"), cwd=home).status == 0
        seen = modes(home)
    open_to_group = {name: mode for name, mode in seen.items() if mode & 0o077}
    assert open_to_group == {"run": 0o750, "run/control.sock": 0o660, "state": 0o750}
    assert seen["run/store.sock"] == 0o600
    assert {mode for name, mode in seen.items() if name.startswith("state/store/")} == {0o600, 0o700}


def test_a_new_state_folder_is_for_its_owner_alone(short_path: Path) -> None:
    places = ("--runtime-dir", str(short_path / "run"), "--state-dir", str(short_path / "state"))
    assert User(os.geteuid()).popen("start", HANDLER, "--burst", *places, cwd=short_path).wait(60) == 0
    assert stat.S_IMODE((short_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((short_path / "run").stat().st_mode) == 0o750


def test_a_member_of_the_group_can_neither_read_the_data_nor_use_the_store(short_path: Path) -> None:
    needs_users()
    short_path.chmod(0o755)
    home = ADA.folder(short_path / "ada", 0o755)
    member = User(MEMBER, groups=[SERVICE])
    place = ("--runtime-dir", str(home / "run"))
    with serving(ADA, *place, "--state-dir", str(home / "state"), cwd=home):
        answer = member.supervisor("submit", "hi", *place, cwd=home)
        assert answer.status == 77, answer
        files = [str(path) for path in (home / "state").rglob("*") if path.is_file()]
        assert files
        assert ADA.run("cat", *files, cwd=home).returncode == 0
        assert [file for file in files if member.run("cat", file, cwd=home).returncode == 0] == []
