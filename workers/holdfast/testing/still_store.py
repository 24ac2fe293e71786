"""A store in memory for one test: its clock stands still until it is moved, and it keeps what was submitted."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

import anyio

from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import FireAnswer, FireOrder
from holdfast.store.current_store import worker_store
from holdfast.store.memory import MemoryStore
from holdfast.testing.submitted_task import SubmittedTask, submitted_task

TIME = "time of the test"  # a key beside those of the queue
# In place of the scripts' shared part `clock`, which asks the server for the time.
CLOCK = f"local NOW = tonumber(redis.call('GET', '{TIME}'))"

MADE = frozenset({Accepted.NEW, Accepted.TURN, Accepted.PENDING})

Look = Callable[[Sequence[str]], Awaitable[None]]


def _tell_nobody() -> None:
    """Does nothing: the default of `telling`."""


class StillStore(MemoryStore):
    """`run`: called before a wait for tasks, because no worker runs beside the test. `check` raises for tasks that have
    not ended after that: the caller would wait for ever. `submitted`: the accepted tasks of producers and schedules, in
    order."""

    def __init__(self, queue: str, now_ms: int, run: Callable[[], Awaitable[None]], check: Look) -> None:
        super().__init__(queue, {"clock": CLOCK}, most_waiting=sys.maxsize)
        self.submitted: list[SubmittedTask] = []
        self._tell = _tell_nobody
        self._run_tasks, self._check_ended = run, check
        self.set_clock(now_ms)

    @property
    def now_ms(self) -> int:
        """The store's time."""
        return self._now_ms

    def set_clock(self, now_ms: int) -> None:
        """Move the store's time to this moment."""
        self._now_ms = now_ms
        self.engine.look("SET", TIME, now_ms)

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        answers = await super().submit(submissions)
        self._note_submitted(one for one, answer in zip(submissions, answers, strict=True) if answer in MADE)
        return answers

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        receipts = await super().submit_with_options(submissions)
        answered = zip(submissions, receipts, strict=True)
        self._note_submitted(one for one, receipt in answered if receipt.accepted in MADE)
        return receipts

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[FireAnswer]:
        answers = await super().fire(orders, scope)
        for order, answer in zip(orders, answers, strict=True):
            if answer == FireAnswer.FIRED:
                self._note_submitted(fire.task for fire in order.fires)
        return answers

    @contextmanager
    def telling(self, submitted: Callable[[], None]) -> Generator[None]:
        """Call this function after each submission while the block runs."""
        self._tell = submitted
        try:
            yield
        finally:
            self._tell = _tell_nobody

    def _note_submitted(self, accepted: Iterable[Submission]) -> None:
        self.submitted += [submitted_task(one, self.now_ms) for one in accepted]
        self._tell()

    def settled(self, task_ids: Sequence[str]) -> AsyncIterator[str]:
        """Notices of ended tasks. Outside of a handler this first runs the tasks, because nobody else would."""
        return super().settled(task_ids) if worker_store() else self._after_run(task_ids)

    def emitted(self, task_id: str) -> AsyncGenerator[str]:
        """Like `settled`, with notices of emitted parts; outside of a handler these come after the run."""
        return super().emitted(task_id) if worker_store() else self._after_run([task_id])

    async def _after_run(self, task_ids: Sequence[str]) -> AsyncGenerator[str]:
        yield ""  # the caller looks at its tasks, which may have ended before
        with anyio.CancelScope(shield=True):  # the caller looks again after some seconds; a run may take longer
            await self._run_tasks()
        yield ""
        await self._check_ended(task_ids)
