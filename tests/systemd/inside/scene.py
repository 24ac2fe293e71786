"""The service under test: installed once, by the command that users have, with a handler in a folder of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfastd.unit import access
from holdfastd.unit.access import Sandbox, ServiceUser
from tests.systemd.inside.machine import Unit, run
from tests.systemd.inside.tasks import Tasks

APP = Path("/srv/agent")
STATE = Path("/var/lib/holdfast")
SUPERVISOR = access.own_command()


@dataclass(frozen=True)
class Scene:
    unit: Unit
    tasks: Tasks

    def children(self) -> dict[str, list[int]]:
        """Process ids by kind."""
        found: dict[str, list[int]] = {}
        for process in json.loads(self.tasks.command("status", "--json"))["processes"]:
            found.setdefault(process["kind"], []).append(process["pid"])
        return found

    @contextmanager
    def altered(self, *lines: str) -> Iterator[None]:
        """The service runs with these lines in its unit, and afterwards without them again."""
        with self.unit.altered(*lines):
            self.unit.refreshed()
            yield
        self.unit.refreshed()

    def mended(self) -> None:
        """After a scenario that failed, for those that follow."""
        for gate in self.tasks.gates:
            gate.touch()
        self.unit.do("reset-failed", status=None)
        self.unit.do("restart", status=None)


def prepare() -> Scene:
    """A machine on which the service can be installed."""
    run("mount", "--make-rshared", "/")  # as on a machine that is no container: systemd hands credentials over by it
    Path("/run").chmod(0o755)  # as elsewhere: who may write in it is a matter of its mode alone
    for folder in access.needed(SUPERVISOR, ()):
        while (barred := ServiceUser.named("nobody").stopped_at(folder, Sandbox())) is not None:
            barred.chmod(barred.stat().st_mode | 0o011)
    APP.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("agent.py"), APP)
    tasks = Tasks(SUPERVISOR, ("--runtime-dir", "/run/holdfast"), STATE)
    return Scene(Unit("holdfast"), tasks)
