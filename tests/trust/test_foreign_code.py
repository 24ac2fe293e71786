"""Root runs and obeys nothing that others decide: `start` refuses it, `check` and `doctor` import it as its owner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from holdfast_config import ConfigError, load
from holdfast_config.file_trust import ANYBODY, strangers
from tests.cli.commands import Answer, Cli
from tests.combinations import combined
from tests.users import MODULES, SERVICE, STRANGER, User, interpreter, needs_users

PROOF = "proof"
# Notes who imports it, and what it could take: rights, secrets, a terminal.
AGENT = f"""import os, sys
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "{PROOF}"), "a") as file:
    file.write(f"{{os.getresuid()}} {{os.getresgid()}} {{os.environ.get('HOLDFAST_WEB_TOKEN')}} {{os.isatty(2)}}\\n")
async def handle(messages):
    return 1
"""
MALLORY, DEPLOY = User(STRANGER), User(SERVICE)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root could run the code of others with more rights")


@pytest.fixture
def open_path(short_path: Path) -> Path:
    short_path.chmod(0o755)
    return short_path


def owned(path: Path, uid: int) -> Path:
    os.lchown(path, uid, uid)
    return path


def written(path: Path, text: str, uid: int, mode: int = 0o644) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return owned(path, uid)


def project(folder: Path, user: User = MALLORY) -> Path:
    """A folder of this user with a handler."""
    user.folder(folder, 0o755)
    written(folder / "agent.py", AGENT, user.uid)
    return folder


def imported_by(folder: Path) -> set[str]:
    """The users that have imported the handler, and what they had."""
    proof = folder / PROOF
    return set(proof.read_text().splitlines()) if proof.exists() else set()


def one(uid: int, gid: int = 65_534) -> set[str]:
    return {f"({uid}, {uid}, {uid}) ({gid}, {gid}, {gid}) None False"}


SECRET = {"HOLDFAST_WEB_TOKEN": "correct-horse-battery"}


def tried(command: str, folder: Path, *words: str, **environ: str) -> Answer:
    """What root gets for this command in this folder."""
    with TemporaryDirectory(prefix="holdfast-") as own:
        options = ("--runtime-dir", f"{own}/run", "--state-dir", f"{own}/state")
        return Cli(folder, options, {**SECRET, **environ})(*command.split(), *words)


def tried_by_root(command: str, folder: Path) -> Answer:
    """The same with a Python that the stranger can run, too."""
    with TemporaryDirectory(prefix="holdfast-") as own:
        words = (*command.split(), "--runtime-dir", f"{own}/run", "--state-dir", f"{own}/state")
        return User(0, environ=SECRET, python_of=STRANGER).supervisor(*words, cwd=folder)


# Ways for a stranger to name what root runs, each made in an empty folder; the folder in which root calls a command.


def own_folder(at: Path) -> Path:
    return project(at / "mallory")


def own_handler_in_a_folder_of_root(at: Path) -> Path:
    written(at / "agent.py", AGENT, STRANGER)
    return at


def package_in_a_folder_of_root(at: Path) -> Path:
    project(at / "billing")
    written(at / "billing/__init__.py", "", STRANGER)
    (at / "supervisor.toml").write_text('handler = "billing.agent:handle"\n')
    return at


def env_file(at: Path) -> Path:
    folder, there = project(at / "mallory"), MALLORY.folder(at / "there", 0o755)
    written(there / ".env", f"HOLDFAST_HANDLER=agent:handle\nHOLDFAST_APP_DIR={folder}\n", STRANGER, 0o600)
    return there


def settings_file(at: Path) -> Path:
    folder = project(at / "mallory")
    written(at / "supervisor.toml", f'handler = "agent:handle"\napp_dir = "{folder}"\n', STRANGER)
    return at


def settings_of_root_s_code(at: Path) -> Path:
    """The code is root's, and the settings that choose it are not."""
    (at / "agent.py").write_text(AGENT)
    written(at / ".env", "HOLDFAST_HANDLER=agent:handle\n", STRANGER, 0o600)
    return at


def link_to_the_handler(at: Path) -> Path:
    folder = project(at / "mallory")
    (at / "agent.py").symlink_to(folder / "agent.py")
    return at


def link_of_a_stranger(at: Path) -> Path:
    """It leads to a folder of root, and can be made to lead elsewhere."""
    home = MALLORY.folder(at / "mallory", 0o755)
    (at / "real").mkdir()
    (at / "real/agent.py").write_text(AGENT)
    owned(home / "app", STRANGER) if (home / "app").exists() else (home / "app").symlink_to(at / "real")
    (at / "supervisor.toml").write_text(f'app_dir = "{home}/app"\nhandler = "agent:handle"\n')
    return at


