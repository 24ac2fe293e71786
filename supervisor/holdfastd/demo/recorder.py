"""Recorder follows the store's events: tasks accepted, their workers, and the outcomes recorded for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import anyio

from holdfast.core.tasks import Happening
from holdfast.errors import StoreUnavailableError
from holdfast.store.protocol import Store

PAGE = 1000
WAIT = 1.0  # seconds
AGAIN = 0.1


@dataclass(slots=True)
class Recorder:
    """`commits` counts outcomes of each turn; `crashed`: task → incarnations that died with it, in order."""

    store: Store
    accepted: int = 0
    redelivered: int = 0
    commits: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    crashed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    holders: dict[str, str] = field(default_factory=dict[str, str])  # task → incarnation that runs it
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def follow(self) -> None:
        """Follow the events for ever."""
        position = ""
        while True:
            try:
                page = await self.store.events(position, PAGE, WAIT)
            except StoreUnavailableError:
                await anyio.sleep(AGAIN)
                continue
            for event in page.events:
                self.hear(event)
                position = event.position
            self.changed.set()
            self.changed = anyio.Event()

    def hear(self, event: Happening) -> None:
        match event.event:
            case "accepted":
                self.accepted += 1
            case "claimed":
                self.redelivered += not event.detail.startswith("1:")
                self.holders[event.subject] = event.detail.split(":")[1]
            case "settled":
                self.holders.pop(event.subject, None)
                self.commits[event.subject, event.detail.split(" ")[1]] += 1
            case "crashed" | "recovered" | "returned":
                incarnation = event.detail.rsplit(" ", 1)[-1].split(":")[1]
                self.holders.pop(event.subject, None)
                self.crashed.setdefault(event.subject, []).append(incarnation)
            case _:
                pass
