"""The worker class of the tests: what a job's id begins with says what becomes of its run."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from holdfast.timeline import RoundRobin, StopWork, UnsetJob

RAN = "TIMELINE_RAN"  # names the file that runs are noted in


class Jobs(RoundRobin):
    def work(self, jobid: str) -> Any:
        note(jobid)
        word = jobid.partition(":")[0]
        match word:
            case "stop":
                raise StopWork("enough")
            case "unset":
                raise UnsetJob("enough")
            case "fail":
                raise ValueError("no luck")
            case "overrun":
                time.sleep(0.5)
            case "parent":
                self.bike.set("child:A", "NOW")
            case "number":
                return 41
            case "backoff":
                return 3600
            case "held":
                wait_for_release()
            case _:
                pass
        return None

    def timeout(self, queue: str) -> float | None:
        return 0.05 if queue == "short" else None


class Own(Jobs):
    """Its lanes are not what it is called with."""

    def queue_names(self) -> list[str]:
        return ["A", "B"]


def note(jobid: str) -> None:
    """One write, so that lines of several workers do not mix."""
    descriptor = os.open(os.environ[RAN], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{jobid}\n".encode())
    os.close(descriptor)


def wait_for_release() -> None:
    """Until the test has removed the gate."""
    gate = Path(os.environ[RAN]).with_name("gate")
    while gate.exists():
        time.sleep(0.01)
