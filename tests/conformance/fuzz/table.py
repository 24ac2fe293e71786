"""The state of a play: the stores, the dice, and the deliveries of the stores so far."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.core.delivery import Delivery
from tests.conformance.fuzz.comparing import difference, plain
from tests.conformance.stand import Stand

LANES = ("", "slow")  # the plain queue, and one of the namespace's own


class DifferenceError(AssertionError):
    """Two stores have answered differently; the message says where."""


@dataclass(slots=True)
class Table:
    """`held`: deliveries by incarnation, as the stores gave them. Answers are those of the first store."""

    stands: dict[str, Stand]
    dice: random.Random
    held: dict[str, list[Delivery]] = field(default_factory=dict[str, list[Delivery]])
    requests: Counter[str] = field(default_factory=Counter[str])
    seen: Counter[str] = field(default_factory=Counter[str])
    made: int = 0

    async def ask(self, what: str, question: Callable[[Stand], Awaitable[Any]]) -> Any:
        """The answer of all of them; raises DifferenceError where there are two."""
        (first, answer), *others = [(name, await question(stand)) for name, stand in self.stands.items()]
        queue = self.stands[first].queue
        for name, other in others:
            told = _renamed(plain(other), self.stands[name].queue, queue)
            if found := difference(plain(answer), told):
                raise DifferenceError(f"{what} of {first} and {name} at {found}")
        self.seen[what] += 1
        return answer

    async def advance(self, ms: int) -> None:
        for stand in self.stands.values():
            await stand.advance(ms)

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def task(self) -> str:
        """A task that may be known, or a new one."""
        if not self.made or self.chance(0.4):
            self.made += 1
        return f"t{self.dice.randint(max(1, self.made - 12), self.made)}"

    def worker(self) -> str:
        return self.dice.choice(list(self.held))

    def lanes(self, stand: Stand, chosen: Sequence[str]) -> list[str]:
        return [lane or stand.queue for lane in chosen]


def _renamed(told: Any, queue: str, name: str) -> Any:
    """The answer of another store, with its own queue called as the first one's."""
    match told:
        case dict():
            return {_renamed(key, queue, name): _renamed(value, queue, name) for key, value in told.items()}
        case list():
            return [_renamed(each, queue, name) for each in told]
        case str():
            return told.replace(queue, name)
        case _:
            return told
