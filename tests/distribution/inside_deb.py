"""The Debian package on a throw-away machine with systemd: `lab python -m tests.distribution.inside_deb FILE`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tests.systemd.inside.machine import Unit, run, until

APP = Path("/srv/agent")
HANDLER = Path(__file__).parents[1] / "systemd/inside/agent.py"
SUPERVISOR = "/usr/bin/supervisor"
PLACE = ("--runtime-dir", "/run/holdfast")


def main() -> None:
    package, unit = sys.argv[1], Unit("holdfast")
    run("mount", "--make-rshared", "/")
    Path("/run").chmod(0o755)
    APP.mkdir(parents=True)
    shutil.copy(HANDLER, APP)
    run("dpkg", "-i", package)
    _explains_itself()
    _serves(unit)
    _is_upgraded(unit, package)
    _is_removed(unit)


def _explains_itself() -> None:
    assert run(SUPERVISOR, "version").stdout.startswith("holdfast"), run(SUPERVISOR, "version").stdout
    assert Path("/usr/share/man/man1/supervisor-start.1.gz").is_file()
    assert run("dpkg", "--verify", "holdfast-supervisor").stdout == ""


def _serves(unit: Unit) -> None:
    run(SUPERVISOR, "service", "install", "agent:handle", "--app-dir", APP, "--workers", "2", "--now")
    until("ready", lambda: unit.show("StatusText").startswith("running: 2 of 2"))
    assert '"completed"' in run(SUPERVISOR, "submit", "version", "--wait", *PLACE).stdout


def _is_upgraded(unit: Unit, package: str) -> None:
    gate, before = APP / "gate", unit.pid
    run(SUPERVISOR, "submit", f"wait {gate}", "--task-id", "long", *PLACE)
    until("running", lambda: _state("long") == "working")
    gate.touch()
    run("dpkg", "-i", package)
    until("started anew", lambda: unit.pid not in (0, before) and unit.show("StatusText").startswith("running: 2 of 2"))
    until("completed", lambda: _state("long") == "completed")


def _is_removed(unit: Unit) -> None:
    run("dpkg", "-r", "holdfast-supervisor")
    assert (unit.is_("inactive"), Path(SUPERVISOR).exists(), Path("/opt/holdfast").exists()) == (True, False, False)
    assert Path("/var/lib/holdfast/store").is_dir()


def _state(task_id: str) -> object:
    return json.loads(run(SUPERVISOR, "tasks", "show", task_id, "--json", *PLACE).stdout)["state"]


if __name__ == "__main__":
    main()
