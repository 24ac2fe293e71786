"""The pages of workers: the list for all hosts, with those that died within a day, and the stacks of one worker."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import quiet_hosts
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfast.core.worker_records import WorkerRecord
from holdfast.os.stack_file import StackFrame
from holdfastd.control.local_supervisor import Found, LocalSupervisor
from holdfastd.control.socket_protocol import DeathStatus, SupervisorStatus
from holdfastd.core.death import EXPECTED
from holdfastd.doctor.running_service import RECENT, SILENT
from holdfastd.documents.task_list import read_rows
from holdfastd.web.pages.report_pages import polyline
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

DEATHS = 20  # deaths of a host that the page shows
FATAL = 5  # tasks that the page names because workers died with them
RUNS = 200  # running tasks whose handlers and arguments the page shows
COURSE = 60  # readings of a worker's memory that are kept
COURSE_EVERY = 60.0  # seconds between two of them


@dataclass(frozen=True, slots=True)
class FatalTask:
    """A task that ran when workers died. `deaths`: of these workers, the latest first."""

    task_id: str
    deaths: Sequence[DeathStatus]

    @property
    def alone(self) -> int:
        """How many of the workers ran nothing else."""
        return sum(len(death.running) == 1 for death in self.deaths)


@dataclass(frozen=True, slots=True)
class ShownHost:
    """A host with its workers. `status`: the status of the host's supervisor, if this process can control that
    supervisor; otherwise None. `memory`: resident bytes by incarnation, as far as known."""

    name: str
    workers: list[WorkerRecord]
    quiet: bool
    status: SupervisorStatus | None
    memory: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.memory.values())

    @property
    def running(self) -> int:
        return sum(len(worker.running) for worker in self.workers)

    @property
    def slots(self) -> int:
        """How many tasks its workers can run at once; 0 if a worker has not said it."""
        each = [worker.concurrency or 0 for worker in self.workers]
        return sum(each) if all(each) else 0

    @property
    def deaths(self) -> list[DeathStatus]:
        """The last deaths of workers, newest first."""
        return self.status.deaths.recent[: -DEATHS - 1 : -1] if self.status else []

    @property
    def fatal(self) -> list[FatalTask]:
        """The tasks that ran when at least two of the last workers died, the most deadly first."""
        found: dict[str, list[DeathStatus]] = {}
        for death in self.deaths:
            for task_id in death.running if death.cause not in EXPECTED else ():
                found.setdefault(task_id, []).append(death)
        tasks = [FatalTask(task_id, deaths) for task_id, deaths in found.items() if len(deaths) > 1]
        return sorted(tasks, key=lambda task: (-task.alone, -len(task.deaths)))[:FATAL]

    def died(self, worker: WorkerRecord, now_ms: int) -> int:
        """How often the processes in the slot of this worker have died lately."""
        return sum(
            (death.kind, death.slot) == (worker.kind, worker.slot)
            and death.cause not in EXPECTED
            and now_ms / 1000 - death.at < RECENT
            for death in (self.status.deaths.recent if self.status else ())
        )

    def silent(self, worker: WorkerRecord) -> float:
        """Seconds since the supervisor last heard from the worker; 0 if the worker is not silent or no supervisor of
        this host can be asked."""
        processes = self.status.processes if self.status else ()
        found = next((each.silent for each in processes if each.incarnation == worker.incarnation), 0.0)
        return found if found > SILENT else 0.0

    def can_show(self, worker: WorkerRecord) -> bool:
        """True if this process can ask the worker for its stacks."""
        return worker.incarnation in self.memory


@dataclass(slots=True)
class MemoryCourses:
    """The memory of the workers of this host over the last hour. `_readings`: resident bytes by incarnation, oldest
    first."""

    _readings: dict[str, deque[int]] = field(default_factory=dict[str, "deque[int]"])

    async def read_on(self, supervisor: LocalSupervisor) -> None:
        """Read the memory once a minute; never returns. A reading asks the supervisor of this host, not the store."""
        while True:
            if found := await supervisor.find():
                self.note(_memory(found))
            await asyncio.sleep(COURSE_EVERY)

    def note(self, memory: Mapping[str, int]) -> None:
        """Add a reading of the memory of each worker. Readings of workers that have ended are dropped."""
        kept = {each: self._readings.get(each, deque(maxlen=COURSE)) for each in memory}
        for each, size in memory.items():
            kept[each].append(size)
        self._readings = kept

    @property
    def lines(self) -> dict[str, str]:
        """For each worker with several readings: the points of the small chart of its memory."""
        return {each: polyline([float(size) for size in one]) for each, one in self._readings.items() if len(one) > 1}


async def workers(request: Request) -> Response:
    access = queue_of(request)
    found = sorted(await access.manager.workers(), key=lambda worker: (worker.host, worker.kind, worker.slot))
    quiet, now_ms = await access.store.quiet_hosts(), await access.store.clock_ms()
    local = await LocalSupervisor(access.settings).find()
    runs = (await access.store.tasks(Wanted(states=(State.WORKING,)), RUNS)).tasks
    rows = {row.task.task_id: row for row in await read_rows(access.store, runs, access.redaction.value)}
    hosts = _hosts(found, quiet, local)
    fatal = [task.task_id for host in hosts for task in host.fatal]
    records = [await access.store.get(task_id, payloads=False) for task_id in fatal]
    courses: MemoryCourses = request.app.state.memory
    return page(
        request,
        "workers.html",
        hosts=hosts,
        rows=rows,
        now_ms=now_ms,
        known={each.task_id: each for each in records if each},
        courses=courses.lines,
        orders=[(order, quiet_hosts.quiet_line(order, now_ms)) for order in quiet],
        all_quiet=any(order.is_all and not order.is_halt for order in quiet),
    )


async def stacks(request: Request) -> Response:
    access, incarnation = queue_of(request), request.query_params.get("worker", "")
    found = await LocalSupervisor(access.settings).stacks(incarnation)
    worker = (await access.store.incarnations([incarnation])).get(incarnation)
    return page(request, "stacks.html", incarnation=incarnation, stacks=found, worker=worker, folded=_folded)


def _folded(frames: Sequence[StackFrame]) -> list[tuple[bool, list[StackFrame]]]:
    """The frames of a stack in groups of successive ones: True with frames of Holdfast or the event loop, which the
    page folds; False with frames of the handler."""
    return [(is_own, list(run)) for is_own, run in groupby(frames, key=lambda frame: frame.is_own)]


def _memory(local: Found) -> dict[str, int]:
    """The resident bytes of each child of the supervisor of this host."""
    return {each.incarnation: each.memory_bytes or 0 for each in local.status.processes}


def _hosts(living: Sequence[WorkerRecord], quiet: Sequence[Quiet], local: Found | None) -> list[ShownHost]:
    memory = {} if local is None else _memory(local)
    hosts = [(name, list(workers)) for name, workers in groupby(living, key=lambda worker: worker.host)]
    ordered = {order.host for order in quiet if not order.is_halt}
    return [
        ShownHost(
            name,
            workers,
            name in ordered,
            local.status if local and any(each.incarnation in memory for each in workers) else None,
            {each.incarnation: memory[each.incarnation] for each in workers if each.incarnation in memory},
        )
        for name, workers in hosts
    ]
