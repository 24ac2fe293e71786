"""Decides how many tasks a worker claims beyond those that it can begin at once: it has work while it asks for more.

One estimate for the whole worker: what was claimed ahead waits for whatever runs in its slots, so the slowest of its
tasks count, whichever handler or lane they are of. The estimate follows a slower task at once, and quicker ones slowly.
"""

from __future__ import annotations

from dataclasses import dataclass

LONG = 0.05  # seconds; nothing is claimed ahead of tasks that take longer
WORK = 0.1  # seconds of work that may wait
MOST = 100  # tasks that may wait, however short they are
ENDED = 10  # tasks that must have ended before anything is claimed ahead
SLOWLY = 1 / 16  # the weight of a quicker task


@dataclass(slots=True)
class TaskDurations:
    """`ended`: tasks seen; `seconds`: the estimate; `slowest`: of the tasks that have ended since it was made."""

    ended: int = 0
    seconds: float = 0.0
    slowest: float = 0.0

    def note(self, seconds: float) -> None:
        """A task that took so long has ended."""
        if seconds > self.slowest:
            self.slowest = seconds

    def estimate(self, ended: int) -> None:
        """So many tasks have ended until now."""
        more, self.ended = ended - self.ended, ended
        if more > 0:
            quicker = self.slowest + (self.seconds - self.slowest) * (1 - SLOWLY) ** more
            self.seconds = max(self.slowest, quicker)
            self.slowest = 0.0

    def claims_ahead(self, concurrency: int) -> int:
        """The number of tasks that may wait in a worker that runs so many at once."""
        if self.ended < ENDED or self.seconds > LONG:
            return 0
        work = concurrency * WORK
        return MOST if work >= MOST * self.seconds else int(work / self.seconds)
