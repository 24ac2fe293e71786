"""The life of the service, in this order: each scenario finds it running and leaves it so."""

from __future__ import annotations

import grp
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from holdfastd.unit.access import Sandbox
from tests.systemd.inside.listening import greeting
from tests.systemd.inside.machine import run, until
from tests.systemd.inside.scene import APP, SUPERVISOR, Scene

Scenario = Callable[[Scene], None]

INSTALL = (SUPERVISOR, "service", "install", "agent:handle", "--app-dir", APP, "--workers", "2")


def installing_without_rights_is_refused_in_one_line(_: Scene) -> None:
    done = run("runuser", "-u", "nobody", "--", *INSTALL, status=77)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert "this user cannot write it: use sudo" in done.stderr
    assert not Path("/etc/holdfast").exists()


def installed_it_is_started_and_ready(scene: Scene) -> None:
    run(*INSTALL, "--now")
    assert scene.unit.is_("active")
    until("status", lambda: scene.unit.show("StatusText") == "running: 2 of 2 workers ready, 0 tasks running")
    assert scene.tasks.answer("version") == 1
    found = run(SUPERVISOR, "status")
    assert (
        found.stderr
        == "supervisor: no supervisor runs for this project: this command uses the service in /run/holdfast\n"
    )
    assert "2 of 2 workers ready" in found.stdout
    assert run(SUPERVISOR, "scale", "2").stderr == found.stderr
    assert (scene.unit.show("User"), scene.unit.show("OOMPolicy")) == ("holdfast", "continue")


def members_of_its_group_see_and_do_no_more(scene: Scene) -> None:
    group = grp.getgrnam("holdfast").gr_gid
    member = ("setpriv", "--reuid=64002", "--regid=64002", f"--groups={group}", "--")
    place = ("--runtime-dir", "/run/holdfast")
    assert "2 of 2" in run(*member, SUPERVISOR, "status", *place).stdout
    for words in (["stop"], ["scale", "1"], ["reload"]):
        done = run(*member, SUPERVISOR, *words, *place, status=77)
        assert "group may: status, workers" in done.stderr
    for command in (["submit", "hi", *place], ["tasks", "list", *place]):
        run(*member, SUPERVISOR, *command, status=77)
    folders = {path: Path(path).stat().st_mode & 0o777 for path in ("/run/holdfast", "/var/lib/holdfast")}
    assert folders == {"/run/holdfast": 0o750, "/var/lib/holdfast": 0o700}
    sockets = {name: Path("/run/holdfast", name).stat().st_mode & 0o777 for name in ("control.sock", "store.sock")}
    assert sockets == {"control.sock": 0o660, "store.sock": 0o600}
    files = [path for path in Path("/var/lib/holdfast/store").rglob("*") if path.stat().st_mode & 0o077]
    assert files == []
    assert scene.unit.is_("active")


def handlers_can_work_and_do_no_more(scene: Scene) -> None:
    with greeting() as port:
        seen = scene.tasks.answer(f"look {port}")
    expected = {
        "loop": True,
        "privileges": ["1", "2", ""],
        "tcp": "hello",
        "shell": ["holdfast", "/var/lib/holdfast"],
        "writes": ["/tmp", "."],
        "pipes": "AF_UNIX",
        "netlink": True,
        "namespace": True,
    }
    assert seen == expected, seen


def of_homes_and_temporary_folders_only_what_it_runs_from_is_shown(_: Scene) -> None:
    needed = (Path("/home/ada/app"), Path("/tmp/agent"))
    for folder in (*needed, Path("/home/ada/secret"), Path("/home/bob")):
        folder.mkdir(parents=True)
    Path("/home/ada").chmod(0o700)
    sandbox = [f"--property={line}" for line in Sandbox(needed).directives() if not line.startswith("#")]
    command = (
        "systemd-run",
        "--quiet",
        "--wait",
        "--pipe",
        "--property=PrivateTmp=yes",
        "--property=User=nobody",
        *sandbox,
    )
    seen = run(*command, "find", "/home", "/tmp", "-mindepth", "1").stdout.split()
    assert sorted(seen) == ["/home/ada", "/home/ada/app", "/tmp/agent"]


def a_killed_worker_is_replaced_with_all_that_it_left(scene: Scene) -> None:
    ids, gate = scene.tasks.waiting(4, "flee")
    victim = scene.children()["worker"][0]
    held = [task for task in ids if victim in scene.tasks.starts(task)]
    left = [int((scene.tasks.state / f"{task}.left").read_text()) for task in held]
    assert held
    assert all(Path(f"/proc/{pid}").exists() for pid in left)
    os.kill(victim, signal.SIGKILL)
    until("what it left is gone", lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
    until("started again", lambda: all(len(scene.tasks.starts(task)) == 2 for task in held))
    scene.tasks.finished(ids, gate)
    assert scene.unit.number("NRestarts") == 0


def a_killed_main_process_is_started_again_and_its_tasks_recovered(scene: Scene) -> None:
    before = scene.unit.number("NRestarts")
    children = [pid for pids in scene.children().values() for pid in pids]
    ids, gate = scene.tasks.waiting(4)
    os.kill(scene.unit.pid, signal.SIGKILL)
    scene.unit.restarted(before)
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]
    until("recovered", lambda: all(len(scene.tasks.starts(task)) == 2 for task in ids))
    scene.tasks.finished(ids, gate)


