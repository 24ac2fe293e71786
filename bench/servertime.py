"""How long a server was busy with a call, by its own count: what the machine does meanwhile matters little."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Call = Callable[[], Awaitable[object]]

TIMES = 31
LATE = 5.0  # ms: nobody is to wait for the server as long as that
_SCRIPT = "cmdstat_evalsha"
_ASIDE = "cmdstat_info"  # how we ask


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds of the server, of `calls` calls; how many of them were late."""

    name: str
    calls: int
    median: float
    most: float
    late: int

    @property
    def row(self) -> tuple[object, ...]:
        return (self.name, self.calls, self.median, self.most, self.late)


class ServerTime:
    """Nobody else may use the server meanwhile."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def of(self, name: str, call: Call, times: int = TIMES) -> Took:
        """Of one call, made so often."""
        return took(name, [(await self._measured(call))[1] for _ in range(times)])

    async def steps(self, name: str, call: Call) -> Took:
        """Of each call, as long as one answers with something."""
        spent, answer = list[float](), object()
        while answer:
            answer, one = await self._measured(call)
            spent.append(one)
        return took(name, spent)

    async def _measured(self, call: Call) -> tuple[object, float]:
        before = await self._busy()
        answer = await call()
        spent = {name: us - before.get(name, 0.0) for name, us in (await self._busy()).items()}
        # A script's time has that of its commands in it.
        return answer, (spent.get(_SCRIPT) or sum(spent.values())) / 1000

    async def _busy(self) -> dict[str, float]:
        """Microseconds since the server began, by command."""
        told = await self._client.info("commandstats")
        return {name: one["usec"] for name, one in told.items() if name != _ASIDE}


def took(name: str, spent: Sequence[float]) -> Took:
    return Took(name, len(spent), median(spent), max(spent), sum(one > LATE for one in spent))