def below_a_folder_of_a_stranger(at: Path) -> Path:
    folder = MALLORY.folder(at / "mallory", 0o755) / "app"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    return folder


def file_of_the_framework(at: Path) -> Path:
    (at / "agent.py").write_text(AGENT)
    written(at / "agent_config.json", "{}", STRANGER)
    return at


WAYS = [
    own_folder,
    own_handler_in_a_folder_of_root,
    package_in_a_folder_of_root,
    env_file,
    settings_file,
    settings_of_root_s_code,
    link_to_the_handler,
    link_of_a_stranger,
    below_a_folder_of_a_stranger,
    file_of_the_framework,
]


@pytest.mark.parametrize(("way", "command"), combined(WAYS, ["start", "work"]))
def test_root_starts_nothing_that_others_decide(open_path: Path, way: Callable[[Path], Path], command: str) -> None:
    folder = way(open_path)
    answer = tried(command, folder)
    assert answer.status == 77, answer
    (line,) = answer.err.splitlines()
    assert f"user {STRANGER}" in line
    assert "chown -R root" in line
    assert "HOLDFAST_TRUST_FOLDERS" in line
    assert list(open_path.rglob(PROOF)) == []


@pytest.mark.parametrize(("way", "command"), combined(WAYS, ["check", "doctor"]))
def test_check_and_doctor_import_as_the_owner(open_path: Path, way: Callable[[Path], Path], command: str) -> None:
    needs_users()
    folder = way(open_path)
    answer = tried_by_root(command, folder)
    assert answer.status == (77 if command == "check" else 1), answer
    assert f"user {STRANGER}" in answer.out + answer.err
    for proof in open_path.rglob(PROOF):
        assert imported_by(proof.parent) <= one(STRANGER)


@pytest.mark.skipif(interpreter(STRANGER) == sys.executable, reason="others can run this Python")
def test_code_of_a_user_who_cannot_run_this_python_is_not_imported(open_path: Path) -> None:
    folder = project(open_path / "mallory")
    answer = tried("check", folder)
    assert answer.status == 77
    assert f"user {STRANGER}, who owns the code, cannot run {sys.executable}" in answer.err
    assert imported_by(folder) == set()


def test_the_owner_imports_it_with_the_rights_of_nobody_else(open_path: Path) -> None:
    needs_users()
    folder = project(open_path / "mallory")
    answer = tried_by_root("doctor --json", folder)
    assert imported_by(folder) == one(STRANGER)
    found = {(each["look"], each["level"]) for each in answer.document if each["subject"] == "handler"}
    assert found == {("owner of its code", "problem"), ("import and signature", "ok")}


def test_the_importing_process_has_nothing_of_root(open_path: Path) -> None:
    """No secret in its memory, no more rights by a program, no descriptor of root's."""
    needs_users()
    folder = project(open_path / "mallory")
    looks = f"""import os, gc
memory = open("/proc/self/environ", "rb").read() + repr([o for o in gc.get_objects()]).encode()
status = open("/proc/self/status").read()
open("{folder}/{PROOF}", "w").write(repr({{
    "secret": b"yrettab-esroh-tcerroc"[::-1] in memory,
    "no more rights": "NoNewPrivs:\\t1" in status,
    "groups": os.getgroups(),
    "standard": [os.readlink(f"/proc/self/fd/{{n}}") for n in (0, 1, 2)],
}}))
async def handle(messages):
    return 1
"""
    written(folder / "agent.py", looks, STRANGER)
    answer = tried_by_root("check", folder)
    assert answer.status == 77
    assert eval(imported_by(folder).pop()) == {
        "secret": False,
        "no more rights": True,
        "groups": [],
        "standard": ["/dev/null"] * 3,
    }


def test_what_several_decide_is_imported_by_none(open_path: Path) -> None:
    folder = project(open_path / "mallory")
    written(folder / ".env", "HOLDFAST_HANDLER=agent:handle\n", SERVICE, 0o600)
    for command in ("check", "doctor"):
        answer = tried(command, folder)
        assert "the code has no clear owner" in answer.out + answer.err
    assert imported_by(folder) == set()


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o775])
def test_a_folder_in_which_others_can_write_is_nobody_s(open_path: Path, mode: int) -> None:
    """As in /tmp: what the handler imports would be looked for there."""
    (open_path / "agent.py").write_text(AGENT)
    os.chown(open_path, 0, SERVICE)
    open_path.chmod(mode)
    for command, status in (("start", 77), ("check", 77), ("doctor", 1)):
        answer = tried(command, open_path)
        assert answer.status == status
        assert f"can be written by others (mode {mode:o})" in " ".join((answer.out + answer.err).split())
    assert imported_by(open_path) == set()


