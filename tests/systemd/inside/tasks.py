"""Tasks of the service under test: submitted, watched, counted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.systemd.inside.machine import run, until


@dataclass(frozen=True)
class Tasks:
    """`find` are the options by which a command finds the supervisor, `state` its state folder."""

    supervisor: Path
    find: tuple[str, ...]
    state: Path
    accepted: list[str] = field(default_factory=list)
    gates: list[Path] = field(default_factory=list)

    def command(self, *arguments: str) -> str:
        return run(self.supervisor, *arguments, *self.find).stdout

    def submit(self, *orders: str) -> list[str]:
        ids = self.command("submit", *orders).split()
        assert len(ids) == len(orders)
        self.accepted.extend(ids)
        return ids

    def answer(self, order: str) -> Any:
        """The value that the handler returned."""
        outcome = json.loads(self.command("submit", order, "--wait", "--json"))
        self.accepted.append(outcome["task_id"])
        assert outcome["state"] == "completed", outcome
        return outcome["result"]

    def waiting(self, number: int, order: str = "wait") -> tuple[list[str], Path]:
        """Tasks that run until the file is made."""
        gate = self.state / f"gate-{uuid4().hex}"
        self.gates.append(gate)
        ids = self.submit(*[f"{order} {gate}"] * number)
        until("all run", lambda: all(self.starts(task) for task in ids))
        return ids, gate

    def starts(self, task: str) -> list[int]:
        """The worker of each time that it was started."""
        path = self.state / f"{task}.started"
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def finished(self, ids: list[str], gate: Path) -> None:
        """Let them go on, and see each completed."""
        gate.touch()
        until("all completed", lambda: set(ids) <= self.completed())

    def completed(self) -> set[str]:
        listed = self.command("tasks", "list", "--state", "completed", "--limit", "1000", "--json")
        return {json.loads(line)["task_id"] for line in listed.splitlines()}

    def counts(self) -> dict[str, int]:
        counted: dict[str, int] = json.loads(self.command("tasks", "count", "--json"))
        return {state: number for state, number in counted.items() if number}
