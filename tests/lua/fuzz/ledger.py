"""The answers that producers got, and the fates of their tasks: the other side of the promise."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from holdfast.core.acceptance import SubmitOptions
from tests.lua.invariants import PARKED, TERMINAL
from tests.lua.messages import message_of
from tests.lua.view import OWN, View


def _age(name: str) -> tuple[int, str]:
    """Names count up; the runs of one task, `t7.r1`, stand together."""
    return int(name[1:].partition(".")[0]), name


@dataclass(slots=True)
class Ledger:
    """Goes back in time together with the store. `gone`: ended and trimmed, so that the id may begin anew. `options` by
    task, and when it and each of its parents was `born`; who holds which key, for `unique` until when (0: until it has
    ended)."""

    accepted: set[str] = field(default_factory=set[str])
    canceled: set[str] = field(default_factory=set[str])
    messages: dict[str, set[str]] = field(default_factory=lambda: defaultdict[str, set[str]](set))
    ended: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    stolen: bool = False
    options: dict[str, SubmitOptions] = field(default_factory=dict[str, SubmitOptions])
    born: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    unique: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    debounced: dict[str, str] = field(default_factory=dict[str, str])
    batches: Counter[str] = field(default_factory=Counter[str])  # tasks that each was given
    callbacks: set[str] = field(default_factory=set[str])  # batches that have one
    closed: set[str] = field(default_factory=set[str])  # batches that take no more

    def accept(self, task_id: str, message_id: str) -> None:
        self.accepted.add(task_id)
        self.messages[task_id].add(message_id)

    def recent(self) -> list[str]:
        """Ids that things still happen to, in a fixed order."""
        return sorted(self.accepted, key=_age)[-25:]

    def forgive(self, entry: bytes, known: set[str]) -> None:
        """A foreign entry was destroyed before anybody had read it: nobody promised anything. `known`: tasks that are
        there; of any other, messages that are still somewhere make none."""
        if OWN.match(entry.decode(errors="replace")):
            return
        try:
            envelope: dict[str, Any] = json.loads(entry)
            task_id = envelope.get("params", envelope)["task_id"]
            self.messages[task_id].discard(message_of(entry.decode()))
            if not self.messages[task_id] or task_id not in known:
                self.accepted.discard(task_id)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return

    def look(self, view: View) -> None:
        """Remember which tasks have ended and which of those are no longer there."""
        self.ended |= {task_id for task_id, task in view.tasks.items() if task["state"] in TERMINAL}
        self.gone |= self.ended - view.tasks.keys()

    def kept(self, view: View, ran: set[tuple[str, str]]) -> list[str]:
        """Breaches of the promise once everything has come to rest."""
        aside = "\n".join(view.items("unreadable"))
        found: list[str] = []
        for task_id in sorted(self.accepted - self.gone):
            state = view.tasks.get(task_id, {}).get("state", "lost")
            if state == "waiting" and waits_for_somebody(view, task_id):
                continue
            if state not in TERMINAL | PARKED:
                found.append(f"{task_id} was accepted and is {state}")
            unseen = {m for m in self.messages[task_id] if (task_id, m) not in ran and m not in aside}
            if unseen and state not in {"canceled", "failed", "rejected", *PARKED}:
                found.append(f"messages {sorted(unseen)} of {task_id}, which is {state}, never ran")
        states = {task_id: view.tasks.get(task_id, {}).get("state") for task_id in sorted(self.canceled - self.gone)}
        return found + [f"{task_id} was canceled and is {now}" for task_id, now in states.items() if now != "canceled"]


def waits_for_somebody(view: View, task_id: str) -> bool:
    """All that it waits for has not ended: in the end it waits for a task that waits for a person."""
    parents = [one.partition("|")[2] for one in view.items(f"ties:{task_id}") if one.startswith("parent|")]
    return all(view.tasks.get(parent, {}).get("state") in {*PARKED, "waiting"} for parent in parents)