def test_a_module_of_a_stranger_in_a_folder_of_root_is_not_imported_later(open_path: Path) -> None:
    """It is no module that the settings name: the handler imports it."""
    (open_path / "agent_of_root.py").write_text("import helper_of_mallory\nasync def handle(messages): ...\n")
    written(open_path / "helper_of_mallory.py", AGENT, STRANGER)
    program = f"""
from holdfast.handler.choose import handler_of
from holdfast_config import Settings
handler_of(Settings(handler="agent_of_root:handle", app_dir="{open_path}"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": os.pathsep.join(MODULES)},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "helper_of_mallory.py belongs to user" in done.stderr
    assert imported_by(open_path) == set()


# What goes on as before


def test_root_runs_what_is_root_s(open_path: Path) -> None:
    (open_path / "agent.py").write_text(AGENT)
    assert tried("check", open_path).status == 0
    assert len(imported_by(open_path)) == 1


@pytest.mark.parametrize("how", ["flag", "variable", "file of root's"])
def test_a_named_folder_is_trusted_with_all_in_it(open_path: Path, how: str) -> None:
    """As of a container, whose root runs what is mounted into it."""
    folder = project(open_path / "app")
    (folder / "more").mkdir()
    settings: Mapping[str, str] = {}
    words = ()
    if how == "flag":
        words = ("--trust-folders", str(folder))
    elif how == "variable":
        settings = {"HOLDFAST_TRUST_FOLDERS": str(folder)}
    else:
        (open_path / "root.toml").write_text(f'trust_folders = ["{folder}"]\n')
        words = ("--config", str(open_path / "root.toml"))
    assert tried("check", folder, *words, **settings).status == 0
    assert {line.split()[0] for line in imported_by(folder)} == {"(0,"}


def test_a_trusted_folder_is_not_trusted_beyond_a_link(open_path: Path) -> None:
    app = MALLORY.folder(open_path / "app", 0o755)
    project(open_path / "elsewhere", DEPLOY)
    (app / "agent.py").symlink_to(open_path / "elsewhere/agent.py")
    found = list(strangers([app / "agent.py"], [app]))
    assert {each.owner for each in found} == {SERVICE}


def test_a_file_of_a_stranger_cannot_say_whom_root_trusts(open_path: Path) -> None:
    folder = project(open_path / "mallory")
    written(folder / "supervisor.toml", 'trust_folders = ["/"]\n', STRANGER)
    answer = tried("start", folder)
    assert answer.status == 78
    assert "root takes it only from a flag, a variable or a file that belongs to root" in answer.err
    with pytest.raises(ConfigError, match="trust_folders"):
        load(environ={}, folder=folder)
    assert imported_by(folder) == set()


def test_the_service_of_a_user_runs_the_code_of_another(open_path: Path) -> None:
    """As code of deploy by the user holdfast."""
    needs_users()
    folder = project(open_path / "app", DEPLOY)
    folder.chmod(0o777)
    home = MALLORY.folder(open_path / "home")
    answer = MALLORY.supervisor("check", "--app-dir", str(folder), "--state-dir", str(home / "state"), cwd=home)
    assert answer.status == 0, answer
    assert {line.split()[0] for line in imported_by(folder)} == {f"({STRANGER},"}


def test_a_command_of_a_stranger_is_not_run_by_root(open_path: Path) -> None:
    written(open_path / "work.sh", "#!/bin/sh\necho 1\n", STRANGER, 0o755)
    answer = tried("start --exec ./work.sh", open_path)
    assert answer.status == 77
    assert "work.sh belongs to user" in answer.err
    assert tried("check --exec /bin/true", open_path).status == 0


@pytest.mark.parametrize("line", ["/bin/sh work.sh", "/bin/sh -e work.sh", "/usr/bin/env BASH_ENV=work.sh true"])
def test_a_file_of_a_stranger_that_a_command_names_is_not_run_by_root(open_path: Path, line: str) -> None:
    written(open_path / "work.sh", "echo 1\n", STRANGER)
    answer = tried("start --exec", open_path, line)
    assert answer.status == 77, answer
    assert "work.sh belongs to user" in answer.err


FIRST_LINES = {
    "its interpreter": "#!{at}/theirs.sh",
    "a relative one": "#!theirs.sh",
    "a further word": "#!/bin/sh {at}/theirs.sh",
    "a program of env": "#!/usr/bin/env theirs.sh",
    "words of env": "#!/usr/bin/env -S theirs.sh -e",
    "words of env, glued": "#!/usr/bin/env -Stheirs.sh",
    "a chain": "#!{at}/link.sh",
}


@pytest.mark.parametrize("first", FIRST_LINES.values(), ids=FIRST_LINES.keys())
def test_a_script_of_root_whose_interpreter_is_a_stranger_s_is_not_run(open_path: Path, first: str) -> None:
    (open_path / "bin").mkdir()
    written(open_path / "theirs.sh", "#!/bin/sh\ntrue\n", STRANGER, 0o755)
    (open_path / "bin/theirs.sh").symlink_to("../theirs.sh")
    written(open_path / "link.sh", "#!/usr/bin/env theirs.sh\n", 0, 0o755)
    written(open_path / "work.sh", first.format(at=open_path) + "\n", 0, 0o755)
    answer = tried("start --exec ./work.sh", open_path, PATH=f"{open_path}/bin:/usr/bin:/bin")
    assert answer.status == 77, answer
    assert "theirs.sh belongs to user" in answer.err


@pytest.mark.parametrize(
    "line", ["/usr/bin/timeout 5 theirs.sh", "/bin/sh -c 'true; ./theirs.sh'", "env -S 'theirs.sh -x'"]
)
def test_a_program_of_a_stranger_that_another_is_to_run_is_not_run_by_root(open_path: Path, line: str) -> None:
    (open_path / "bin").mkdir()
    written(open_path / "theirs.sh", "#!/bin/sh\ntrue\n", STRANGER, 0o755)
    (open_path / "bin/theirs.sh").symlink_to("../theirs.sh")
    answer = tried("start --exec", open_path, line, PATH=f"{open_path}/bin:/usr/bin:/bin")
    assert answer.status == 77, answer
    assert "theirs.sh belongs to user" in answer.err


def test_root_runs_no_script_in_a_folder_in_which_others_can_write(open_path: Path) -> None:
    """Its interpreter takes code from there: `json.py` beside a script for Python."""
    there = open_path / "there"
    there.mkdir()
    written(there / "work.py", "#!/usr/bin/env python3\n", 0, 0o755)
    there.chmod(0o1777)
    answer = tried("start --exec ./there/work.py", open_path)
    assert answer.status == 77, answer
    assert "can be written by others" in answer.err


def test_root_runs_scripts_of_root_through_a_loop_of_first_lines_and_env(open_path: Path) -> None:
    written(open_path / "a.sh", f"#!{open_path}/b.sh\n", 0, 0o755)
    written(open_path / "b.sh", f"#!{open_path}/a.sh\n", 0, 0o755)
    written(open_path / "work.sh", "#!/usr/bin/env -S sh -e\n", 0, 0o755)
    for program in ("./a.sh", "./work.sh"):
        answer = tried("check --exec", open_path, program)
        assert "belongs to" not in answer.out + answer.err


def test_root_runs_no_command_in_a_folder_of_a_stranger(open_path: Path) -> None:
    """Programs take code from the folder in which they run: `python3 -m`, `make`, `node`."""
    folder = owned(open_path, STRANGER)
    answer = tried("start --exec /bin/true", folder)
    assert answer.status == 77, answer
    assert f"{folder} belongs to user" in answer.err


def test_commands_that_run_no_code_read_the_settings_of_others(open_path: Path) -> None:
    """Root looks at the services of others."""
    folder = project(open_path / "mallory")
    written(folder / "supervisor.toml", "workers = 3\n", STRANGER)
    answer = tried("config show --json", folder)
    assert answer.status == 0


def test_who_decides_is_found_on_the_whole_way(open_path: Path) -> None:
    deep = open_path / "a/b/c"
    deep.mkdir(parents=True)
    file = deep / "x.py"
    file.write_text("")
    assert list(strangers([file])) == []
    os.chown(open_path / "a/b", STRANGER, STRANGER)
    assert [(each.path, each.owner) for each in strangers([file])] == [(open_path / "a/b", STRANGER)]
    os.chown(open_path / "a/b", 0, 0)
    (open_path / "a").chmod(0o777)
    assert [(each.path, each.owner) for each in strangers([file])] == [(open_path / "a", ANYBODY)]
    (open_path / "a").chmod(0o1777)
    assert list(strangers([file])) == []
    (open_path / "loop").symlink_to("loop")
    assert list(strangers([open_path / "loop", open_path / "none/x"])) == []
    (open_path / "up").symlink_to("a/b")
    os.chown(open_path / "a/b/c", STRANGER, STRANGER)
    assert [each.path for each in strangers([open_path / "up/../b/c/x.py"])] == [deep]
