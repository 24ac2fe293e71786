"""The processes of one system: those that were started, and all that they have started since, orphans as well."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.records import VARIABLE

GONE = (psutil.NoSuchProcess, psutil.ZombieProcess)
ENDS_WITHIN = 10.0  # seconds


@dataclass(slots=True)
class WorkerTree:
    """`commands` are started side by side in `place`; their output goes to `log`."""

    commands: Sequence[Sequence[str]]
    environ: Mapping[str, str]
    place: Path
    log: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])
    _known: dict[int, psutil.Process] = field(default_factory=dict[int, psutil.Process])

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.started = [
                subprocess.Popen(
                    command,
                    cwd=self.place,
                    env=dict(self.environ),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
                for command in self.commands
            ]

    def alive(self) -> list[psutil.Process]:
        self._look()
        return list(self._known.values())

    def cpu(self) -> dict[int, float]:
        """Seconds of each process that lives now, with those of the children that it has waited for."""
        spent: dict[int, float] = {}
        for process in self._known.values():
            with suppress(*GONE):
                spent[process.pid] = sum(process.cpu_times()[:4])
        return spent

    def pss(self) -> list[int]:
        """Bytes of each process; a page that several share counts once."""
        return [size for process in self.alive() if (size := _pss(process.pid))]

    def restart_if_ended(self) -> None:
        """As a service manager does: a process of the past may have kept a lock for a moment."""
        if all(process.poll() is not None for process in self.started):
            self.start()

    def signal_started(self, number: int) -> None:
        for process in self.started:
            process.send_signal(number)

    def kill(self) -> None:
        """All that the last look found, now."""
        for process in self._known.values():
            with suppress(*GONE):
                process.kill()
        for process in self.started:
            process.wait(ENDS_WITHIN)

    def end(self) -> None:
        """Until none is left; one whose parent was gone before it was seen is found by its environment."""
        while left := [*self.alive(), *self._strays()]:
            for process in left:
                with suppress(*GONE):
                    process.kill()
            for process in self.started:
                process.wait(ENDS_WITHIN)
            psutil.wait_procs(left, timeout=0.05)

    def _strays(self) -> list[psutil.Process]:
        mark = self.environ.get(VARIABLE)
        return [process for process in _running(psutil.process_iter()) if mark and _mark(process) == mark]

    def _look(self) -> None:
        for process in self.started:
            process.poll()
        running = {process.pid: process for process in _running(psutil.process_iter())}
        pids = self._known.keys() | {process.pid for process in self.started}
        parents = {pid: _parent(process) for pid, process in running.items()}
        while more := {pid for pid, parent in parents.items() if parent in pids} - pids:
            pids |= more
        self._known = {pid: process for pid, process in running.items() if pid in pids}


def _mark(process: psutil.Process) -> str | None:
    with suppress(*GONE, psutil.AccessDenied, OSError):
        return process.environ().get(VARIABLE)
    return None


def _parent(process: psutil.Process) -> int | None:
    with suppress(*GONE):
        return process.ppid()
    return None


def _running(processes: Iterable[psutil.Process]) -> Iterator[psutil.Process]:
    for process in processes:
        with suppress(*GONE):
            if process.is_running() and process.status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
                yield process


def _pss(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