def stopped_while_busy_it_is_given_the_time_it_asks_for(scene: Scene) -> None:
    with scene.altered("TimeoutStopSec=2s"):
        ids, gate = scene.tasks.waiting(2)
        began = time.monotonic()
        scene.unit.do("stop", "--no-block")
        until("draining", lambda: scene.unit.show("StatusText").startswith("draining: "))
        until("beyond its time", lambda: not scene.unit.is_("deactivating") or time.monotonic() - began > 5)
        assert scene.unit.is_("deactivating")
        gate.touch()
        until("stopped", lambda: scene.unit.is_("inactive"))
        assert (scene.unit.show("Result"), scene.unit.show("ExecMainStatus")) == ("success", "0")
    scene.tasks.finished(ids, gate)
    assert all(len(scene.tasks.starts(task)) == 1 for task in ids)


def what_a_drain_cuts_off_is_no_failure_and_runs_again(scene: Scene) -> None:
    with scene.altered("Environment=HOLDFAST_DRAIN_TIMEOUT=0.5"):
        ids, gate = scene.tasks.waiting(2)
        scene.unit.do("stop")
        assert (scene.unit.show("Result"), scene.unit.show("ExecMainStatus")) == ("success", "75")
    scene.tasks.finished(ids, gate)


def a_main_process_that_hangs_is_ended_by_the_watchdog(scene: Scene) -> None:
    with scene.altered("WatchdogSec=2s"):
        before = scene.unit.number("NRestarts")
        ids, gate = scene.tasks.waiting(4)
        os.kill(scene.unit.pid, signal.SIGSTOP)
        scene.unit.restarted(before)
        assert "Fatal Python error: Aborted" in scene.unit.history(), "the stacks of the main process are not told"
        until("recovered", lambda: all(len(scene.tasks.starts(task)) == 2 for task in ids))
        scene.tasks.finished(ids, gate)


def reloading_brings_new_code_while_tasks_run(scene: Scene) -> None:
    main = scene.unit.pid
    ids, gate = scene.tasks.waiting(2)
    _edit(2)
    scene.unit.do("reload")
    assert scene.tasks.answer("version") == 2
    _edit(3)
    scene.unit.do("kill", "--signal=HUP", "--kill-whom=main")
    until("reloaded", lambda: scene.tasks.answer("version") == 3)
    scene.tasks.finished(ids, gate)
    assert all(len(scene.tasks.starts(task)) == 1 for task in ids)
    assert (scene.unit.pid, scene.unit.show("ActiveState")) == (main, "active")


def reloading_broken_code_fails_and_changes_nothing(scene: Scene) -> None:
    version = scene.tasks.answer("version")
    whole = (APP / "agent.py").read_text()
    (APP / "agent.py").write_text(whole + "raise RuntimeError('a mistake')\n")
    done = scene.unit.do("reload", status=1)
    (APP / "agent.py").write_text(whole)
    assert "failed" in done.stderr
    assert any("a mistake" in line for line in scene.unit.journal())
    assert scene.unit.is_("active")
    assert scene.tasks.answer("version") == version


def a_handler_that_cannot_be_imported_is_not_tried_for_ever(scene: Scene) -> None:
    _fails(scene, 78, "no module nowhere in /srv/agent", "Environment=HOLDFAST_HANDLER=nowhere:handle")


def a_folder_without_rights_is_told_in_one_line(scene: Scene) -> None:
    advice = "make it writable for this user, or choose another --runtime-dir or --state-dir"
    barred = "Environment=HOLDFAST_STATE_DIR=/var/lib/barred"
    lines = _fails(scene, 77, f"supervisor: /var/lib/barred: Read-only file system: {advice}", barred)
    assert len(lines) == 1
    told = f"supervisor: /var/lib/barred: Permission denied: {advice}"
    lines = _fails(scene, 77, told, barred, "ReadWritePaths=/var/lib")
    assert len(lines) == 1


def nothing_was_lost(scene: Scene) -> None:
    accepted = scene.tasks.accepted
    assert len(accepted) > 20
    assert scene.tasks.completed() == set(accepted)
    assert scene.tasks.counts() == {"completed": len(accepted)}


def _fails(scene: Scene, status: int, told: str, *lines: str) -> list[str]:
    """Started with these lines it ends with this status, says why, and is left alone; what it has said."""
    scene.unit.do("stop")
    with scene.unit.altered(*lines):
        scene.unit.do("start", status=1)
        ended = (
            scene.unit.show("ActiveState"),
            scene.unit.number("ExecMainStatus"),
            scene.unit.number("NRestarts"),
        )
        assert ended == ("failed", status, 0)
        said = scene.unit.journal()
        assert any(told in line for line in said), said
        assert any(told in line for line in scene.unit.journal("err")), said
    scene.unit.refreshed()
    return said


def _edit(version: int) -> None:
    """The handler as somebody deploys it: another file of the same name."""
    text = (APP / "agent.py").read_text().splitlines()
    fresh = APP / "agent.new"
    fresh.write_text("\n".join(f"VERSION = {version}" if line.startswith("VERSION") else line for line in text) + "\n")
    fresh.replace(APP / "agent.py")
