"""The demonstration: tasks go in evenly, workers are killed every half second, the steward twice; then the books."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.tasks import TaskRecord
from holdfast.store import open_store
from holdfast.store.protocol import Store
from holdfastd.demo import sample_texts
from holdfastd.demo.accounts import books
from holdfastd.demo.killer import Killer
from holdfastd.demo.observed import ObservedTasks
from holdfastd.demo.recorder import Recorder
from holdfastd.demo.supervisor_process import SupervisorProcess, running

CONCURRENCY = 4
TICK = 0.1  # seconds
KILL_EVERY = 0.5
TAIL = 10  # tasks: fewer are left alone, as most workers would die with nothing done
ENDS_WITHIN = 120.0  # seconds after the last submission; a task whose worker died three times waits 30 s, alone


@dataclass(frozen=True, slots=True)
class Demonstration:
    tasks: int = 2000
    seconds: float = 30.0
    workers: int = 8
    seed: int = 1


@dataclass(slots=True)
class DemoProgress:
    """What is shown while it goes on; `said` are the last things that happened."""

    program: Demonstration
    submitted: int = 0
    completed: int = 0
    redelivered: int = 0
    workers_killed: int = 0
    stewards_killed: int = 0
    seconds: float = 0.0
    said: list[str] = field(default_factory=list[str])

    def say(self, what: str) -> None:
        self.said.append(f"{self.seconds:5.1f} s  {what}")


Show = Callable[[DemoProgress], None]


def give(program: Demonstration, show: Show) -> ObservedTasks:
    """Start a service, show it, end it. `show` is called several times a second."""
    with running(program.workers, CONCURRENCY) as service:
        return anyio.run(_give, program, show, service, backend_options={"use_uvloop": True})


async def _give(program: Demonstration, show: Show, service: SupervisorProcess) -> ObservedTasks:
    settings = service.settings
    async with open_store(settings.redis) as store, open_store(settings.redis) as listening:
        stage = DemoScreen(program, show, service, store, Recorder(listening))
        return await stage.play()


@dataclass(slots=True)
class DemoScreen:
    program: Demonstration
    show: Show
    service: SupervisorProcess
    store: Store
    witness: Recorder
    began: float = field(default_factory=time.monotonic)

    async def play(self) -> ObservedTasks:
        spoken = sample_texts.passages(self.program.tasks, self.program.seed)
        killer = Killer(self.service, random.Random(self.program.seed))
        progress = DemoProgress(self.program)
        manager = TaskManager(self.store, queue=self.service.settings.queue_name)
        records: list[TaskRecord] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self.witness.follow)
            group.start_soon(self._tell, progress, killer)
            async with anyio.create_task_group() as acting:
                acting.start_soon(self._submit, manager, spoken, progress)
                acting.start_soon(self._kill, killer, progress)
            await self._until_settled()
            progress.seconds = time.monotonic() - self.began
            records += [await manager.get_task(_name(number)) for number in range(len(spoken))]
            group.cancel_scope.cancel()
        self._refresh(progress, killer)
        return books(self.witness, killer, records, spoken, progress.seconds)

    async def _submit(self, manager: TaskManager, spoken: Sequence[str], progress: DemoProgress) -> None:
        """As many as are due by now, again and again, until all are in."""
        while progress.submitted < len(spoken):
            passed = min(1.0, (time.monotonic() - self.began) / self.program.seconds)
            due = max(progress.submitted + 1, int(passed * len(spoken)))
            numbers = range(progress.submitted, min(due, len(spoken)))
            await manager.run_tasks(TaskSpec(text=spoken[number], task_id=_name(number)) for number in numbers)
            progress.submitted = numbers.stop
            await anyio.sleep(TICK)

    async def _kill(self, killer: Killer, progress: DemoProgress) -> None:
        """A worker every half second, the steward a third and two thirds of the way."""
        due = [self.program.seconds / 3, self.program.seconds * 2 / 3]
        while self._left() > TAIL:
            await anyio.sleep(KILL_EVERY)
            if due and time.monotonic() - self.began >= due[0]:
                due.pop(0)
                steward = await anyio.to_thread.run_sync(killer.kill_steward)
                progress.say("kill -9 of the steward" + (f" {steward.pid}" if steward else ": none lives"))
            victim = await anyio.to_thread.run_sync(killer.kill_worker, set(self.witness.holders.values()))
            if victim is not None:
                held = Counter(self.witness.holders.values())[victim.incarnation]
                progress.say(f"kill -9 of worker {victim.slot}, pid {victim.pid}, with {held} in hand")

    def _left(self) -> int:
        return self.program.tasks - len(self.witness.commits)

    async def _until_settled(self) -> None:
        with anyio.move_on_after(ENDS_WITHIN):
            while self._left():
                await self.witness.changed.wait()

    async def _tell(self, progress: DemoProgress, killer: Killer) -> None:
        while True:
            progress.seconds = time.monotonic() - self.began
            self._refresh(progress, killer)
            await anyio.sleep(TICK)

    def _refresh(self, progress: DemoProgress, killer: Killer) -> None:
        progress.completed = len(self.witness.commits)
        progress.redelivered = self.witness.redelivered
        progress.workers_killed, progress.stewards_killed = len(killer.killed), killer.stewards
        self.show(progress)


def _name(number: int) -> str:
    return f"passage-{number}"
