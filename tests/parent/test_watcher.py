"""The watcher: what it wants to know of, what it tells, and what its parent makes of that."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.ipc.channel import Beat, BootFailed, Changed, FromChild, Leave, Ready, decode_from_child, encode
from holdfast_config.resolve import setting_files
from holdfastd.core.commands import ReadSettings
from holdfastd.core.slots import WATCHER, SupervisionPolicy
from holdfastd.watcher import WatcherSpec
from tests.core.histories import STEWARD, TERM, History, events_logged, forks, kills, sent, worker

PATIENCE = 30.0

PROGRAM = """
import os, socket, sys
from pathlib import Path
from holdfastd.watcher import run
from holdfastd.watcher import WatcherSpec

descriptor, folder, *files = sys.argv[1:]
os._exit(run(WatcherSpec.of(Path(folder), [Path(file) for file in files]), socket.socket(fileno=int(descriptor))))
"""


class Watcher:
    """A real one, with this test as its parent."""

    def __init__(self, channel: socket.socket, process: subprocess.Popen[bytes]) -> None:
        self.channel, self.process = channel, process
        self._lines = channel.makefile("rb")

    def hear(self) -> FromChild:
        """The next message that is no beat."""
        while isinstance(message := decode_from_child(self._lines.readline()), Beat):
            pass
        return message

    def rest(self) -> list[FromChild]:
        """Its output up to its end."""
        return [decode_from_child(line) for line in self._lines]

    def hang_up(self) -> None:
        self._lines.close()
        self.channel.close()


@contextmanager
def watcher(folder: Path, *files: Path) -> Iterator[Watcher]:
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    arguments = [str(theirs.fileno()), str(folder), *map(str, files)]
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], pass_fds=[theirs.fileno()])
    theirs.close()
    child = Watcher(ours, process)
    try:
        yield child
    finally:
        process.kill()
        process.wait()
        child.hang_up()


def test_a_change_is_told_however_soon_after_ready_it_comes(tmp_path: Path) -> None:
    settings = tmp_path / "elsewhere" / "settings.toml"
    code = tmp_path / "code"
    settings.parent.mkdir()
    settings.touch()
    (code / "package").mkdir(parents=True)
    with watcher(code, settings) as child:
        assert child.hear() == Ready()
        (code / "package" / "notes.txt").touch()
        (code / "package" / "agent.py").touch()
        assert child.hear() == Changed([str(code / "package" / "agent.py")])
        settings.write_text("workers = 2")
        while (heard := child.hear()) == Changed([str(code / "package" / "agent.py")]):  # a slow touch is told twice
            pass
        assert heard == Changed([str(settings)])


def test_asked_to_leave_it_leaves(tmp_path: Path) -> None:
    with watcher(tmp_path) as child:
        assert child.hear() == Ready()
        child.channel.sendall(encode(Leave(0.0)))
        assert child.process.wait(PATIENCE) == 0


def test_without_its_parent_it_ends(tmp_path: Path) -> None:
    with watcher(tmp_path) as child:
        assert child.hear() == Ready()
        child.hang_up()
        assert child.process.wait(PATIENCE) == 86


def test_what_cannot_be_watched_is_told(tmp_path: Path) -> None:
    with watcher(tmp_path / "nowhere") as child:
        failed = child.hear()
        assert isinstance(failed, BootFailed)
        assert failed.error.startswith(f"cannot watch {tmp_path / 'nowhere'} for changes: ")
        assert Ready() not in child.rest()
        assert child.process.wait(PATIENCE) == 78


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("agent.py", True),
        ("deep/er/tools.py", True),
        ("supervisor.toml", True),
        ("other.toml", False),
        ("agent.pyc", False),
        ("agent.py~", False),
        (".venv/lib/x.py", False),
        ("venv/lib/python3.11/site-packages/x.py", False),
        ("__pycache__/x.py", False),
        ("../agent.py", False),
    ],
)
def test_code_and_settings_are_wanted(tmp_path: Path, path: str, wanted: bool) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    spec = WatcherSpec.of(folder, [folder / "supervisor.toml"])
    assert spec.wants(Path(os.path.normpath(folder / path))) is wanted


def test_an_app_below_a_hidden_folder_is_watched_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "app"
    folder.mkdir(parents=True)
    assert WatcherSpec.of(folder, []).wants(folder / "agent.py")


def test_files_elsewhere_are_watched_by_themselves_if_they_are_there(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "app", tmp_path / "settings.toml"
    folder.mkdir()
    elsewhere.touch()
    spec = WatcherSpec.of(folder, [folder / "supervisor.toml", elsewhere, tmp_path / "missing"])
    assert spec.roots == (folder, elsewhere)


def test_setting_files_are_those_that_are_read_or_would_be(tmp_path: Path) -> None:
    paths = tuple(tmp_path / name for name in (".env", "supervisor.toml", "agent_config.json", ".redbike.conf"))
    assert setting_files({}, environ={}, folder=tmp_path) == paths
    (tmp_path / ".env").write_text("HOLDFAST_CONFIG=/etc/one.toml\n")
    assert setting_files({}, environ={}, folder=tmp_path)[1] == Path("/etc/one.toml")
    assert setting_files({}, environ={"HOLDFAST_CONFIG": "two"}, folder=tmp_path)[1] == Path("two")
    flags = {"config": "three", "env_file": "four"}
    assert setting_files(flags, environ={}, folder=tmp_path) == (Path("four"), Path("three"))


def watched() -> History:
    history = History(1, SupervisionPolicy(watched=True)).started()
    history.hear(WATCHER, Ready())
    history.tick()
    history.done.clear()
    return history


def test_a_change_asks_for_a_reload() -> None:
    history = watched()
    commands = history.hear(WATCHER, Changed(["agent.py"]))
    assert events_logged(commands)[0] == "files changed"
    assert any(isinstance(command, ReadSettings) for command in commands)


def test_a_dead_watcher_is_replaced_but_not_in_a_drain() -> None:
    history = watched()
    assert forks(history.die(WATCHER, -signal.SIGKILL)) == [WATCHER]
    history.hear(WATCHER, Ready())
    history.pass_time(5.0)
    history.event(TERM)
    history.tick()
    assert forks(history.die(WATCHER, -signal.SIGKILL)) == []


def test_the_watcher_leaves_after_the_workers_and_before_the_steward() -> None:
    history = watched()
    history.event(TERM)
    history.tick()
    assert sent(history.done, WATCHER) == []
    history.leave(worker(0))
    assert any(isinstance(message, Leave) for message in sent(history.done, WATCHER))
    assert not any(isinstance(message, Leave) for message in sent(history.done, STEWARD))
    assert kills(history.pass_time(9.0, silent=[WATCHER]), WATCHER) == [signal.SIGABRT, signal.SIGKILL]


def test_a_folder_that_cannot_be_watched_ends_the_service_with_78() -> None:
    history = History(1, SupervisionPolicy(watched=True)).started()
    for _ in range(3):
        history.boot_failed(WATCHER, 78, "cannot watch /app")
        history.pass_time(6.0)
    assert history.view.stopping is not None
    assert history.view.stopping.code == 78
