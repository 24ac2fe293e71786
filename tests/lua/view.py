"""A snapshot of a namespace, sorted into what the checks speak about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

OWN = re.compile(r'^\{"_b":"([^:"]+):(\d+)",')


@dataclass(frozen=True, slots=True)
class View:
    """Built from `store.snapshot()`. `rest` is every key of the namespace without its prefix."""

    prefix: str
    rest: dict[str, Any]
    ttl: dict[str, int]
    lists: dict[str, list[str]]
    tasks: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    workers: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    @staticmethod
    def of(snapshot: dict[str, Any], queue: str) -> View:
        prefix = f"{{{queue}}}:"
        ours = {key.removeprefix(prefix): held for key, held in snapshot.items() if key.startswith(prefix)}
        outside = {key: held["content"] for key, held in snapshot.items() if not key.startswith(prefix)}
        rest = {key: held["content"] for key, held in ours.items()}
        view = View(prefix, rest, {key: held["ttl"] for key, held in ours.items()}, outside)
        view.tasks.update(view.named("task:"))
        view.workers.update({name: held for name, held in view.named("worker:").items() if ":" not in name})
        return view

    def named(self, kind: str) -> dict[str, Any]:
        """Keys of one kind by what follows it: `named("op:")` gives task id → operation."""
        return {key.removeprefix(kind): held for key, held in self.rest.items() if key.startswith(kind)}

    def index(self, name: str) -> dict[str, str]:
        """A sorted set (member → score) or a hash, empty where the key is missing."""
        found: dict[str, str] = self.rest.get(name, {})
        return found

    def items(self, name: str) -> list[str]:
        found: list[str] = self.rest.get(name, [])
        return found

    def lane(self, lane: str) -> list[str]:
        """The entries of a lane, whatever its list is called."""
        return self.lists.get(lane) or self.items(f"lane:{lane}")

    def owned(self) -> Iterator[tuple[str, str, str]]:
        """Every (incarnation, task id, claim) of every `running`."""
        for name, held in self.named("worker:").items():
            if name.endswith(":running"):
                for task_id, claim in held.items():
                    yield name.removesuffix(":running"), task_id, claim

    def entries_of(self, lane: str) -> set[str]:
        """Ids of tasks with an own entry in the lane."""
        return {found[1] for raw in self.lane(lane) if (found := OWN.match(raw))}
