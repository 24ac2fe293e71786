"""Runs the demonstration: it submits tasks evenly, and kills a worker every half second, and the steward twice."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted
from holdfast.store import Store, open_store
from holdfastd.demo.supervisor_process import Killer, SupervisorProcess, running
from holdfastd.demo.tally import ALL_KEPT, DemoResult, Recorder, tally

# The texts of the tasks: passages of the standard library's source files, which every machine with Python has.

LINES = 40  # lines of a passage


def passages(number: int, seed: int) -> list[str]:
    """`number` passages of the standard library, in an order that depends on the seed. A passage repeats only if the
    library has fewer than `number`."""
    files = sorted(path for path in Path(os.__file__).parent.glob("*.py") if path.is_file())
    random.Random(seed).shuffle(files)
    texts = [passage for path in files for passage in _passages(path)]
    random.Random(seed).shuffle(texts)
    return [texts[index % len(texts)] for index in range(number)]


def _passages(path: Path) -> Iterator[str]:
    lines = path.read_text("utf-8", "replace").splitlines()
    for start in range(0, len(lines), LINES):
        text = "\n".join(lines[start : start + LINES])
        if text.strip():
            yield text


CONCURRENCY = 4
TICK = 0.1  # seconds
KILL_EVERY = 0.5
TAIL = 10  # when this many tasks are left, nothing is killed any more, because most workers are idle
ENDS_WITHIN = 120.0  # seconds after the last submission; a task whose worker died three times waits 30 s, alone


@dataclass(frozen=True, slots=True)
class Demonstration:
    tasks: int = 2000
    seconds: float = 30.0
    workers: int = 8
    seed: int = 1


@dataclass(slots=True)
class DemoProgress:
    """The progress to show. `messages`: the latest events, in words."""

    program: Demonstration
    recorder: Recorder
    killer: Killer
    submitted: int = 0
    seconds: float = 0.0
    messages: list[str] = field(default_factory=list[str])

    def say(self, what: str) -> None:
        self.messages.append(f"{self.seconds:5.1f} s  {what}")


ShowProgress = Callable[[DemoProgress], None]


def run_demo(program: Demonstration, show: ShowProgress) -> DemoResult:
    """Start a service, run the demonstration, end the service. `show` is called several times a second."""
    with running(program.workers, CONCURRENCY) as service:
        return anyio.run(_run, program, show, service, backend_options={"use_uvloop": True})


async def _run(program: Demonstration, show: ShowProgress, service: SupervisorProcess) -> DemoResult:
    settings = service.settings
    async with open_store(settings.redis) as store, open_store(settings.redis) as listening:
        run = DemoRun(program, show, service, store, Recorder(listening))
        return await run.play()


@dataclass(slots=True)
class DemoRun:
    program: Demonstration
    show: ShowProgress
    service: SupervisorProcess
    store: Store
    recorder: Recorder
    began: float = field(default_factory=time.monotonic)

    async def play(self) -> DemoResult:
        texts = passages(self.program.tasks, self.program.seed)
        killer = Killer(self.service, random.Random(self.program.seed))
        progress = DemoProgress(self.program, self.recorder, killer)
        manager = TaskManager(self.store, queue=self.service.settings.queue_name)
        records: list[TaskRecord] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self.recorder.follow)
            group.start_soon(self._tell, progress)
            async with anyio.create_task_group() as acting:
                acting.start_soon(self._submit, manager, texts, progress)
                acting.start_soon(self._kill, killer, progress)
            await self._until_settled()
            progress.seconds = time.monotonic() - self.began
            records += [await manager.get_task(_name(number)) for number in range(len(texts))]
            group.cancel_scope.cancel()
        self.show(progress)
        return tally(self.recorder, killer, records, texts, progress.seconds)

    async def _submit(self, manager: TaskManager, texts: Sequence[str], progress: DemoProgress) -> None:
        """Submit the tasks that are due by now, again and again, until all are submitted."""
        while progress.submitted < len(texts):
            passed = min(1.0, (time.monotonic() - self.began) / self.program.seconds)
            due = max(progress.submitted + 1, int(passed * len(texts)))
            numbers = range(progress.submitted, min(due, len(texts)))
            await manager.run_tasks(TaskSpec(text=texts[number], task_id=_name(number)) for number in numbers)
            progress.submitted = numbers.stop
            await anyio.sleep(TICK)

    async def _kill(self, killer: Killer, progress: DemoProgress) -> None:
        """Kill a worker every half second, and the steward after one and two thirds of the time."""
        due = [self.program.seconds / 3, self.program.seconds * 2 / 3]
        while self._left() > TAIL:
            await anyio.sleep(KILL_EVERY)
            if due and time.monotonic() - self.began >= due[0]:
                due.pop(0)
                steward = await anyio.to_thread.run_sync(killer.kill_steward)
                progress.say("kill -9 of the steward" + (f" {steward.pid}" if steward else ": none lives"))
            victim = await anyio.to_thread.run_sync(killer.kill_worker, set(self.recorder.holders.values()))
            if victim is not None:
                held = Counter(self.recorder.holders.values())[victim.incarnation]
                progress.say(f"kill -9 of worker {victim.slot}, pid {victim.pid}, with {held} in hand")

    def _left(self) -> int:
        return self.program.tasks - len(self.recorder.commits)

    async def _until_settled(self) -> None:
        with anyio.move_on_after(ENDS_WITHIN):
            while self._left():
                await self.recorder.changed.wait()

    async def _tell(self, progress: DemoProgress) -> None:
        while True:
            progress.seconds = time.monotonic() - self.began
            self.show(progress)
            await anyio.sleep(TICK)


def _name(number: int) -> str:
    return f"passage-{number}"


# Renders the demonstration for a terminal.

SHOWN = 8  # lines


def progress_panel(progress: DemoProgress) -> RenderableType:
    """The panel that shows the current progress."""
    bars = Table.grid(padding=(0, 2))
    for name, value in (("submitted", progress.submitted), ("completed", len(progress.recorder.commits))):
        total = progress.program.tasks
        bars.add_row(name, ProgressBar(total, value, width=40), f"{value:,} of {total:,}")
    counts = Text.assemble(
        (counted(len(progress.killer.killed), "worker"), "bold red"),
        " killed, ",
        (counted(progress.killer.stewards, "steward"), "bold red"),
        " killed, ",
        (counted(progress.recorder.redelivered, "task"), "bold yellow"),
        " redelivered",
    )
    messages = Text("\n".join(progress.messages[-SHOWN:]), style="dim")
    return Panel(
        Group(bars, Text(), counts, Text(), messages), title=counted(progress.program.workers, "worker"), width=76
    )


def result_panel(result: DemoResult, breaches: list[str]) -> RenderableType:
    """The result, with the promises that were broken (`breaches`), or a line that says that all were kept."""
    rows = Table.grid(padding=(0, 2))
    for name, value in result.rows():
        rows.add_row(name, Text(value, style="bold"))
    verdict = Text("\n".join(breaches), style="bold red") if breaches else Text(ALL_KEPT, style="bold green")
    return Panel(Group(rows, Text(), verdict), title=f"after {result.seconds:g} s", width=76)
