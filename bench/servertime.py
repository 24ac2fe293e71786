"""How long a server works on a call, and so keeps all others waiting: processor time of its main thread, as it says.

What else the machine does meanwhile does not count; that the server is asked, a hundredth of a millisecond, does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Call = Callable[[], Awaitable[object]]

TIMES = 31
LATE = 5.0  # ms: nobody is to wait for the server as long as that


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
            answer, seconds = await self._measured(call)
            spent.append(seconds)
        return took(name, spent)

    async def _measured(self, call: Call) -> tuple[object, float]:
        before = await self._worked()
        answer = await call()
        return answer, (await self._worked() - before) * 1000

    async def _worked(self) -> float:
        """Seconds since the server began."""
        info = await self._client.info("cpu")
        return float(info["used_cpu_user_main_thread"]) + float(info["used_cpu_sys_main_thread"])


def took(name: str, spent: Sequence[float]) -> Took:
    return Took(name, len(spent), median(spent), max(spent), sum(seconds > LATE for seconds in spent))
