"""The machine under systemd: its units, its journal, and waiting for what they say."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

PATIENCE = 40.0  # seconds; reached only by a scenario that fails
DROP_INS = Path("/run/systemd/system")

T = TypeVar("T")


def run(*command: object, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """The finished command; AssertionError if it ended with another status (None: with any)."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if status is not None:
        assert done.returncode == status, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done


def until(what: str, condition: Callable[[], T | None]) -> T:
    """The value of `condition` once it is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.05)
    return found


class Unit:
    """A service, by its name without `.service`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def show(self, name: str) -> str:
        """One of its properties."""
        return run("systemctl", "show", self.name, "--value", "-p", name).stdout.strip()

    def number(self, name: str) -> int:
        return int(self.show(name))

    @property
    def pid(self) -> int:
        return self.number("MainPID")

    def is_(self, state: str) -> bool:
        return self.show("ActiveState") == state

    def do(self, verb: str, *options: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        return run("systemctl", verb, *options, self.name, status=status)

    def restarted(self, before: int) -> None:
        """Once systemd has started it again by itself, `before` having been its number of restarts."""
        until("started again", lambda: self.number("NRestarts") > before and self.is_("active"))

    def journal(self, priority: str = "debug") -> list[str]:
        """Its log since it was last started, by hand or by systemd, of this priority or a higher one; JSON or plain."""
        this = f"_SYSTEMD_INVOCATION_ID={self.show('InvocationID')}"
        return run("journalctl", "-o", "cat", "-p", priority, this).stdout.splitlines()

    def history(self) -> str:
        """All that it has said since the machine was started."""
        return run("journalctl", "-o", "cat", "-u", self.name).stdout

    @contextmanager
    def altered(self, *lines: str) -> Iterator[None]:
        """With these lines in its [Service], from its next start on."""
        folder = DROP_INS / f"{self.name}.service.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "test.conf").write_text("\n".join(("[Service]", *lines, "")))
        run("systemctl", "daemon-reload")
        try:
            yield
        finally:
            shutil.rmtree(folder)
            run("systemctl", "daemon-reload")

    def refreshed(self) -> None:
        """Running anew, whatever became of it before."""
        self.do("reset-failed")
        self.do("restart")
