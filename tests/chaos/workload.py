"""The calls of clients during the play, own and foreign ones, and their answers: the clients' history.

A client whose call fails asks again with the same id until it is told; that is all the promise asks of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.task_states import PARKED, TERMINAL, State
from holdfast.errors import (
    MessageConflictError,
    StoreError,
    StoreFullError,
    TaskEndedError,
    TooManyMessagesError,
    UnknownScheduleError,
    UnknownTaskError,
)
from holdfast.store.redis import RedisStore
from tests.chaos import history_file

AGAIN = 0.1  # seconds between two tries
UNTIL_TOLD = SubmitRetries(attempts=1, seconds=1.0)

SHORTEST = 0.01  # seconds that a task of the short lane takes at least
SHORT, BURST, BETWEEN_BURSTS = (0.012, 0.03), (40, 120), (1.0, 6.0)  # seconds, tasks, seconds

T = TypeVar("T")
Step = Callable[[str], Awaitable[None]]

# verb, argument, weight
WORK: tuple[tuple[str, Callable[[random.Random], str], int], ...] = (
    ("nap", lambda dice: f"{dice.choice([0.001, 0.005, 0.02, 0.1]):g}", 60),
    ("nap", lambda dice: f"{dice.uniform(0.3, 1.5):.2f}", 8),
    ("nap", lambda dice: f"{dice.uniform(2.0, 5.0):.2f}", 3),
    ("block", lambda dice: f"{dice.uniform(0.01, 0.3):.2f}", 6),
    ("fail", lambda dice: str(dice.randrange(1, 3)), 6),
    ("broken", lambda _: "", 2),
    ("step", lambda dice: str(dice.randrange(2, 30)), 8),
    ("big", lambda dice: "x" * dice.choice([40_000, 120_000]), 2),
    ("ask", lambda _: "", 5),
)


@dataclass(slots=True)
class Workload:
    """`rate`: tasks a second of all clients, those in the lane `short` aside; `history`: where it is written down."""

    url: str
    queue: str
    lanes: tuple[str, ...]
    short: str
    store: RedisStore
    history: Path
    dice: random.Random
    rate: float
    _number: int = 0

    @property
    def manager(self) -> TaskManager:
        return TaskManager(self.store, queue=self.queue, retries=UNTIL_TOLD)

    async def serve(self, until: float, poison_until: float) -> None:
        """Submit, cancel, speak to and pause tasks until then."""
        async with (
            anyio.create_task_group() as clients,
            redis.asyncio.Redis.from_url(
                self.url, socket_timeout=2.0, retry=Retry(NoBackoff(), 0), protocol=2
            ) as foreign,
        ):
            clients.start_soon(self._bursts, until, poison_until)
            while anyio.current_time() < until:
                poison = anyio.current_time() < poison_until and self.dice.random() < 0.01
                clients.start_soon(self._one, foreign, poison)
                await anyio.sleep(self.dice.expovariate(self.rate))

    async def _bursts(self, until: float, poison_until: float) -> None:
        """Many short tasks at once, now and then one that takes long or ends its worker."""
        while anyio.current_time() < until:
            texts = [f"nap {self.dice.uniform(*SHORT):.3f}" for _ in range(self.dice.randint(*BURST))]
            if self.dice.random() < 0.5:
                texts[self.dice.randrange(len(texts))] = f"nap {self.dice.uniform(0.1, 1.5):.2f}"
            if anyio.current_time() < poison_until and self.dice.random() < 0.2:
                texts[self.dice.randrange(len(texts))] = "abort"
            await self._burst({self.new_id(): text for text in texts})
            await anyio.sleep(self.dice.uniform(*BETWEEN_BURSTS))

    async def _burst(self, texts: dict[str, str]) -> None:
        specs = [TaskSpec(text, task_id=each, message_id=f"m-{each}", lane=self.short) for each, text in texts.items()]
        await self._answer_to(lambda: self.manager.run_tasks(specs))
        about = {"own": True, "delayed": False, "lane": self.short, "webhook": False}
        for task_id in texts:
            self._write("submit", id=task_id, message=f"m-{task_id}", answer=None, **about)
        await self._cancel(self.dice.choice(list(texts)))
        await self._pause_and_resume(self.dice.choice(list(texts)))

    def new_id(self) -> str:
        self._number += 1
        return f"t{self._number}"

    async def _one(self, foreign: Any, poison: bool) -> None:
        """One task of one client, and what it does to it."""
        task_id = self.new_id()
        steps: tuple[Step, ...] = (self._nothing, self._cancel, self._speak, self._pause_and_resume)
        step = self.dice.choices(steps, (80, 7, 7, 6))[0]
        verb, argument = ("abort", "") if poison else self._work(patient=step == self._nothing)
        if self.dice.random() < 0.5:
            await self.submit(task_id, f"{verb} {argument}".strip())
        else:
            await self.push(foreign, task_id, f"{verb} {argument}".strip())
        await (self._answer if verb == "ask" else step)(task_id)

    def _work(self, *, patient: bool) -> tuple[str, str]:
        """The text of a task; mostly long enough for a client that has more to say about it."""
        if not patient and self.dice.random() < 0.8:
            return "nap", f"{self.dice.uniform(0.2, 1.5):.2f}"
        verb, argument, _ = self.dice.choices(WORK, [weight for *_, weight in WORK])[0]
        return verb, argument(self.dice)

    async def submit(
        self,
        task_id: str,
        text: str,
        message_id: str | None = None,
        *,
        lane: str | None = None,
        webhook: str | None = None,
    ) -> None:
        lane = lane or self.dice.choice(self.lanes)
        delay = self.dice.uniform(0.1, 2.0) if self.dice.random() < 0.1 else None
        message_id = message_id or f"m-{task_id}"
        twice = self.dice.random() < 0.05

        async def submit() -> None:
            for _ in range(2 if twice else 1):
                await self.manager.run_task(
                    text, task_id=task_id, message_id=message_id, lane=lane, delay=delay, webhook=webhook
                )

        answer = await self._answer_to(submit)
        about = {"own": True, "delayed": delay is not None, "lane": lane, "webhook": webhook is not None}
        self._write("submit", id=task_id, message=message_id, answer=answer, **about)

    async def push(
        self, foreign: Any, task_id: str, text: str, message_id: str | None = None, *, lane: str | None = None
    ) -> None:
        lane, message_id = lane or self.queue, message_id or f"m-{task_id}"
        message = {"message_id": message_id, "kind": "message", "role": "user", "metadata": {}}
        message["parts"] = [{"kind": "text", "text": text}]
        entry = json.dumps({"operation": "run", "params": {"task_id": task_id, "message": message}})
        answer = await self._answer_to(lambda: foreign.rpush(lane, *[entry] * (2 if self.dice.random() < 0.05 else 1)))
        self._write("push", id=task_id, message=message_id, answer=answer, own=False, delayed=False, lane=lane)

    async def _nothing(self, task_id: str) -> None:
        pass

    async def _cancel(self, task_id: str) -> None:
        await anyio.sleep(self.dice.uniform(0.0, 0.5))
        answer = await self._answer_to(lambda: self._known(self.manager.cancel_task(task_id)))
        self._write("cancel", id=task_id, answer=answer)

    async def _speak(self, task_id: str) -> None:
        """One more message, which waits for the turn that runs."""
        await anyio.sleep(self.dice.uniform(0.0, 0.3))
        await self.submit(task_id, "nap 0.01", f"m2-{task_id}")

    async def _answer(self, task_id: str) -> None:
        """It asks for something: tell it, once it does."""
        for _ in range(600):
            state = await self._answer_to(lambda: self._state(task_id))
            if state == State.INPUT_REQUIRED:
                await self.submit(task_id, "nap 0.01", f"m2-{task_id}")
                return
            if state in TERMINAL:
                return
            await anyio.sleep(AGAIN)

    async def _pause_and_resume(self, task_id: str) -> None:
        await self.pause(task_id)
        await anyio.sleep(self.dice.uniform(0.0, 1.0))
        await self.resume(task_id)

    async def pause(self, task_id: str) -> None:
        await self._answer_to(lambda: self._known(self.manager.pause_task(task_id)))

    async def resume(self, task_id: str) -> None:
        answer = await self._answer_to(lambda: self._known(self.manager.resume_task(task_id)))
        self._write("pause", id=task_id, answer=answer)

    async def set_schedule(self, schedule_id: str) -> None:
        """Every second a task, whatever the one before it does."""
        await self._answer_to(
            lambda: self.manager.schedules.upsert(
                schedule_id, every=1, overlap="allow", text="nap 0.01", lane=self.queue
            )
        )

    async def unset_schedule(self, schedule_id: str) -> None:
        async def remove() -> None:
            with suppress(UnknownScheduleError):
                await self.manager.schedules.remove(schedule_id)

        await self._answer_to(remove)

    async def wake_the_parked(self) -> int:
        """At the end: whatever waits for somebody goes on; how many did."""
        page = await self._answer_to(lambda: self.manager.list_tasks(*PARKED, limit=1000))
        for task in page.tasks:
            if task.state is State.SUSPENDED:
                await self._answer_to(lambda task_id=task.task_id: self._known(self.manager.resume_task(task_id)))
            else:
                await self.submit(task.task_id, "nap 0.01", f"m9-{task.task_id}-{task.turn}")
        return len(page.tasks)

    async def _state(self, task_id: str) -> str:
        try:
            return str((await self.manager.get_task(task_id)).state)
        except UnknownTaskError:
            return "unknown"

    async def _known(self, call: Awaitable[State]) -> str:
        try:
            return str(await call)
        except UnknownTaskError:
            return "unknown"

    async def _answer_to(self, call: Callable[[], Awaitable[T]]) -> T | str:
        """The answer; a refusal in a word."""
        while True:
            try:
                return await call()
            except TaskEndedError:
                return "ended"
            except MessageConflictError:
                return "conflict"
            except TooManyMessagesError:
                return "refused"
            except (StoreFullError, StoreError, RedisError, OSError):
                await anyio.sleep(AGAIN)

    def _write(self, what: str, **fields: object) -> None:
        history_file.write(self.history, what=what, **fields)
